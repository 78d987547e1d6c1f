'use strict';

/** Thrown by work that provably did nothing: the key is free again. */
class NotDone extends Error {
  constructor(message = 'nothing was done', options) {
    super(message, options);
    this.name = 'NotDone';
    this.status = this.statusCode = 503; // what frameworks answer
  }
}

/** Thrown by work that did nothing and may be tried again, after `backoff` ms or the policy's. */
class TryLater extends Error {
  constructor(message = 'to be tried again later', { backoff, ...options } = {}) {
    super(message, options);
    this.name = 'TryLater';
    this.backoff = backoff;
    this.status = this.statusCode = 503;
  }
}

/** The work was not run, or its answer does not count: `kind` says why, as the problem's type does. */
class Refused extends Error {
  constructor(kind, detail, { retryable = false, retryAfter, status = 409, cause } = {}) {
    super(`${kind}: ${detail}`, { cause });
    this.name = 'Refused';
    Object.assign(this, { kind, detail, retryable, retryAfter, status, statusCode: status });
  }

  /** What the service said instead of an answer. */
  static by(answer) {
    const problem = problemIn(answer.reply);
    const kind = answer.kind ?? problem?.type?.split(/[:/]/).pop() ?? 'outcome-unknown';
    return new Refused(kind, answer.detail ?? problem?.detail ?? PROBLEMS[kind]?.detail ?? kind, {
      retryable: answer.retryable ?? problem?.retryable ?? false,
      retryAfter: answer.retry_after_ms,
      status: answer.reply?.status ?? 409,
    });
  }
}

/** No answer of the service. `sent`: it may have done what it was asked. */
class Unreachable extends Refused {
  constructor(cause, sent) {
    super('store-unreachable', PROBLEMS['store-unreachable'].detail,
      { retryable: true, retryAfter: 1000, status: 503, cause });
    this.name = 'Unreachable';
    this.sent = sent;
  }
}

const PROBLEMS = {
  'store-unreachable': {
    status: 503, retry: 'same-key', title: "The record of requests can't be reached",
    detail: 'Send the same request with the same key again after the time in Retry-After.',
  },
  'request-too-large': {
    status: 413, retry: 'no', title: 'The request body is too large',
    detail: 'A guarded request may have a body up to a limit, and this one is longer. Nothing was run.',
  },
  'outcome-unknown': {
    status: 409, retry: 'no', title: 'The outcome is not known',
    detail: 'An earlier request with this key may or may not have taken effect, so it is not run '
      + 'again by itself. Look at what it should have done; its operator can resolve the key.',
  },
};

/** How work that threw ends its operation: the kind of settle, and its members. */
function ending(error) {
  if (error instanceof NotDone) return ['release', {}];
  if (!(error instanceof TryLater)) return ['exception', {}];
  return ['fail', error.backoff === undefined ? {} : { backoff_ms: error.backoff }];
}

function problemIn(reply) {
  try {
    return JSON.parse(reply.body);
  } catch {
    return undefined; // another form of errors, or none
  }
}

/** A problem document (RFC 9457), as the service itself answers. */
function problem(kind) {
  const { status, title, detail, retry } = PROBLEMS[kind];
  const body = { type: `urn:onceguard:problem:${kind}`, title, status, detail, retryable: retry === 'same-key' };
  const headers = [['Content-Type', 'application/problem+json'], ['Onceguard-Retry', retry]];
  if (status === 503) headers.push(['Retry-After', '1']);
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

module.exports = { NotDone, TryLater, Refused, Unreachable, ending, problem };
