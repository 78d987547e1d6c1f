'use strict';
// An `onceguard serve` that says what a test has it say.
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');

const FRAMED = 'application/vnd.onceguard.framed';

/** What it answers to a claim that may run. */
const RUN = {
  verdict: 'run',
  operation: 'op1',
  lease: 'OG1-lease',
  token: 7,
  attempt: 1,
  lease_ms: 30_000,
  headers: [
    ['Onceguard-Token', '7'],
    ['Onceguard-Attempt', '1'],
  ],
  answer_limit: 1000,
};
const SETTLED = { outcome: 'settled' };

/** A message with its body, as it came. */
function parse(bytes, type) {
  if (type === 'application/json') return JSON.parse(bytes);
  const end = bytes.indexOf(10);
  return { ...JSON.parse(bytes.subarray(0, end)), bytes: bytes.subarray(end + 1) };
}

/** Answers a call. */
function reply(response, { status = 200, ...object }, body = '') {
  const whole = Buffer.concat([Buffer.from(`${JSON.stringify(object)}\n`), Buffer.from(body)]);
  response.writeHead(status, { 'Content-Type': FRAMED, 'Content-Length': whole.length });
  response.end(whole);
}

class Scripted {
  calls = []; // {path, message, connection}
  connections = [];
  #rules = [];

  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'onceguard-node-'));
    this.socket = path.join(this.folder, 's');
    this.url = `unix:${this.socket}`;
    this.server = http.createServer((request, response) => this.#answer(request, response));
    this.server.on('connection', (socket) => this.connections.push(socket));
  }

  async start() {
    await new Promise((done) => this.server.listen(this.socket, done));
    return this;
  }

  /** The next call whose path ends so is answered so: an object, bytes behind it, or a function. */
  next(end, ...answer) {
    this.#rules.push([end, answer]);
    return this;
  }

  kinds() {
    return this.calls.map(({ path: where }) => where.split('/').pop());
  }

  async #answer(request, response) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const message = parse(Buffer.concat(pieces), request.headers['content-type']);
    const connection = this.connections.indexOf(request.socket);
    this.calls.push({ path: request.url, headers: request.headers, message, connection });
    const at = this.#rules.findIndex(([end]) => request.url.endsWith(end));
    const [answer, body] =
      at < 0 ? [{ status: 404, type: 'urn:x:not-found' }] : this.#rules.splice(at, 1)[0][1];
    if (typeof answer === 'function') return answer(request, response, message);
    return reply(response, answer, body);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The connection ends, and nobody knows whether the call was heard. */
const lost = (request) => request.socket.destroy();
/** It is never answered. */
const hangs = () => {};

const until = async (condition) => {
  while (!condition()) await new Promise(setImmediate);
};

module.exports = { RUN, SETTLED, Scripted, hangs, lost, reply, until };
