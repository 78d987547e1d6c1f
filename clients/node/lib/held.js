'use strict';
const { problem } = require('./errors.js');

// What frames a message is the server's own affair, and these say something to Onceguard alone.
const FRAMING = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding']);
const WORDS = new Set(['idempotent-replayed', 'onceguard-outcome']);

/** The fields of a response as pairs. */
function fieldsOf(response) {
  const out = [];
  for (const name of response.getRawHeaderNames()) {
    const value = response.getHeader(name);
    if (Array.isArray(value)) for (const one of value) out.push([name, String(one)]);
    else out.push([name, String(value)]);
  }
  return out;
}

/** Sets fields, repeated ones too; others of the same names go. */
function setFields(response, pairs) {
  const values = new Map();
  for (const [name, value] of pairs) {
    const known = values.get(name.toLowerCase());
    if (known) known[1].push(value);
    else values.set(name.toLowerCase(), [name, [value]]);
  }
  for (const [name, all] of values.values()) response.setHeader(name, all.length > 1 ? all : all[0]);
}

/** What writeHead takes: an object, a flat list, or a list of pairs. */
function pairsOf(fields) {
  if (!Array.isArray(fields)) {
    return Object.entries(fields ?? {}).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  }
  return Array.isArray(fields[0]) ? fields : fields.flatMap((name, at) => (at % 2 ? [] : [[name, fields[at + 1]]]));
}

const unframed = (pairs) => pairs.filter(([name]) => !FRAMING.has(name.toLowerCase()));

/** Sends a whole answer. Fields that others have set before stay, unless it has such. */
function send(response, { status, headers, body }, end = response.end) {
  response.statusCode = status;
  response.removeHeader('Content-Length');
  setFields(response, unframed(headers));
  end.call(response, body);
}

/**
 * Holds the answer that a handler gives back until `settle({status, headers}, body)` has returned:
 * nothing, or the answer to send instead. An answer over `limit`, a stream of events and one whose
 * head is flushed are settled without body, and then go out as they come. `broken()` is called where
 * the handler ends the connection without an answer.
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
    response.writeHead = (...head) => this.#writeHead(...head);
    response.write = (...piece) => this.#write(...piece);
    response.end = (...piece) => this.#end(...piece);
    response.flushHeaders = () => this.#flushHeaders();
    const real = (name) => Reflect.get(Object.getPrototypeOf(response), name, response);
    Object.defineProperties(response, {
      headersSent: { configurable: true, get: () => this.#hasHead || real('headersSent') },
      writableEnded: { configurable: true, get: () => this.#ended || real('writableEnded') },
    });
    response.once('close', () => this.#closed(socket));
  }

  #writeHead(status, reason, fields) {
    if (this.#state === 'open') return this.#real.writeHead.call(this.#response, status, reason, fields);
    if (this.#hasHead || this.#state === 'dropped') return this.#response;
    this.#hasHead = true;
    this.#response.statusCode = status;
    if (typeof reason === 'string') this.#response.statusMessage = reason;
    setFields(this.#response, pairsOf(typeof reason === 'string' ? fields : reason));
    return this.#response;
  }

  #write(piece, encoding, callback) {
    if (this.#state === 'open') return this.#real.write.call(this.#response, piece, encoding, callback);
    const then = typeof encoding === 'function' ? encoding : callback;
    if (then) process.nextTick(then);
    if (this.#ended || this.#state === 'dropped') return true;
    this.#keep(piece, encoding);
    const endless = /^text\/event-stream/i.test(this.#response.getHeader('content-type'));
    if (endless || this.#size > this.#rules.limit) this.#stream();
    return this.#state === 'held';
  }

  #end(piece, encoding, callback) {
    if (this.#state === 'open') return this.#real.end.call(this.#response, piece, encoding, callback);
    if (this.#ended || this.#state === 'dropped') return this.#response;
    const then = [piece, encoding, callback].find((one) => typeof one === 'function');
    if (then) this.#response.once('finish', then);
    this.#keep(typeof piece === 'function' ? undefined : piece, encoding);
    this.#ended = true;
    if (this.#size > this.#rules.limit) this.#stream();
    else if (this.#state === 'held') this.#settle(Buffer.concat(this.#pieces));
    return this.#response;
  }

  #flushHeaders() {
    if (this.#state === 'open') this.#real.flushHeaders.call(this.#response);
    if (this.#state !== 'held') return;
    this.#keep();
    this.#stream();
  }

  #keep(piece, encoding) {
    // As Node does it, so that what others have put before writeHead (a session's cookie) is asked.
    if (!this.#hasHead) this.#response.writeHead(this.#response.statusCode);
    if (piece === undefined || piece === null || [204, 304].includes(this.#response.statusCode)) return;
    const bytes = typeof piece === 'string' ? Buffer.from(piece, typeof encoding === 'string' ? encoding : 'utf8') : piece;
    this.#pieces.push(bytes);
    this.#size += bytes.length;
  }

  #stream() {
    if (this.#state === 'held') this.#settle(undefined);
  }

  #settle(body) {
    this.#state = 'settling';
    const { statusCode: status } = this.#response;
    const headers = fieldsOf(this.#response);
    this.#rules.settle({ status, headers: unframed(headers) }, body).then(
      (reply) => (reply ? this.#replace(reply) : this.#release(status, headers)),
      () => this.#replace(problem('store-unreachable')), // never an answer that nobody remembers
    );
  }

  /** Sends what the handler gave, as it was when it was settled. */
  #release(status, headers) {
    this.#setOnly(headers.filter(([name]) => !WORDS.has(name.toLowerCase())));
    this.#response.statusCode = status;
    this.#state = 'open';
    if (this.#ended) {
      this.#real.end.call(this.#response, Buffer.concat(this.#pieces));
      return;
    }
    if (!this.#pieces.length) this.#real.flushHeaders.call(this.#response);
    for (const piece of this.#pieces) this.#real.write.call(this.#response, piece);
    this.#pieces = [];
    this.#response.emit('drain');
  }

  #replace(reply) {
    this.#setOnly(this.#before);
    this.#response.statusMessage = undefined;
    this.#state = 'open';
    send(this.#response, reply, this.#real.end);
    this.#state = 'dropped';
    this.#response.emit('drain'); // whoever still writes writes to nobody
  }

  #setOnly(fields) {
    for (const name of this.#response.getHeaderNames()) this.#response.removeHeader(name);
    setFields(this.#response, fields);
  }

  /** A client that has left ended its direction, or reset the connection; else the handler did. */
  #closed(socket) {
    if (this.#ended || this.#state !== 'held' || socket.readableEnded || socket.errored?.syscall) return;
    this.#state = 'dropped';
    this.#rules.broken();
  }
}

module.exports = { HeldAnswer, fieldsOf, send };
