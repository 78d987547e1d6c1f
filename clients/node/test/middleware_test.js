'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { afterEach, beforeEach, test } = require('node:test');
const onceguard = require('../index.js');
const { RUN, SETTLED, Scripted } = require('./scripted.js');

let service;
let client;
let closing;

beforeEach(async () => {
  service = await new Scripted().start();
  client = onceguard.connect({ url: service.url, timeout: 600 });
  closing = [() => client.close(), () => service.stop()];
});
afterEach(async () => {
  for (const close of closing) await close();
});

/** A server whose listener is guarded; its port. */
async function serve(handle, options = {}, guard = client) {
  const server = http.createServer(guard.listener(handle, options));
  closing.push(() => { server.closeAllConnections(); server.close(); });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

function begin(port, { method = 'POST', path = '/pay?x=1', headers = {}, pieces = ['{"a":1}'] } = {}) {
  const request = http.request({ port, method, path, headers: { 'Idempotency-Key': '"k"', ...headers } });
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
  return { status: response.statusCode, headers: response.headers, raw: response.rawHeaders, body: Buffer.concat(pieces) };
}

const bodyOf = async (request) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
};
const until = async (condition) => {
  while (!condition()) await new Promise(setImmediate);
};

test('the request is described as it came, and its handler may read it', async () => {
  service.next('/operations', RUN).next('/complete', SETTLED);
  let seen;
  const port = await serve(async (request, response) => {
    seen = { body: await bodyOf(request), headers: request.headers, raw: request.rawHeaders, onceguard: request.onceguard };
    response.end('paid');
  });
  const body = Buffer.from([123, 10, 0, 255]);
  const headers = { 'X-Twice': ['a', 'b'], 'Onceguard-Token': '99', 'Onceguard-Scope': 'x', 'X-Latin': 'caf\xe9' };
  const answer = await ask(port, { headers, pieces: [body] });
  assert.equal(answer.body.toString(), 'paid');
  const { request, bytes } = service.calls[0].message;
  assert.deepEqual([request.method, request.target, request.client_address], ['POST', '/pay?x=1', '127.0.0.1']);
  assert.deepEqual(bytes, body);
  const sent = request.headers.filter(([name]) => !['Host', 'Connection'].includes(name));
  assert.deepEqual(sent, [['Idempotency-Key', '"k"'], ['X-Twice', 'a'], ['X-Twice', 'b'], ['X-Latin', 'caf\xe9']]);
  assert.deepEqual(seen.body, body);
  assert.equal(seen.headers['onceguard-token'], '7');
  assert.equal(seen.headers['onceguard-scope'], undefined);
  assert.equal(seen.raw.filter((word) => /^onceguard-/i.test(word)).length, 2);
  const { lease, token, attempt, guarded } = seen.onceguard;
  assert.deepEqual([lease, token, attempt, guarded], ['OG1-lease', 7, 1, true]);
});

for (const [name, pieces] of [['none', []], ['one piece', ['x'.repeat(10)]], ['many pieces', Array(50).fill('y'.repeat(9000))]]) {
  test(`a chunked body of ${name}`, async () => {
    service.next('/operations', RUN).next('/complete', SETTLED);
    const port = await serve(async (request, response) => response.end(String((await bodyOf(request)).length)));
    const answer = await ask(port, { headers: { 'Transfer-Encoding': 'chunked' }, pieces });
    assert.equal(answer.body.toString(), String(pieces.join('').length));
    assert.equal(service.calls[0].message.bytes.toString(), pieces.join(''));
  });
}

test('a body that another parser has read is taken from there, or asked for', async () => {
  service.next('/operations', RUN).next('/complete', SETTLED);
  const errors = [];
  const guarded = client.listener((request, response) => response.end('ran'), { onError: (error) => errors.push(error) });
  let kept = true;
  const server = http.createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (kept) onceguard.keepRawBody(request, response, body);
    guarded(request, response);
  });
  closing.push(() => { server.closeAllConnections(); server.close(); });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  assert.equal((await ask(port)).body.toString(), 'ran');
  assert.equal(service.calls[0].message.bytes.toString(), '{"a":1}');
  assert.equal((await ask(port, { headers: { 'Content-Encoding': 'gzip' } })).status, 500);
  kept = false;
  assert.equal((await ask(port)).status, 500);
  assert.match(errors[1].message, /before express\.json\(\)/);
  assert.equal(service.calls.length, 2);
});

test('the answer waits for its settle, and has all its fields', async () => {
  let settle;
  service.next('/operations', RUN).next('/complete', (_, response) => { settle = response; });
  const port = await serve((request, response) => {
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    response.writeHead(201, 'Made', ['Link', '<1>', 'Link', '<2>', 'Onceguard-Outcome', 'done']);
    assert.equal(response.headersSent, true);
    response.write('one ');
    response.end('two');
    assert.equal(response.writableEnded, true);
    response.end('three');
    response.setHeader('Late', 'x');
  });
  const request = begin(port);
  request.end();
  let answered = false;
  const response = once(request, 'response').then(([one]) => { answered = true; return one; });
  await until(() => settle);
  await new Promise((done) => { setTimeout(done, 50); });
  assert.equal(answered, false);
  const { answer, bytes, streamed } = service.calls[1].message;
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.headers, [['Set-Cookie', 'a=1'], ['Set-Cookie', 'b=2'], ['Link', '<1>'], ['Link', '<2>'], ['Onceguard-Outcome', 'done']]);
  assert.deepEqual([bytes.toString(), streamed], ['one two', undefined]);
  settle.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 21 }).end('{"outcome":"settled"}');
  const got = await response;
  assert.deepEqual([got.statusCode, got.statusMessage, got.headers.link, got.headers['content-length']], [201, 'Made', '<1>, <2>', '7']);
  assert.deepEqual([got.headers.late, got.headers['onceguard-outcome']], [undefined, undefined]);
  assert.equal((await bodyOf(got)).toString(), 'one two');
});

test('a replay is sent as it is, over fields of the same names', async () => {
  const headers = [['Link', '<1>'], ['Link', '<2>'], ['X-Server', 'stored'], ['Idempotent-Replayed', 'true']];
  service.next('/operations', { verdict: 'replay', reply: { status: 202, headers }, newer: [] }, Buffer.from([0, 10, 255]));
  const guarded = client.listener(() => assert.fail('ran'));
  const server = http.createServer((request, response) => {
    response.setHeader('X-Server', 'now');
    response.setHeader('X-Other', 'kept');
    guarded(request, response);
  });
  closing.push(() => { server.closeAllConnections(); server.close(); });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const answer = await ask(server.address().port);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.body, Buffer.from([0, 10, 255]));
  const { link, 'x-server': own, 'x-other': other } = answer.headers;
  assert.deepEqual([link, own, other], ['<1>, <2>', 'stored', 'kept']);
});

test('another answer is sent where the settle has one', async () => {
  const port = await serve((request, response) => {
    response.writeHead(200, { 'X-Mine': '1', 'Content-Length': '4' });
    response.end('mine');
  });
  for (const outcome of ['settled', 'replay', 'superseded', 'unrecorded']) {
    service.next('/operations', RUN).next('/complete', { outcome, reply: { status: 409, headers: [['X-Other', '1']] } }, 'other one');
    const answer = await ask(port);
    assert.deepEqual([answer.status, answer.body.toString(), answer.headers['x-mine']], [409, 'other one', undefined]);
  }
  service.next('/operations', RUN).next('/complete', { outcome: 'newer' });
  assert.equal(JSON.parse((await ask(port)).body).type, 'urn:onceguard:problem:outcome-unknown');
  service.next('/operations', { verdict: 'newer' });
  assert.equal(JSON.parse((await ask(port)).body).type, 'urn:onceguard:problem:outcome-unknown');
});

test('an answer that nobody could be told of is never sent', async () => {
  service.next('/operations', RUN).next('/complete', { status: 404, type: 'x:not-found', detail: '' });
  const port = await serve((request, response) => response.end('mine'));
  const answer = await ask(port);
  assert.deepEqual([answer.status, answer.headers['retry-after'], answer.headers['onceguard-retry']], [503, '1', 'same-key']);
  assert.equal(JSON.parse(answer.body).type, 'urn:onceguard:problem:store-unreachable');
});

for (const [name, handle] of [
  ['a long one', (response) => { response.write('x'.repeat(900)); response.end('y'.repeat(900)); }],
  ['a long one at once', (response) => response.end('x'.repeat(900) + 'y'.repeat(900))],
  ['one of a stream', async (response) => {
    const written = () => new Promise((done) => { response.write('x'.repeat(9), done); });
    for (let at = 0; at < 100; at += 1) await written();
    if (!response.write('y'.repeat(900))) await once(response, 'drain');
    response.end();
  }],
]) {
  test(`an answer over the limit is done, and goes out: ${name}`, async () => {
    service.next('/operations', RUN).next('/complete', SETTLED);
    const port = await serve((request, response) => handle(response));
    assert.equal((await ask(port)).body.toString(), 'x'.repeat(900) + 'y'.repeat(900));
    const { streamed, bytes, answer } = service.calls[1].message;
    assert.deepEqual([streamed, bytes.length, answer.status], [true, 0, 200]);
  });
}

for (const [name, start] of [
  ['events', (response) => { response.setHeader('Content-Type', 'text/event-stream'); response.write('data: 1\n\n'); }],
  ['a flushed head', (response) => { response.flushHeaders(); response.write('data: 1\n\n'); }],
]) {
  test(`${name} go out as they come, once it is settled`, async () => {
    service.next('/operations', RUN).next('/complete', SETTLED);
    let response;
    const port = await serve((request, own) => { response = own; start(own); });
    const request = begin(port);
    request.end();
    const [got] = await once(request, 'response');
    const [piece] = await once(got, 'data');
    assert.equal(piece.toString(), 'data: 1\n\n');
    assert.equal(service.calls[1].message.streamed, true);
    response.end('data: 2\n\n');
    assert.equal((await once(got, 'data'))[0].toString(), 'data: 2\n\n');
  });
}

test('a stream whose settle is refused goes to nobody', async () => {
  service.next('/operations', RUN).next('/complete', { outcome: 'superseded', reply: { status: 409, headers: [] } }, 'no');
  const port = await serve(async (request, response) => {
    if (!response.write('x'.repeat(2000))) await once(response, 'drain');
    response.write('more');
    response.end();
  });
  const answer = await ask(port);
  assert.deepEqual([answer.status, answer.body.toString()], [409, 'no']);
});

test('what handlers throw ends as it says', async () => {
  const { NotDone, TryLater } = onceguard;
  const told = [];
  let error;
  const handlers = [() => { throw error; }, async () => { throw error; }];
  for (const handle of handlers) {
    const port = await serve(handle, { onError: (one) => told.push(one) });
    for (const [thrown, kind, status] of [
      [new NotDone(), 'release', 503], [new TryLater('x', { backoff: 5 }), 'fail', 503], [new Error('x'), 'exception', 500],
      [Object.assign(new Error('no'), { status: 404 }), 'complete', 404], [undefined, 'exception', 500],
    ]) {
      error = thrown;
      service.next('/operations', RUN).next(kind, SETTLED);
      assert.equal((await ask(port)).status, status);
      assert.equal(service.kinds().at(-1), kind);
      assert.equal(told.at(-1), thrown);
    }
  }
});

test('a handler that breaks off leaves the outcome unknown', async () => {
  for (const destroy of [(request) => request.socket.destroy(), (_, response) => response.destroy()]) {
    service.next('/operations', RUN).next('/abandon', SETTLED);
    const port = await serve(destroy);
    await assert.rejects(ask(port));
    await until(() => service.kinds().at(-1) === 'abandon');
  }
});

for (const leave of ['end', 'resetAndDestroy', 'destroy']) {
  test(`a client that leaves (${leave}) does not end the work`, async () => {
    service.next('/operations', RUN).next('/complete', SETTLED);
    let response;
    const port = await serve((request, own) => { response = own; });
    const socket = net.connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\nhi');
    await until(() => response);
    const left = once(response, 'close');
    socket[leave]();
    await left;
    response.end('done');
    await until(() => service.kinds().at(-1) === 'complete');
    assert.equal(service.calls[1].message.bytes.toString(), 'done');
  });
}

test('half a body claims nothing', async () => {
  const port = await serve(() => assert.fail('ran'));
  for (const fields of ['Content-Length: 20', 'Transfer-Encoding: chunked']) {
    const socket = net.connect(port, '127.0.0.1');
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n${fields}\r\n\r\n5\r\nhello`);
    await new Promise((done) => { setTimeout(done, 50); });
    socket.destroy();
    await new Promise((done) => { setTimeout(done, 50); });
  }
  assert.deepEqual(service.calls, []);
});

test('a body over the limit is refused, whether it says so or not', async () => {
  const port = await serve(() => assert.fail('ran'), { maxRequestBody: 1000 });
  for (const headers of [{ 'Content-Length': 1001 }, { 'Transfer-Encoding': 'chunked' }]) {
    const answer = await ask(port, { headers, pieces: ['x'.repeat(1001)] });
    assert.deepEqual([answer.status, answer.headers.connection], [413, 'close']);
  }
  assert.deepEqual(service.calls, []);
  service.next('/operations', RUN).next('/complete', SETTLED);
  const exact = await serve((request, response) => response.end('ran'), { maxRequestBody: 1000 });
  assert.equal((await ask(exact, { pieces: ['x'.repeat(1000)] })).status, 200);
});

test('safe methods pass without a call, but for what only Onceguard says', async () => {
  const port = await serve((request, response) => response.end(String(request.headers['onceguard-token'])));
  assert.equal((await ask(port, { method: 'GET', headers: { 'Onceguard-Token': '1' }, pieces: [] })).body.toString(), 'undefined');
  assert.equal((await ask(port, { method: 'HEAD', pieces: [] })).status, 200);
  assert.deepEqual(service.calls, []);
});

test('what is not guarded runs, and settles nothing', async () => {
  const port = await serve((request, response) => response.end(request.headers['onceguard-unguarded'] ?? String(request.onceguard.guarded)));
  service.next('/operations', { verdict: 'pass' });
  assert.equal((await ask(port)).body.toString(), 'false');
  service.next('/operations', { verdict: 'unguarded', headers: [['Onceguard-Unguarded', 'store']] });
  assert.equal((await ask(port)).body.toString(), 'store');
  assert.deepEqual(service.kinds(), ['operations', 'operations']);
  service.next('/operations', { verdict: 'observe', operation: 'op9' }).next('/op9/complete', SETTLED);
  assert.equal((await ask(port)).body.toString(), 'false');
  await until(() => service.calls.length === 4);
  assert.deepEqual([service.calls[3].message.answer.status, service.calls[3].message.streamed], [200, true]);
});

test('a service that is away: 503, or unguarded where that is asked for', async () => {
  const where = { url: 'unix:/nowhere/onceguard.sock' };
  const closed = await serve(() => assert.fail('ran'), {}, onceguard.connect(where));
  const answer = await ask(closed);
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '1']);
  assert.equal(JSON.parse(answer.body).retryable, true);
  const open = await serve((request, response) => response.end(request.headers['onceguard-unguarded']), {},
    onceguard.connect({ ...where, open: true }));
  assert.equal((await ask(open)).body.toString(), 'service');
});

test('a service that refuses its client is a fault of the setup', async () => {
  const errors = [];
  const port = await serve(() => assert.fail('ran'), { onError: (error) => errors.push(error) });
  service.next('/operations', { status: 401, type: 'x:unauthorized', detail: 'which token?' });
  assert.equal((await ask(port)).status, 500);
  assert.equal(errors[0].cause.kind, 'unauthorized');
});
