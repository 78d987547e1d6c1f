'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { test } = require('node:test');
const onceguard = require('../index.js');
const { ask, at, begin, bodyOf, listen, serve } = require('./guarded.js');
const { RUN, SETTLED, reply, until } = require('./scripted.js');

test('the request is described as it came, and its handler may read it', async () => {
  at.service.next('/operations', RUN).next('/complete', SETTLED);
  let seen;
  const port = await serve(async (request, response) => {
    seen = {
      body: await bodyOf(request),
      headers: request.headers,
      raw: request.rawHeaders,
      onceguard: request.onceguard,
    };
    response.end('paid');
  });
  const body = Buffer.from([123, 10, 0, 255]);
  const headers = {
    'X-Twice': ['a', 'b'],
    'Onceguard-Token': '99',
    'Onceguard-Scope': 'x',
    'X-Latin': 'caf\xe9',
  };
  const answer = await ask(port, { headers, pieces: [body] });
  assert.equal(answer.body.toString(), 'paid');
  const { request, bytes } = at.service.calls[0].message;
  assert.deepEqual(
    [request.method, request.target, request.client_address],
    ['POST', '/pay?x=1', '127.0.0.1'],
  );
  assert.deepEqual(bytes, body);
  const sent = request.headers.filter(([name]) => !['Host', 'Connection'].includes(name));
  assert.deepEqual(sent, [
    ['Idempotency-Key', '"k"'],
    ['X-Twice', 'a'],
    ['X-Twice', 'b'],
    ['X-Latin', 'caf\xe9'],
  ]);
  assert.deepEqual(seen.body, body);
  assert.equal(seen.headers['onceguard-token'], '7');
  assert.equal(seen.headers['onceguard-scope'], undefined);
  assert.equal(seen.raw.filter((word) => /^onceguard-/i.test(word)).length, 2);
  const { lease, token, attempt, guarded } = seen.onceguard;
  assert.deepEqual([lease, token, attempt, guarded], ['OG1-lease', 7, 1, true]);
});

for (const [name, pieces] of [
  ['none', []],
  ['one piece', ['x'.repeat(10)]],
  ['many pieces', Array(50).fill('y'.repeat(9000))],
]) {
  test(`a chunked body of ${name}`, async () => {
    at.service.next('/operations', RUN).next('/complete', SETTLED);
    const port = await serve(async (request, response) =>
      response.end(String((await bodyOf(request)).length)),
    );
    const answer = await ask(port, { headers: { 'Transfer-Encoding': 'chunked' }, pieces });
    assert.equal(answer.body.toString(), String(pieces.join('').length));
    assert.equal(at.service.calls[0].message.bytes.toString(), pieces.join(''));
  });
}

test('a body that another parser has read is taken from there, or asked for', async () => {
  at.service.next('/operations', RUN).next('/complete', SETTLED);
  const errors = [];
  const guarded = at.client.listener((request, response) => response.end('ran'), {
    onError: (error) => errors.push(error),
  });
  let kept = true;
  const port = await listen(async (request, response) => {
    const body = await bodyOf(request);
    if (kept) onceguard.keepRawBody(request, response, body);
    guarded(request, response);
  });
  assert.equal((await ask(port)).body.toString(), 'ran');
  assert.equal(at.service.calls[0].message.bytes.toString(), '{"a":1}');
  assert.equal((await ask(port, { headers: { 'Content-Encoding': 'gzip' } })).status, 500);
  kept = false;
  assert.equal((await ask(port)).status, 500);
  assert.match(errors[1].message, /before express\.json\(\)/);
  assert.equal(at.service.calls.length, 2);
});

test('a chunked body of none ends for later listeners, too', async () => {
  at.service.next('/operations', RUN).next('/complete', SETTLED);
  const port = await serve((request, response) => {
    request.on('end', () => response.end('ended')).resume();
  });
  const socket = net.connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n');
  socket.write('Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /200 OK[^]*ended$/);
  socket.destroy();
});

test('half a body claims nothing', async () => {
  const port = await serve(() => assert.fail('ran'));
  for (const fields of ['Content-Length: 20', 'Transfer-Encoding: chunked']) {
    const socket = net.connect(port, '127.0.0.1');
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n${fields}\r\n\r\n5\r\nhello`);
    await new Promise((done) => {
      setTimeout(done, 50);
    });
    socket.destroy();
    await new Promise((done) => {
      setTimeout(done, 50);
    });
  }
  assert.deepEqual(at.service.calls, []);
});

test('a client that leaves while its key is claimed leaves the key free', async () => {
  let claim;
  at.service.next('/release', SETTLED).next('/operations', (_, response) => {
    claim = response;
  });
  let left;
  const guarded = at.client.listener(() => assert.fail('ran'));
  const port = await listen((request, response) => {
    response.once('close', () => {
      left = true;
    });
    guarded(request, response);
  });
  const request = begin(port);
  request.on('error', () => {}).end();
  await until(() => claim);
  request.destroy();
  await until(() => left);
  reply(claim, RUN);
  await until(() => at.service.kinds().at(-1) === 'release');
});

test('a body over the limit stays with the handler, where it is not guarded', async () => {
  const options = { maxRequestBody: 1000 };
  const handle = async (request, response) => response.end(String((await bodyOf(request)).length));
  const port = await serve(handle, options);
  for (const headers of [{ 'Content-Length': 90000 }, { 'Transfer-Encoding': 'chunked' }]) {
    at.service.next('/operations', { verdict: 'pass' });
    const answer = await ask(port, { headers, pieces: Array(10).fill('x'.repeat(9000)) });
    assert.equal(answer.body.toString(), '90000');
    const { request, bytes } = at.service.calls.at(-1).message;
    assert.deepEqual([request.body_omitted, bytes.length], [true, 0]);
    at.service.next('/operations', { verdict: 'refused', reply: { status: 413, headers: [] } });
    const refused = await ask(port, { headers, pieces: Array(10).fill('x'.repeat(9000)) });
    assert.deepEqual([refused.status, refused.headers.connection], [413, 'close']);
  }
  at.service.next('/operations', { status: 413, type: 'x:body-too-large', detail: '' });
  assert.equal((await ask(port)).status, 413);
  at.service.next('/operations', RUN).next('/complete', SETTLED);
  const exact = await serve((request, response) => response.end('ran'), { maxRequestBody: 1000 });
  assert.equal((await ask(exact, { pieces: ['x'.repeat(1000)] })).status, 200);
});

test('safe methods pass without a call, but for what only Onceguard says', async () => {
  const port = await serve((request, response) =>
    response.end(String(request.headers['onceguard-token'])),
  );
  assert.equal(
    (
      await ask(port, { method: 'GET', headers: { 'Onceguard-Token': '1' }, pieces: [] })
    ).body.toString(),
    'undefined',
  );
  assert.equal((await ask(port, { method: 'HEAD', pieces: [] })).status, 200);
  assert.deepEqual(at.service.calls, []);
});

test('what is guarded already is not claimed again', async () => {
  at.service.next('/operations', RUN).next('/complete', SETTLED);
  const inner = at.client.listener((request, response) =>
    response.end(`${request.onceguard.guarded} ${request.headers['onceguard-token']}`),
  );
  const port = await serve(inner);
  assert.equal((await ask(port)).body.toString(), 'true 7');
  assert.deepEqual(at.service.kinds(), ['operations', 'complete']);
});

test('what is not guarded runs, and settles nothing', async () => {
  const port = await serve((request, response) =>
    response.end(request.headers['onceguard-unguarded'] ?? String(request.onceguard.guarded)),
  );
  at.service.next('/operations', { verdict: 'pass' });
  assert.equal((await ask(port)).body.toString(), 'false');
  at.service.next('/operations', {
    verdict: 'unguarded',
    headers: [['Onceguard-Unguarded', 'store']],
  });
  assert.equal((await ask(port)).body.toString(), 'store');
  assert.deepEqual(at.service.kinds(), ['operations', 'operations']);
  at.service
    .next('/operations', { verdict: 'observe', operation: 'op9' })
    .next('/op9/complete', SETTLED);
  assert.equal((await ask(port)).body.toString(), 'false');
  await until(() => at.service.calls.length === 4);
  assert.deepEqual(
    [at.service.calls[3].message.answer.status, at.service.calls[3].message.streamed],
    [200, true],
  );
});

test('a service that is away: 503, or unguarded where that is asked for', async () => {
  const where = { url: 'unix:/nowhere/onceguard.sock' };
  const closed = await serve(() => assert.fail('ran'), {}, onceguard.connect(where));
  const answer = await ask(closed);
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '1']);
  assert.equal(JSON.parse(answer.body).retryable, true);
  const open = await serve(
    (request, response) => response.end(request.headers['onceguard-unguarded']),
    {},
    onceguard.connect({ ...where, open: true }),
  );
  assert.equal((await ask(open)).body.toString(), 'service');
});

test('a service that refuses its client is a fault of the setup', async () => {
  const errors = [];
  const port = await serve(() => assert.fail('ran'), { onError: (error) => errors.push(error) });
  at.service.next('/operations', { status: 401, type: 'x:unauthorized', detail: 'which token?' });
  assert.equal((await ask(port)).status, 500);
  assert.equal(errors[0].cause.kind, 'unauthorized');
});

test('a request that the service can not read is the fault of its client', async () => {
  const detail = 'request.target: expected a path';
  const type = 'urn:onceguard:problem:bad-request';
  at.service.next('/operations', { status: 400, type, detail });
  const answer = await ask(await serve(() => assert.fail('ran')), { path: '/a\\b' });
  assert.equal(answer.status, 400);
  const said = JSON.parse(answer.body);
  assert.deepEqual([said.type, said.detail], [type, detail]);
});
