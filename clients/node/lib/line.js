'use strict';
const net = require('node:net');
const tls = require('node:tls');
const { Refused, Unreachable } = require('./errors.js');

const FRAMED = 'application/vnd.onceguard.framed';
const MOST_IDLE = 256;
const NOTHING = Buffer.alloc(0);

/** One connection, opened when it is needed, with one call at a time: a lease hangs on it. */
class Line {
  socket = null;
  #open;
  #call = null;
  #got = NOTHING;

  constructor(open) {
    this.#open = open;
  }

  /** Sends a request and reads its answer: {status, type, retryAfter, body}. */
  call(bytes, limit) {
    this.socket ??= this.#connect();
    return new Promise((resolve, reject) => {
      const late = () => this.socket?.destroy(new Error(`no answer in ${Math.round(limit)} ms`));
      this.#call = { resolve, reject, timer: setTimeout(late, limit) };
      this.socket.write(bytes);
    });
  }

  destroy() {
    this.socket?.destroy();
  }

  #connect() {
    const socket = this.#open();
    let failure = new Error('the service ended the connection');
    socket.setNoDelay?.(true).setKeepAlive(true, 1000);
    socket.on('data', (piece) => this.#data(socket, piece));
    socket.on('error', (error) => { failure = error; });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      this.socket = null;
      this.#got = NOTHING;
      const sent = !['connect', 'getaddrinfo'].includes(failure.syscall);
      this.#end()?.reject(new Unreachable(failure, sent));
    });
    return socket;
  }

  #data(socket, piece) {
    if (!this.#call) return socket.destroy(); // nobody has asked
    this.#got = this.#got.length ? Buffer.concat([this.#got, piece]) : piece;
    const end = this.#got.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const head = this.#got.latin1Slice(0, end + 2);
    const length = /^content-length: *(\d+)\r$/im.exec(head)?.[1];
    if (!head.startsWith('HTTP/1.1 ') || length === undefined) {
      return socket.destroy(new Error('this is no onceguard serve'));
    }
    const body = this.#got.subarray(end + 4);
    if (body.length < Number(length)) return undefined;
    this.#got = NOTHING;
    if (body.length > Number(length) || /^connection: *close\r$/im.test(head)) socket.destroy();
    return this.#end().resolve({
      status: Number(head.slice(9, 12)),
      type: /^content-type: *(.*?) *\r$/im.exec(head)?.[1] ?? '',
      retryAfter: Number(/^retry-after: *(\d+)\r$/im.exec(head)?.[1] ?? 1),
      body: body.subarray(0, Number(length)),
    });
  }

  #end() {
    const call = this.#call;
    this.#call = null;
    if (call) clearTimeout(call.timer);
    return call;
  }
}

/** Where the service is, and the connections to it that no operation has. */
class Service {
  #idle = [];
  #closed = false;
  #open;
  #head;

  constructor({ url, token, tls: more }) {
    const path = /^unix:(\/.*)$/.exec(url)?.[1];
    const { protocol, hostname, port, host, pathname } = path ? { host: 'localhost', pathname: '/' } : new URL(url);
    const name = hostname?.replace(/^\[|\]$/g, '');
    const secure = { host: name, port: Number(port || 443), servername: net.isIP(name) ? '' : name, ...more };
    if (path) this.#open = () => net.connect(path);
    else if (protocol === 'http:') this.#open = () => net.connect(Number(port || 80), name);
    else if (protocol === 'https:') this.#open = () => tls.connect(secure);
    else throw new TypeError(`onceguard: url: unix:/path, http:// or https://, not ${url}`);
    const fields = [`Host: ${host}`, `Content-Type: ${FRAMED}`, `Accept: ${FRAMED}`];
    if (token) fields.push(`Authorization: Bearer ${token}`);
    const base = pathname.replace(/\/$/, '');
    this.#head = (to, length) => `POST ${base}${to} HTTP/1.1\r\n${fields.join('\r\n')}\r\nContent-Length: ${length}\r\n\r\n`;
  }

  /** A connection for one operation alone, until it is given back. */
  take() {
    const line = this.#idle.pop() ?? new Line(this.#open);
    line.socket?.ref();
    return line;
  }

  give(line) {
    line.socket?.unref();
    if (this.#closed || this.#idle.length >= MOST_IDLE) line.destroy();
    else this.#idle.push(line);
  }

  close() {
    this.#closed = true;
    for (const line of this.#idle.splice(0)) line.destroy();
  }

  /** One call. Throws Unreachable where no answer came, Refused where the service refuses it. */
  async call(line, path, message, body, limit) {
    const object = JSON.stringify(message);
    const size = Buffer.byteLength(object) + 1 + (body?.length ?? 0);
    const head = Buffer.from(`${this.#head(path, size)}${object}\n`);
    return read(await line.call(body?.length ? Buffer.concat([head, body]) : head, limit));
  }
}

/** The object of an answer, with its body where it belongs. */
function read({ status, type, retryAfter, body }) {
  const framed = type.startsWith(FRAMED);
  const end = framed ? body.indexOf(10) : body.length;
  let message;
  try {
    message = JSON.parse(body.utf8Slice(0, end));
  } catch (cause) {
    throw new Unreachable(cause, true);
  }
  if (status !== 200) {
    const kind = message.type?.split(/[:/]/).pop() ?? String(status);
    throw new Refused(kind, message.detail, { status, retryable: status === 503, retryAfter: 1000 * retryAfter });
  }
  const owner = message.reply ?? message.answer;
  if (owner && framed) owner.body = body.subarray(end + 1);
  else if (owner) owner.body = Buffer.from(owner.body_base64 ?? owner.body ?? '', 'body_base64' in owner ? 'base64' : 'utf8');
  return message;
}

module.exports = { Service };
