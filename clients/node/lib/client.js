'use strict';
const { randomUUID } = require('node:crypto');
const adapters = require('./adapters.js');
const { Refused, ending, problem } = require('./errors.js');
const { Service } = require('./service.js');
const { LATE, Operation, clocks, inTime, isAway, persistently } = require('./operation.js');

const POLICY_WAIT = 10_000; // what `wait` of a policy is unless it is set
const SUCCESSION = 1000; // ms in which new connections find the successor of a process that drains

const NOT_IN_TIME = 'The lease ended before the work could begin. Nothing was run.';
const LATE_AGAIN = {
  verdict: 'overloaded', kind: 'overloaded', detail: NOT_IN_TIME, retryable: true,
  retry_after_ms: 1000, reply: problem('store-unreachable', NOT_IN_TIME),
};

/** A client of one `onceguard serve`. */
class Client {
  #service;

  constructor({ url, token, tls, open = false, timeout = 5000, wait, service }) {
    this.#service = new Service({ url, token, tls });
    Object.assign(this, { open, timeout, wait, service });
  }

  /** Asks whether an operation may run: the service's answer, with an Operation where it may. */
  async claim(message, body, wait = this.wait) {
    // Nobody waits for the twin of another one: that is asked for alone.
    const first = await this.#claim({ ...message, wait_ms: 0 }, body, 0);
    const found = first.verdict !== 'busy' || wait === 0;
    return found ? first : this.#claim({ ...message, wait_ms: wait }, body, wait ?? POLICY_WAIT);
  }

  async #claim(message, body, wait) {
    for (let times = 0; times < LATE; times++) {
      const asked = clocks();
      const answer = await this.#ask(message, body, wait);
      const { operation, lease_ms: lease } = answer;
      if (lease === undefined || inTime(asked, lease) || await operation.begins()) return answer;
    }
    return LATE_AGAIN; // not for `open`: the service is there
  }

  async #ask(message, body, wait) {
    const claim = randomUUID().replaceAll('-', '');
    const asked = { service: this.service, ...message, claim };
    const began = performance.now();
    let [doubt, drained] = [false, Infinity];
    const again = (error) => {
      doubt ||= error.sent === true;
      const now = performance.now();
      if (isDraining(error) && now < drained + SUCCESSION) return true;
      return doubt && isAway(error) && now < began + this.timeout;
    };
    const call = (limit) => this.#service.call('claim', undefined, asked, {
      of: asked.request, body, limit, alone: wait > 0, fresh: drained < Infinity,
    });
    // Nothing was claimed by a process that drains, and its successor is there already.
    const asks = (limit) => call(limit).catch((error) => {
      if (!isDraining(error) || drained < Infinity) throw error;
      drained = performance.now();
      return call(limit);
    });
    const [answer, line] = await persistently(asks, began + this.timeout + wait, again);
    if (answer.operation) answer.operation = new Operation(this.#service, line, { ...answer });
    return answer;
  }

  /** Runs work once for its key. A repeat gets what the first call returned. */
  async execute({ fingerprint, wait, ...parts }, work) {
    if (Buffer.isBuffer(fingerprint)) parts.fingerprint_base64 = fingerprint.toString('base64');
    else if (typeof fingerprint === 'string') parts.fingerprint = fingerprint;
    else throw new TypeError('onceguard: fingerprint: a string or a Buffer');
    const claimed = await this.claim(parts, undefined, wait).catch((error) => {
      if (this.open && isAway(error)) return { verdict: 'unguarded' };
      throw error;
    });
    if (claimed.verdict === 'run') return run(claimed.operation, work);
    if (claimed.verdict === 'replay') return replayed(claimed);
    if (!['observe', 'pass', 'unguarded'].includes(claimed.verdict)) throw Refused.by(claimed);
    const result = await work({ guarded: false });
    claimed.operation?.answered({ status: 200, headers: [] }).catch(() => {}); // only a count
    return result;
  }

  /** Ends the connections that no operation has. */
  close() {
    this.#service.close();
  }
}

const isDraining = (error) => error.kind === 'draining';

async function run(operation, work) {
  let answer;
  try {
    answer = encoded(await work(operation));
  } catch (error) {
    await operation.settle(...ending(error)).catch(() => {}); // the caller is to see this one
    throw error;
  }
  const { body, ...head } = answer;
  const kept = body.length > operation.answerLimit ? undefined : body;
  const ended = await operation.answered(head, kept);
  if (ended.outcome === 'settled') return decoded(answer);
  if (ended.outcome === 'replay') return replayed(ended);
  throw Refused.by(ended);
}

function encoded(result) {
  if (result === undefined) return { status: 204, headers: [], body: Buffer.alloc(0) };
  const [type, body] = Buffer.isBuffer(result) ? ['application/octet-stream', result]
    : typeof result === 'string' ? ['text/plain; charset=utf-8', Buffer.from(result)]
      : ['application/json', Buffer.from(JSON.stringify(result))];
  return { status: 200, headers: [['Content-Type', type]], body };
}

/** The result that an answer stands for: the first caller gets it in this way, too. */
function decoded({ status, headers, body }) {
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  if (status === 204) return undefined;
  if (/\bjson\b/.test(type)) return JSON.parse(body);
  return type.startsWith('text/') ? body.toString() : body;
}

function replayed({ answer, kept = 'full', ...rest }) {
  if (answer === undefined) throw Refused.by(rest);
  if (kept === 'full') return decoded(answer);
  throw new Refused('answer-not-kept', 'It took effect, and its answer was not kept.');
}

Object.assign(Client.prototype, adapters);
module.exports = { Client };
