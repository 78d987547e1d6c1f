'use strict';
const { Refused, problem } = require('./errors.js');
const { HeldAnswer, fieldsOf, send } = require('./held.js');
const { TOO_LONG, addFields, described, dropReserved, rawBody } = require('./request.js');

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']); // no route can guard them
const RUNS = new Set(['run', 'pass', 'observe', 'unguarded']);

/** Claims. Where nothing could be claimed, what is to be answered; null: the client has left. */
async function claim(client, request, options) {
  try {
    const limit = options.maxRequestBody ?? 1 << 20;
    const body = await rawBody(request, options.rawBody ?? request.rawBody, limit);
    if (body === null) return null;
    const about = described(request, options);
    if (body !== TOO_LONG) return await client.claim({ request: about }, body);
    return await client.claim({ request: { ...about, body_omitted: true } });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 413) return { reply: problem('request-too-large') };
    const isTheirs = error.status === 400 && error.detail?.startsWith('request.');
    if (isTheirs) return { reply: problem('bad-request', error.detail) };
    if (error.status !== 503) {
      throw new Error(`onceguard: the service refuses us: ${error.message}`, { cause: error });
    }
    if (!client.open) return { reply: problem('store-unreachable') };
    return { verdict: 'unguarded', headers: [['Onceguard-Unguarded', 'service']] };
  }
}

/** Tells of an answer that nobody guards, for the counts. */
function watch(operation, response) {
  response.once('finish', () => {
    const answer = { status: response.statusCode, headers: fieldsOf(response) };
    operation.answered(answer).catch(() => {}); // only a count
  });
}

/**
 * Asks for a request whether its handler may run. False: it was answered, or its client has left.
 * Throws where the client or the service is set up wrongly.
 */
async function begin(client, request, response, options = {}) {
  const already = request.onceguard?.guarded; // by a middleware before this one
  if (!already) dropReserved(request);
  if (SAFE.has(request.method) || already) return true;
  const claimed = await claim(client, request, options);
  if (!claimed) return false;
  const { verdict, operation, headers, reply } = claimed;
  if (!RUNS.has(verdict)) {
    if (reply?.status === 413) response.setHeader('Connection', 'close');
    send(response, reply ?? problem('outcome-unknown'));
    return false;
  }
  if (response.destroyed && verdict === 'run') { // its client has left, and its body with it
    operation.settle('release').catch(() => {});
    return false;
  }
  addFields(request, headers);
  request.onceguard = verdict === 'run' ? operation : { guarded: false, failed() {} };
  if (verdict === 'run') new HeldAnswer(response, operation);
  else if (operation) watch(operation, response);
  return true;
}

module.exports = { begin };
