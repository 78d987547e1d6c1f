'use strict';
const net = require('node:net');
const tls = require('node:tls');
const { isUtf8 } = require('node:buffer');
const { Refused, Unreachable } = require('./errors.js');
const { Line } = require('./line.js');

const FRAMED = 'application/vnd.onceguard.framed';
const MOST_CALLS = 256; // of a batch
const MOST_BYTES = 32 << 10; // of bodies in it; a longer one goes alone, as it is
const PATIENCE = 20; // ms that calls wait for those before them

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

/** Calls of one kind: what becomes ready while others are under way goes as one message. */
class Queue {
  #send;
  #waiting = [];
  #underWay = 0;
  #timer = null;

  constructor(send) {
    this.#send = send;
  }

  add(call) {
    this.#waiting.push(call);
    if (this.#waiting.length > 1) return;
    if (this.#underWay === 0) setImmediate(this.#flush); // with what this turn brings besides
    else this.#timer = setTimeout(this.#flush, PATIENCE);
  }

  #flush = () => {
    clearTimeout(this.#timer);
    while (this.#waiting.length > 0) {
      let [count, bytes] = [0, 0];
      for (const { body } of this.#waiting) {
        bytes += body?.length ?? 0;
        if (count === MOST_CALLS || (count > 0 && bytes > MOST_BYTES)) break;
        count += 1;
      }
      this.#underWay += 1;
      this.#send(this.#waiting.splice(0, count)).then(this.#over);
    }
  };

  #over = () => {
    this.#underWay -= 1;
    if (this.#waiting.length > 0) setImmediate(this.#flush);
  };
}

/** The service, by the connections to it. */
class Service {
  #idle = [];
  #lines = new Set();
  #closed = false;
  #open;
  #fields;
  #queues = {}; // by the kind of call: what ends an operation never waits for a claim

  constructor({ url, token, tls: more }) {
    const [open, host] = address(url, more);
    this.#open = open;
    this.#fields = `HTTP/1.1\r\nHost: ${host}\r\nAccept: ${FRAMED}\r\n`
      + `${token ? `Authorization: Bearer ${token}\r\n` : ''}`;
  }

  /**
   * Asks for an operation, or tells of one: the service's answer and the connection. Throws
   * Unreachable where none came, and Refused. `body` is that of `of`, an object in the message.
   * A call that goes alone may take its time; a fresh one has a new connection. What ends an
   * operation goes to the process that has its lease, where that is one that drains.
   */
  call(kind, operation, message, { of, body, limit, alone = false, fresh = false, line }) {
    return new Promise((resolve, reject) => {
      const call = { kind, operation, message, of, body, limit, fresh, resolve, reject };
      if (line?.draining && line.free) this.#send([call], line);
      else if (alone) this.#send([call]);
      else (this.#queues[kind] ??= new Queue((calls) => this.#send(calls))).add(call);
    });
  }

  /** Ends the connections that no operation has. */
  close() {
    this.#closed = true;
    for (const line of this.#idle.filter(({ leases }) => leases.size === 0)) line.close();
  }

  #take(fresh) {
    const kept = fresh ? undefined : this.#idle.pop();
    if (kept) return kept;
    const gone = (line) => {
      this.#lines.delete(line);
      this.#idle = this.#idle.filter((other) => other !== line);
    };
    const made = new Line(this.#open(), gone);
    this.#lines.add(made);
    return made;
  }

  #give(line) {
    if (this.#closed && line.leases.size === 0) line.close();
    if (line.draining) setImmediate(() => line.retire()); // leases that it brought are known then
    else if (!line.closed) this.#idle.push(line);
  }

  /** One of these connections is to a process that drains, and so are the others, probably. */
  #leave(lines) {
    for (const line of lines) line.draining = true;
    for (const line of this.#idle.filter(({ draining }) => draining)) this.#give(line);
    this.#idle = this.#idle.filter(({ draining }) => !draining);
  }

  async #send(calls, line) {
    const one = calls.length === 1;
    const limit = calls.reduce((least, call) => Math.min(least, call.limit), Infinity);
    try {
      line ??= this.#take(calls.some(({ fresh }) => fresh));
      const lines = [...this.#lines]; // later ones are to its successor
      const drains = () => this.#leave(lines);
      const answer = await line.call(one ? this.#single(calls[0]) : this.#batch(calls), limit);
      if (one) {
        answered(calls[0], line, () => single(answer), drains);
      } else if (answer.status === 400 || answer.status === 413) { // one of them spoils it
        for (const call of calls) this.#send([call]);
      } else {
        const all = single(answer).results; // or a refusal of them all
        calls.forEach((call, at) => answered(call, line, () => taken(all[at]), drains));
      }
    } catch (error) {
      if (!(error instanceof Refused)) line?.close();
      for (const call of calls) call.reject(refusal(error, line !== undefined));
    }
    if (line) this.#give(line);
  }

  #batch(calls) {
    const text = JSON.stringify({ calls: calls.map(({ kind, operation, message, of, body }) => {
      if (body?.length && isUtf8(body)) of.body = body.toString();
      else if (body?.length) of.body_base64 = body.toString('base64');
      return { call: kind, operation, ...message };
    }) });
    return this.#head('/v1/batch', 'application/json', Buffer.byteLength(text)) + text;
  }

  #single({ kind, operation, message, of, body = Buffer.alloc(0) }) {
    if (of) of.body = of.body_base64 = undefined;
    const object = `${JSON.stringify(message)}\n`;
    const path = operation ? `/v1/operations/${operation}/${kind}` : '/v1/operations';
    const head = this.#head(path, FRAMED, Buffer.byteLength(object) + body.length) + object;
    return body.length ? Buffer.concat([Buffer.from(head), body]) : head;
  }

  #head(path, type, size) {
    const fields = `${this.#fields}Content-Type: ${type}\r\nContent-Length: ${size}`;
    return `POST ${path} ${fields}\r\n\r\n`;
  }
}

/** What can't be read is no answer. */
const refusal = (error, sent = true) => (
  error instanceof Refused ? error : new Unreachable(error, sent));

function answered(call, line, read, drains) {
  try {
    call.resolve([read(), line]);
  } catch (error) {
    if (error.kind === 'draining' && !line.draining) drains();
    call.reject(refusal(error));
  }
}

/** The answer of a call that came alone. */
function single({ status, field, body }) {
  const end = body.indexOf(10);
  const framed = field('content-type') === FRAMED && end >= 0;
  const message = JSON.parse(framed ? body.utf8Slice(0, end) : body);
  const retryAfter = field('retry-after') && 1000 * Number(field('retry-after'));
  return taken({ ...message, status, retryAfter }, framed ? body.subarray(end + 1) : undefined);
}

/** The object of an answer, with its body where it belongs. */
function taken(message, body) {
  const { status, type, detail, retryAfter } = message;
  if (status !== 200) {
    const kind = type?.split(/[:/]/).pop() ?? String(status);
    throw new Refused(kind, detail, { status, retryable: status === 503, retryAfter });
  }
  const owner = message.reply ?? message.answer;
  if (owner) owner.body = body ?? Buffer.from(owner.body ?? '');
  if (owner?.body_base64) owner.body = Buffer.from(owner.body_base64, 'base64');
  return message;
}

module.exports = { Service };
