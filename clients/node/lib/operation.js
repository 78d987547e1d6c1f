'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const { Refused, ending } = require('./errors.js');

const SETTLE_AGAIN = 10_000;
const SETTLE_LIMIT = 15_000;

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

/** What was claimed, until it is settled; it holds the connection of its lease. */
class Operation {
  guarded = true;
  #service;
  #claimed;
  #line;
  #socket;
  #threw;
  #lost;
  #settled = false;

  constructor(service, line, claimed) {
    this.#service = service;
    this.#claimed = claimed;
    this.lease = claimed.lease;
    this.token = claimed.token;
    this.attempt = claimed.attempt;
    if (claimed.lease_ms === undefined) service.give(line); // it is only observed
    else this.#watch(line);
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
    return this.settle('complete', { answer, streamed: body === undefined || undefined }, body);
  }

  /** Says how it ended. The service's answer; it throws when nobody can be told. */
  async settle(kind, members = {}, body = undefined) {
    this.#settled = true;
    this.#socket?.off('close', this.#moves);
    const line = this.#line ?? this.#service.take();
    try {
      const call = () => this.#call(line, kind, members, body, SETTLE_LIMIT);
      return await persistently(call, performance.now() + SETTLE_AGAIN);
    } finally {
      this.#service.give(line);
    }
  }

  #call(line, kind, members, body, limit) {
    const path = `/v1/operations/${this.#claimed.operation}/${kind}`;
    return this.#service.call(line, path, members, body, limit);
  }

  #watch(line) {
    this.#line = line;
    this.#socket = line.socket;
    if (this.#socket) this.#socket.once('close', this.#moves);
    else this.#moves();
  }

  /** The connection has ended: the lease is taken along to another one, if that can be. */
  #moves = async () => {
    const line = this.#service.take();
    const renew = (left) => (
      this.#settled ? {} : this.#call(line, 'renew', {}, undefined, Math.max(left, 1)));
    const until = performance.now() + this.#claimed.lease_ms;
    const { outcome } = await persistently(renew, until).catch(() => ({})); // then it is lost
    const renewed = !this.#settled && outcome === 'renewed';
    this.#service.give(renewed ? this.#line : line);
    if (renewed) this.#watch(line);
    else if (!this.#settled) this.#lose();
  };

  #lose() {
    this.#lost ??= new AbortController();
    this.#lost.abort(new Refused('superseded', 'the lease is lost'));
  }
}

module.exports = { Operation, isAway, persistently };
