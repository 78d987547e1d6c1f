'use strict';

/** Thrown by work that provably did nothing: the key is free again. */
class NotDone extends Error {
  name = 'NotDone';
  status = 503; // what frameworks answer; they know it by these three
  statusCode = 503;
  expose = false;
}

/** Thrown by work that did nothing and may be tried again, after `backoff` ms or the policy's. */
class TryLater extends NotDone {
  name = 'TryLater';

  constructor(message, options) {
    super(message, options);
    this.backoff = options?.backoff;
  }
}

/** The work was not run, or its answer does not count: `kind` says why. */
class Refused extends Error {
  name = 'Refused';

  constructor(kind, detail, { retryable = false, retryAfter, status = 409, cause } = {}) {
    super(`${kind}: ${detail}`, { cause });
    Object.assign(this, { kind, detail, retryable, retryAfter, status, statusCode: status });
  }

  /** What the service said instead of an answer. */
  static by({ kind = 'unknown', detail, retryable, retry_after_ms: retryAfter, reply }) {
    const said = detail ?? PROBLEMS['outcome-unknown'][2];
    return new Refused(kind, said, { retryable, retryAfter, status: reply?.status });
  }
}

/** No answer of the service. `sent`: it may have done what it was asked. */
class Unreachable extends Refused {
  name = 'Unreachable';

  constructor(cause, sent) {
    const [status, , detail] = PROBLEMS['store-unreachable'];
    super('store-failed', detail, { retryable: true, retryAfter: 1000, status, cause });
    this.sent = sent;
  }
}

/** How work that threw ends its operation: the kind of settle, and its members. */
function ending(error) {
  if (error instanceof TryLater) return ['fail', { backoff_ms: error.backoff }];
  return [error instanceof NotDone ? 'release' : 'exception', {}];
}

const PROBLEMS = {
  'store-unreachable': [503, "The record of requests can't be reached",
    'Send the same request with the same key again after the time in Retry-After.', 'same-key'],
  'bad-request': [400, "The request can't be read", 'Nothing ran.', 'no'],
  'request-too-large': [413, 'The request body is too large',
    'A guarded request may have a body up to a limit, and this one is longer. Nothing ran.', 'no'],
  'outcome-unknown': [409, 'The outcome is not known',
    'An earlier request with this key may or may not have taken effect, so it is not run again by '
    + 'itself. Look at what it should have done; its operator can resolve the key.', 'no'],
};

/** A problem document (RFC 9457), as the service itself answers. */
function problem(kind, said) {
  const [status, title, usual, retry] = PROBLEMS[kind];
  const detail = said ?? usual;
  const type = `urn:onceguard:problem:${kind}`;
  const body = { type, title, status, detail, retryable: retry === 'same-key' };
  const headers = [['Content-Type', 'application/problem+json'], ['Onceguard-Retry', retry]];
  if (status === 503) headers.push(['Retry-After', '1']);
  return { status, headers, body: JSON.stringify(body) };
}

module.exports = { NotDone, TryLater, Refused, Unreachable, ending, problem };
