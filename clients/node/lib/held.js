'use strict';
const { problem } = require('./errors.js');
const { pairsOf } = require('./request.js');

// What frames a message is the server's own affair, and these say something to Onceguard alone.
const FRAMING = /^(connection|content-length|keep-alive|trailer|transfer-encoding)$/i;
const BODILESS = new Set([204, 304]);
const WORDS = /^(idempotent-replayed|onceguard-outcome)$/i;

const without = (pairs, names) => pairs.filter(([name]) => !names.test(name));

/** The fields of a response as pairs. */
const fieldsOf = (response) => response.getRawHeaderNames().flatMap(
  (name) => [response.getHeader(name)].flat().map((value) => [name, String(value)]));

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

/**
 * Holds the answer that a handler gives back until `settle({status, headers}, body)` has returned:
 * nothing, or the answer to send instead. An answer over `limit`, a stream of events and one whose
 * head is flushed are settled without body, and then go out as they come. `broken()` is called
 * where the handler ends the connection without an answer.
 */
class HeldAnswer {
  #response;
  #rules;
  #real;
  #before;
  #state = 'held'; // then settling, and then open, or dropped: another answer was sent
  #hasHead = false;
  #ended = false;
  #pieces = [];
  #size = 0;

  constructor(response, rules) {
    const { writeHead, write, end, flushHeaders, socket } = response;
    this.#response = response;
    this.#rules = rules;
    this.#real = { writeHead, write, end, flushHeaders };
    this.#before = fieldsOf(response);
    response.writeHead = (...head) => this.#pass('writeHead', head) ?? this.#writeHead(...head);
    response.write = (...piece) => this.#pass('write', piece) ?? this.#write(...piece);
    response.end = (...piece) => this.#pass('end', piece) ?? this.#end(...piece);
    response.flushHeaders = () => this.#pass('flushHeaders', []) ?? this.#settleStream();
    const real = (name) => Reflect.get(Object.getPrototypeOf(response), name, response);
    Object.defineProperties(response, {
      headersSent: { get: () => this.#hasHead || real('headersSent') },
      writableEnded: { get: () => this.#ended || real('writableEnded') },
    });
    response.once('close', () => this.#closed(socket));
  }

  /** What Node does, where the answer goes out as it comes; undefined: it is to be held. */
  #pass(name, args) {
    if (this.#state === 'open') return this.#real[name].apply(this.#response, args) ?? null;
    return this.#ended || this.#state === 'dropped' ? this.#response : undefined;
  }

  #writeHead(status, reason, fields) {
    if (this.#hasHead) return this.#response;
    this.#hasHead = true;
    this.#response.statusCode = status;
    if (typeof reason === 'string') this.#response.statusMessage = reason;
    const given = (typeof reason === 'string' ? fields : reason) ?? {};
    if (Array.isArray(given)) setFields(this.#response, pairsOf(given.flat()));
    else for (const [name, value] of Object.entries(given)) this.#response.setHeader(name, value);
    return this.#response;
  }

  #write(piece, encoding, callback = encoding) {
    this.#keep(piece, encoding);
    if (typeof callback === 'function') process.nextTick(callback);
    const endless = /^text\/event-stream/i.test(this.#response.getHeader('content-type'));
    if (endless || this.#size > this.#rules.limit) this.#settleStream();
    return this.#state === 'held';
  }

  #end(...given) {
    const [piece, encoding] = given.filter((one) => typeof one !== 'function');
    const callback = given.find((one) => typeof one === 'function');
    if (callback) this.#response.once('finish', callback);
    this.#keep(piece, encoding);
    this.#ended = true;
    if (this.#size > this.#rules.limit) this.#settleStream();
    else if (this.#state === 'held') this.#settle(Buffer.concat(this.#pieces));
    return this.#response;
  }

  #keep(piece = null, encoding = 'utf8') {
    // As Node does it, so that what others have put before writeHead (a session's cookie) is asked.
    if (!this.#hasHead) this.#response.writeHead(this.#response.statusCode);
    if (piece === null || BODILESS.has(this.#response.statusCode)) return;
    if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) {
      throw new TypeError('a piece of an answer is a string, a Buffer or a Uint8Array');
    }
    this.#pieces.push(typeof piece === 'string' ? Buffer.from(piece, encoding) : piece);
    this.#size += this.#pieces.at(-1).length;
  }

  #settleStream() {
    if (!this.#hasHead) this.#keep();
    if (this.#state === 'held') this.#settle(undefined);
  }

  #settle(body) {
    this.#state = 'settling';
    const status = Number(this.#response.statusCode);
    const headers = fieldsOf(this.#response);
    this.#rules.settle({ status, headers: without(headers, FRAMING) }, body).then(
      (reply) => (reply ? this.#replace(reply) : this.#release(status, headers)),
      () => this.#replace(problem('store-unreachable')), // never an answer that nobody remembers
    ).catch((unsendable) => this.#response.destroy(unsendable)); // recorded: a repeat gets it
  }

  /** Sends what the handler gave, as it was when it was settled. */
  #release(status, headers) {
    const fields = without(headers, WORDS);
    this.#open(this.#ended ? without(fields, FRAMING) : fields);
    if (this.#ended) {
      const body = Buffer.concat(this.#pieces);
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
    if (this.#ended || this.#state !== 'held') return;
    if (socket.readableEnded || socket.errored?.syscall) return;
    this.#state = 'dropped';
    this.#rules.broken();
  }
}

module.exports = { HeldAnswer, fieldsOf, send };
