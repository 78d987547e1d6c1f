'use strict';
// A guarded server beside a scripted service, and a client that reads whole answers.
const { once } = require('node:events');
const http = require('node:http');
const { afterEach, beforeEach } = require('node:test');
const onceguard = require('../index.js');
const { Scripted, until } = require('./scripted.js');

/** What a test has: fresh for each. */
const at = { service: null, client: null };
let closing;

beforeEach(async () => {
  at.service = await new Scripted().start();
  at.client = onceguard.connect({ url: at.service.url, timeout: 600 });
  closing = [() => at.client.close(), () => at.service.stop()];
});
afterEach(async () => {
  for (const close of closing) await close();
});

/** A server with this listener; its port. */
async function listen(listener) {
  const server = http.createServer(listener);
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

/** A server whose handler is guarded. */
const serve = (handle, options = {}, guard = at.client) => listen(guard.listener(handle, options));

function begin(
  port,
  { method = 'POST', path = '/pay?x=1', headers = {}, pieces = ['{"a":1}'] } = {},
) {
  const request = http.request({
    port,
    method,
    path,
    headers: { 'Idempotency-Key': '"k"', ...headers },
  });
  for (const piece of pieces) request.write(piece);
  return request;
}

/** Sends a request, and reads the whole answer. */
async function ask(port, how) {
  const request = begin(port, how);
  request.end();
  const [response] = await once(request, 'response');
  const pieces = [];
  for await (const piece of response) pieces.push(piece);
  return {
    status: response.statusCode,
    headers: response.headers,
    raw: response.rawHeaders,
    body: Buffer.concat(pieces),
  };
}

const bodyOf = async (request) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
};

module.exports = { ask, at, begin, bodyOf, listen, serve, until };
