'use strict';
const { Refused, ending, problem } = require('./errors.js');
const { HeldAnswer, fieldsOf, send } = require('./held.js');
const { TooLarge, addFields, described, dropReserved, rawBody } = require('./request.js');

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']); // no route can guard them

/** What a handler gets as `request.onceguard`. */
class Running {
  #end;

  #operation;

  constructor(operation) {
    this.#operation = operation;
    this.guarded = operation !== undefined;
    this.lease = operation?.lease;
    this.token = operation?.token;
    this.attempt = operation?.attempt;
  }

  /** Aborts when the lease is lost. */
  get signal() {
    return this.#operation?.signal;
  }

  /** Says that the handler threw: what the framework answers then is no answer of the work. */
  failed(error) {
    this.#end = ending(error);
  }

  /** How an answer with this status ends the operation: kind and members, or nothing for its answer. */
  end(status) {
    // Frameworks have errors that are answers: a 404 that is thrown. A 500 is none.
    return this.#end?.[0] === 'exception' && status !== 500 ? undefined : this.#end;
  }
}

/** Lets a handler run whose answer is held back until the operation is settled. */
function hold(operation, request, response) {
  const running = new Running(operation);
  request.onceguard = running;
  return new HeldAnswer(response, {
    limit: operation.answerLimit,
    broken: () => operation.settle('abandon').catch(() => {}), // its lease runs out, then
    async settle(head, body) {
      const other = running.end(head.status);
      const ended = other ? await operation.settle(...other)
        : await operation.settle('complete', { answer: head, streamed: body === undefined || undefined }, body);
      if (ended.outcome === 'settled') return ended.reply;
      return ended.reply ?? problem('outcome-unknown');
    },
  });
}

/** Tells of an answer that nobody guards, for the counts. */
function watch(operation, response) {
  response.once('finish', () => {
    const answer = { status: response.statusCode, headers: fieldsOf(response) };
    operation.settle('complete', { answer, streamed: true }).catch(() => {}); // only a count
  });
}

async function claim(client, request, response, options) {
  const limit = options.maxRequestBody ?? 1 << 20;
  const body = await rawBody(request, options.rawBody ?? request.rawBody, limit);
  if (body === null) return null;
  return client.claim({ request: described(request, options) }, body);
}

/** What is answered where nothing could be claimed; the error, where that is no answer's business. */
function refusal(error) {
  if (error instanceof TooLarge || error.status === 413) return problem('request-too-large');
  if (error instanceof Refused && error.status === 503) return problem('store-unreachable');
  if (!(error instanceof Refused)) throw error;
  throw new Error(`onceguard: the service refuses its client: ${error.message}`, { cause: error });
}

/**
 * Asks for a request whether its handler may run. False: it was answered, or its client has left.
 * Throws where the client or the service is set up wrongly.
 */
async function begin(client, request, response, options = {}) {
  dropReserved(request);
  if (SAFE.has(request.method)) return true;
  let claimed;
  try {
    claimed = await claim(client, request, response, options);
  } catch (error) {
    const reply = refusal(error);
    if (client.open && reply.status === 503) {
      claimed = { verdict: 'unguarded', headers: [['Onceguard-Unguarded', 'service']] };
    } else {
      if (reply.status === 413) response.setHeader('Connection', 'close');
      send(response, reply);
      return false;
    }
  }
  if (claimed === null) return false;
  const { verdict, operation } = claimed;
  if (['run', 'unguarded', 'pass', 'observe'].includes(verdict)) {
    addFields(request, claimed.headers);
    request.onceguard = new Running();
    if (verdict === 'run') hold(operation, request, response);
    else if (operation) watch(operation, response);
    return true;
  }
  send(response, claimed.reply ?? problem('outcome-unknown'));
  return false;
}

module.exports = { begin };
