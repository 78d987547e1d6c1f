'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const { Refused, ending } = require('./errors.js');

const SETTLE_AGAIN = 10_000;
const SETTLE_LIMIT = 15_000;
const REFUSED = new Set([400, 413]); // the service can't take what is said

const LATE = 3; // times that a process stands still for longer than its lease, one after the other

/** Both: one stands still while a machine is suspended, the other may be put back. */
const clocks = () => [performance.now(), Date.now()];

/** Whether a lease that was asked for then is surely there still, on one's own clocks. */
function inTime(asked, lease) {
  return clocks().every((now, at) => now - asked[at] <= (lease * 2) / 3);
}

/** The service is not there, or has no room. */
const isAway = (error) => error instanceof Refused && error.status === 503;

/** Calls until there is an answer, while `again(error)` has it so; pauses from 50 ms to 1 s. */
async function persistently(call, until, again = isAway) {
  for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
    try {
      return await call(until - performance.now());
    } catch (error) {
      if (!again(error) || performance.now() + pause >= until) throw error;
    }
    await sleep(pause);
  }
}

/** What was claimed, until it is settled; its lease hangs on a connection. */
class Operation {
  guarded = true;
  #service;
  #claimed;
  #line = null;
  #threw;
  #lost;
  #settled = false;

  constructor(service, line, claimed) {
    this.#service = service;
    this.#claimed = claimed;
    this.lease = claimed.lease;
    this.token = claimed.token;
    this.attempt = claimed.attempt;
    if (claimed.lease_ms !== undefined) this.#watch(line); // else it is only observed
  }

  /** Bytes of an answer that can be kept. */
  get answerLimit() {
    return this.#claimed.answer_limit;
  }

  /** Aborts when the lease is lost: another attempt may begin. */
  get signal() {
    this.#lost ??= new AbortController();
    return this.#lost.signal;
  }

  /** Says that the handler threw: what the framework answers then is no answer of the work. */
  failed(error) {
    this.#threw = ending(error);
  }

  /** Ends it by an answer. One of which no body is given was streamed. */
  answered(answer, body) {
    // Frameworks have errors that are answers: a 404 that is thrown. A 500 is none.
    const isAnswer = !this.#threw || (this.#threw[0] === 'exception' && answer.status !== 500);
    if (!isAnswer) return this.settle(...this.#threw);
    const members = { answer, streamed: body === undefined || undefined };
    return this.settle('complete', members, { of: answer, body });
  }

  /** Says how it ended. The service's answer; it throws when nobody can be told. */
  async settle(kind, members = {}, more = {}) {
    this.#leave();
    try {
      return await this.#surely(kind, members, more);
    } catch (error) {
      if (kind === 'abandon' || !REFUSED.has(error.status)) throw error;
      await this.settle('abandon').catch(() => {}); // nobody is to wait for it
      return { outcome: 'superseded', kind: 'unknown', detail: error.detail };
    } finally {
      this.#line?.retire();
    }
  }

  /** Whether the work may begin after all: its lease is renewed, or another may have run it. */
  async begins() {
    for (let times = 0; times < LATE; times++) {
      const asked = clocks();
      const renewed = await this.#surely('renew', {}, {}).catch((error) => {
        if (!isAway(error)) return {}; // the service knows it no more
        this.settle('release').catch(() => {}); // nothing began; nobody waits for it
        throw error;
      });
      if (renewed.outcome !== 'renewed') {
        this.#leave();
        this.#line?.retire();
        return false;
      }
      if (inTime(asked, this.#claimed.lease_ms)) return true;
    }
    await this.settle('release');
    return false;
  }

  async #surely(kind, members, more) {
    const call = () => this.#call(kind, members, { ...more, limit: SETTLE_LIMIT });
    return (await persistently(call, performance.now() + SETTLE_AGAIN))[0];
  }

  #leave() {
    this.#settled = true;
    this.#line?.leases.delete(this);
  }

  #call(kind, members, how) {
    const line = this.#line ?? undefined;
    return this.#service.call(kind, this.#claimed.operation, members, { ...how, line });
  }

  #watch(line) {
    this.#line = line;
    if (line.closed) this.moves();
    else line.leases.add(this);
  }

  /** The connection has ended: the lease is taken along to another one, if that can be. */
  async moves() {
    const renew = (left) => (
      this.#settled ? [{}] : this.#call('renew', {}, { limit: Math.max(left, 1) }));
    const until = performance.now() + this.#claimed.lease_ms;
    const [{ outcome }, line] = await persistently(renew, until).catch(() => [{}]); // it is lost
    if (this.#settled) return;
    if (outcome === 'renewed') this.#watch(line);
    else this.#lose();
  }

  #lose() {
    this.#lost ??= new AbortController();
    this.#lost.abort(new Refused('superseded', 'the lease is lost'));
  }
}

module.exports = { LATE, Operation, clocks, inTime, isAway, persistently };
