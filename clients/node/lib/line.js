'use strict';
const net = require('node:net');
const tls = require('node:tls');
const { Refused, Unreachable } = require('./errors.js');

const FRAMED = 'application/vnd.onceguard.framed';
const MOST_IDLE = 256;

/** One connection, opened when it is needed, with one call at a time: a lease hangs on it. */
class Line {
  socket = null;
  #open;
  #call = null;
  #got = null;

  constructor(open) {
    this.#open = open;
  }

  /** Sends a request and reads its answer: {status, field(name), body}. */
  call(bytes, limit) {
    this.socket ??= this.#connect();
    return new Promise((resolve, reject) => {
      const late = () => this.socket?.destroy(new Error(`no answer in ${Math.round(limit)} ms`));
      this.#call = { resolve, reject, timer: setTimeout(late, limit) };
      this.socket.write(bytes);
    });
  }

  #connect() {
    const socket = this.#open().setNoDelay(true).setKeepAlive(true, 1000);
    let failure = new Error('the service ended the connection');
    socket.on('data', (piece) => this.#data(socket, piece));
    socket.on('end', () => socket.destroy());
    socket.on('error', (error) => { failure = error; });
    return socket.on('close', () => {
      this.socket = this.#got = null;
      const sent = !['connect', 'getaddrinfo'].includes(failure.syscall);
      this.#end()?.reject(new Unreachable(failure, sent));
    });
  }

  #data(socket, piece) {
    this.#got = this.#got ? Buffer.concat([this.#got, piece]) : piece;
    const end = this.#got.indexOf('\r\n\r\n');
    if (this.#call && end < 0) return;
    const head = this.#got.latin1Slice(0, end + 2);
    const field = (name) => new RegExp(`^${name}: *(.*?) *\r$`, 'im').exec(head)?.[1];
    const length = Number(field('content-length'));
    if (!this.#call || !head.startsWith('HTTP/1.1 ') || Number.isNaN(length)) {
      socket.destroy(new Error('this is no onceguard serve'));
      return;
    }
    const body = this.#got.subarray(end + 4);
    if (body.length < length) return;
    this.#got = null;
    if (body.length > length || field('connection') === 'close') socket.destroy();
    const status = Number(head.slice(9, 12));
    this.#end().resolve({ status, field, body: body.subarray(0, length) });
  }

  #end() {
    const call = this.#call;
    this.#call = null;
    clearTimeout(call?.timer);
    return call;
  }
}

/** How connections are opened, and what `Host` says. */
function address(url, more) {
  const path = /^unix:(\/.*)$/.exec(url)?.[1];
  if (path) return [() => net.connect(path), 'localhost'];
  const { protocol, hostname, port, host } = new URL(url);
  const name = hostname.replace(/^\[|\]$/g, '');
  const servername = net.isIP(name) ? '' : name;
  const secure = { host: name, port: Number(port || 443), servername, ...more };
  if (protocol === 'http:') return [() => net.connect(Number(port || 80), name), host];
  if (protocol === 'https:') return [() => tls.connect(secure), host];
  throw new TypeError(`onceguard: url: unix:/path, http:// or https://, not ${url}`);
}

/** The service, and the connections to it that no operation has. */
class Service {
  #idle = [];
  #closed = false;
  #open;
  #fields;

  constructor({ url, token, tls: more }) {
    const [open, host] = address(url, more);
    this.#open = open;
    this.#fields = `HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${FRAMED}\r\nAccept: ${FRAMED}\r\n`
      + `${token ? `Authorization: Bearer ${token}\r\n` : ''}Content-Length: `;
  }

  /** A connection for one operation alone, until it is given back. */
  take() {
    const line = this.#idle.pop() ?? new Line(this.#open);
    line.socket?.ref();
    return line;
  }

  give(line) {
    line.socket?.unref();
    if (this.#closed || this.#idle.length >= MOST_IDLE) line.socket?.destroy();
    else this.#idle.push(line);
  }

  close() {
    this.#closed = true;
    for (const line of this.#idle.splice(0)) line.socket?.destroy();
  }

  /** One call. Throws Unreachable where no answer came, Refused where the service refuses it. */
  async call(line, path, message, body, limit) {
    const object = JSON.stringify(message);
    const size = Buffer.byteLength(object) + 1 + (body?.length ?? 0);
    const head = Buffer.from(`POST ${path} ${this.#fields}${size}\r\n\r\n${object}\n`);
    return read(await line.call(body?.length ? Buffer.concat([head, body]) : head, limit));
  }
}

/** The object of an answer, with its body where it belongs. */
function read({ status, field, body }) {
  const end = body.indexOf(10);
  const framed = field('content-type') === FRAMED && end >= 0;
  let message;
  try {
    message = JSON.parse(framed ? body.utf8Slice(0, end) : body);
  } catch (cause) {
    throw new Unreachable(cause, true);
  }
  if (status !== 200) {
    const retryAfter = field('retry-after') && 1000 * Number(field('retry-after'));
    const kind = message.type?.split(/[:/]/).pop() ?? String(status);
    throw new Refused(kind, message.detail, { status, retryable: status === 503, retryAfter });
  }
  const owner = message.reply ?? message.answer;
  if (owner) owner.body = framed ? body.subarray(end + 1) : Buffer.from(owner.body ?? '');
  return message;
}

module.exports = { Service };
