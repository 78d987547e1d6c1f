'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const { Refused } = require('./errors.js');

const SETTLE_AGAIN = 10_000;
const SETTLE_LIMIT = 15_000;
const USUAL_ANSWER = 1 << 20;

/** The service is not there, or has no room. */
const isAway = (error) => error instanceof Refused && error.status === 503;

/** Calls until there is an answer, as long as `again(error)` has it so; pauses from 50 ms to 1 s. */
async function persistently(call, until, again) {
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
  #service;
  #line;
  #socket;
  #id;
  #leaseMs;
  #lost;
  #settled = false;

  constructor(service, line, { operation, lease, token, attempt, lease_ms: leaseMs, answer_limit: limit }) {
    Object.assign(this, { lease, token, attempt, answerLimit: limit ?? USUAL_ANSWER });
    this.#service = service;
    this.#id = operation;
    this.#leaseMs = leaseMs;
    if (leaseMs === undefined) service.give(line); // it is only observed
    else this.#watch(line);
  }

  /** Aborts when the lease is lost: another attempt may begin. */
  get signal() {
    this.#lost ??= new AbortController();
    return this.#lost.signal;
  }

  /** Says how it ended. The service's answer; it throws when nobody can be told. */
  async settle(kind, members = {}, body) {
    this.#settled = true;
    this.#socket?.off('close', this.#moves);
    const line = this.#line ?? this.#service.take();
    const call = () => this.#call(line, kind, members, body, SETTLE_LIMIT);
    try {
      return await persistently(call, performance.now() + SETTLE_AGAIN, isAway);
    } finally {
      this.#service.give(line);
    }
  }

  #call(line, kind, members, body, limit) {
    return this.#service.call(line, `/v1/operations/${this.#id}/${kind}`, members, body, limit);
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
    const renew = (left) => (this.#settled ? {} : this.#call(line, 'renew', {}, undefined, Math.max(left, 1)));
    const until = performance.now() + this.#leaseMs;
    const { outcome } = await persistently(renew, until, isAway).catch(() => ({})); // then it is lost
    if (!this.#settled && outcome === 'renewed') {
      this.#service.give(this.#line);
      this.#watch(line);
      return;
    }
    this.#service.give(line);
    if (!this.#settled) (this.#lost ??= new AbortController()).abort(new Refused('superseded', 'the lease is lost'));
  };
}

module.exports = { Operation, isAway, persistently };
