'use strict';
const { problem } = require('./errors.js');
const { pairsOf } = require('./request.js');

// What frames a message is the server's own affair, and these say something to Onceguard alone.
const FRAMING = /^(connection|content-length|keep-alive|trailer|transfer-encoding)$/i;
const WORDS = /^(idempotent-replayed|onceguard-outcome)$/i;
const FOR_OTHERS = /^(connection|keep-alive|trailer|transfer-encoding)$/i; // of a whole answer
const BODILESS = new Set([204, 304]);

const without = (pairs, names) => pairs.filter(([name]) => !names.test(name));

/** The fields of a response as pairs. */
function fieldsOf(response) {
  const pairs = [];
  for (const name of response.getRawHeaderNames()) {
    const value = response.getHeader(name);
    if (Array.isArray(value)) for (const one of value) pairs.push([name, String(one)]);
    else pairs.push([name, String(value)]);
  }
  return pairs;
}

/** Sets fields, repeated ones too; others of the same names go. */
function setFields(response, pairs) {
  const known = new Set();
  for (const [name, value] of pairs) {
    const before = known.has(name.toLowerCase()) ? [response.getHeader(name)].flat() : [];
    response.setHeader(name, before.length ? [...before, value] : value);
    known.add(name.toLowerCase());
  }
}

/** Sends a whole answer. Fields that others have set before stay, unless it has such. */
function send(response, { status, headers, body }, end = response.end) {
  response.statusCode = status;
  setFields(response, without(headers, FRAMING));
  // Not by removing it: Node would send chunks, then.
  if (!BODILESS.has(status)) response.setHeader('Content-Length', Buffer.byteLength(body));
  end.call(response, body);
}

// One function for all responses: those with functions of their own are slow.
const HELD = Symbol('held answer');
const hook = (name) => function held(...given) { return this[HELD].called(name, given); };
const HOOKS = Object.fromEntries(['writeHead', 'write', 'end', 'flushHeaders'].map(
  (name) => [name, hook(name)]));
const real = (response, name) => Reflect.get(Object.getPrototypeOf(response), name, response);
const STATES = {
  headersSent: { get() { return this[HELD].hasHead || real(this, 'headersSent'); } },
  writableEnded: { get() { return this[HELD].ended || real(this, 'writableEnded'); } },
};

/**
 * Holds the answer that a handler gives back until its operation is settled, which may have
 * another answer to send instead. An answer over the limit, a stream of events and one whose head
 * is flushed are settled without body, and then go out as they come.
 */
class HeldAnswer {
  hasHead = false;
  ended = false;
  #response;
  #operation;
  #real;
  #before;
  #state = 'held'; // then settling, and then open, or dropped: another answer was sent
  #pieces = [];
  #size = 0;

  constructor(response, operation) {
    const { writeHead, write, end, flushHeaders, socket } = response;
    this.#response = response;
    this.#operation = operation;
    this.#real = { writeHead, write, end, flushHeaders };
    this.#before = fieldsOf(response);
    response[HELD] = this;
    Object.assign(response, HOOKS);
    Object.defineProperties(response, STATES);
    response.once('close', () => this.#closed(socket));
  }

  /** What Node does, where the answer goes out as it comes; else it is held. */
  called(name, given) {
    if (this.#state === 'open') return this.#real[name].apply(this.#response, given);
    if (this.ended || this.#state === 'dropped') return this.#response;
    return this[name](...given);
  }

  writeHead(status, reason, fields) {
    if (this.hasHead) return this.#response;
    this.#response.statusCode = status;
    if (typeof reason === 'string') this.#response.statusMessage = reason;
    const given = (typeof reason === 'string' ? fields : reason) ?? {};
    if (Array.isArray(given)) setFields(this.#response, pairsOf(given.flat()));
    else for (const [name, value] of Object.entries(given)) this.#response.setHeader(name, value);
    this.hasHead = true; // of fields that Node refuses there is no head: it threw
    return this.#response;
  }

  write(piece, encoding, callback = encoding) {
    this.#keep(piece, encoding);
    if (typeof callback === 'function') process.nextTick(callback);
    const endless = /^text\/event-stream/i.test(this.#response.getHeader('content-type'));
    if (endless || this.#size > this.#operation.answerLimit) this.flushHeaders();
    return this.#state === 'held';
  }

  end(piece, encoding, callback) {
    if (typeof piece === 'function') return this.end(null, 'utf8', piece);
    if (typeof encoding === 'function') return this.end(piece, 'utf8', encoding);
    if (callback) this.#response.once('finish', callback);
    this.#keep(piece, encoding);
    this.ended = true;
    if (this.#size > this.#operation.answerLimit) this.flushHeaders();
    else if (this.#state === 'held') this.#settle(Buffer.concat(this.#pieces));
    return this.#response;
  }

  flushHeaders() {
    if (!this.hasHead) this.#keep();
    if (this.#state === 'held') this.#settle(undefined);
  }

  #keep(piece = null, encoding = 'utf8') {
    // As Node does it, so that what others have put before writeHead (a session's cookie) is asked.
    if (!this.hasHead) this.#response.writeHead(this.#response.statusCode);
    if (piece === null || BODILESS.has(this.#response.statusCode)) return;
    if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) {
      throw new TypeError('a piece of an answer is a string, a Buffer or a Uint8Array');
    }
    this.#pieces.push(typeof piece === 'string' ? Buffer.from(piece, encoding) : piece);
    this.#size += this.#pieces.at(-1).length;
  }

  #settle(body) {
    this.#state = 'settling';
    const status = Number(this.#response.statusCode);
    const headers = fieldsOf(this.#response);
    this.#operation.answered({ status, headers: without(headers, FRAMING) }, body).then(
      ({ outcome, reply }) => {
        if (outcome === 'settled' && !reply) this.#release(status, headers, body);
        else this.#replace(reply ?? problem('outcome-unknown'));
      },
      () => this.#replace(problem('store-unreachable')), // never an answer that nobody remembers
    ).catch((unsendable) => this.#response.destroy(unsendable)); // recorded: a repeat gets it
  }

  /** Sends what the handler gave, as it was when it was settled. */
  #release(status, headers, body = Buffer.concat(this.#pieces)) {
    const now = fieldsOf(this.#response);
    const fields = without(this.ended ? without(headers, FOR_OTHERS) : headers, WORDS);
    const isSame = now.length === fields.length && now.every(
      ([name, value], at) => name === fields[at][0] && value === fields[at][1]);
    if (!isSame) this.#open(fields);
    this.#state = 'open';
    if (this.ended) {
      this.#response.removeHeader('Content-Length'); // it stands behind the others, as in a replay
      send(this.#response, { status, headers: [], body }, this.#real.end);
      return;
    }
    this.#response.statusCode = status;
    this.#real.flushHeaders.call(this.#response);
    for (const piece of this.#pieces) this.#real.write.call(this.#response, piece);
    this.#response.emit('drain');
  }

  #replace(reply) {
    this.#open(this.#before);
    this.#response.statusMessage = undefined;
    send(this.#response, reply, this.#real.end);
    this.#state = 'dropped';
    this.#response.emit('drain'); // whoever still writes writes to nobody
  }

  #open(fields) {
    const stay = new Set(fields.map(([name]) => name.toLowerCase()));
    for (const name of this.#response.getHeaderNames()) {
      if (!stay.has(name)) this.#response.removeHeader(name);
    }
    setFields(this.#response, fields);
    this.#state = 'open';
  }

  /** A client that has left ended its direction, or reset the connection; else the handler did. */
  #closed(socket) {
    if (this.ended || this.#state !== 'held') return;
    if (socket.readableEnded || socket.errored?.syscall) return;
    this.#state = 'dropped';
    this.#operation.settle('abandon').catch(() => {}); // its lease runs out, then
  }
}

module.exports = { HeldAnswer, fieldsOf, send };
