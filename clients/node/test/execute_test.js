'use strict';
const assert = require('node:assert/strict');
const { afterEach, beforeEach, test } = require('node:test');
const onceguard = require('../index.js');
const { RUN, SETTLED, Scripted, hangs, lost, reply, until } = require('./scripted.js');

const ORDER = { scope: 'customer-7', key: 'order-17', fingerprint: 'charge 1000 EUR' };
let service;
let client;

beforeEach(async () => {
  service = await new Scripted().start();
  client = onceguard.connect({ url: service.url, timeout: 600 });
});
afterEach(async () => {
  client.close();
  await service.stop();
});
const connectTo = (options) => onceguard.connect({ url: service.url, ...options });

test('work runs, and its result is stored as JSON', async () => {
  service.next('/operations', RUN).next('/op1/complete', SETTLED);
  const result = await client.execute(
    { ...ORDER, policy: 'payments' },
    ({ lease, token, attempt, guarded }) => {
      assert.deepEqual([lease, token, attempt, guarded], ['OG1-lease', 7, 1, true]);
      return { charged: 1000, at: new Date(0) };
    },
  );
  // As each repeat has it.
  assert.deepEqual(result, { charged: 1000, at: '1970-01-01T00:00:00.000Z' });
  const [claim, complete] = service.calls;
  assert.equal(claim.path, '/v1/operations');
  assert.match(claim.message.claim, /^[0-9a-f]{32}$/);
  const { scope, key, fingerprint, policy } = claim.message;
  assert.deepEqual({ scope, key, fingerprint, policy }, { ...ORDER, policy: 'payments' });
  assert.deepEqual(complete.message.answer, {
    status: 200,
    headers: [['Content-Type', 'application/json']],
  });
  assert.deepEqual(JSON.parse(complete.message.bytes), result);
});

for (const [what, stored, bytes, type] of [
  ['text', 'grüße', 'grüße', 'text/plain; charset=utf-8'],
  ['bytes', Buffer.from([0, 10, 255]), Buffer.from([0, 10, 255]), 'application/octet-stream'],
  ['null', null, 'null', 'application/json'],
]) {
  test(`a repeat gets ${what} as the first call did`, async () => {
    service.next('/operations', RUN).next('/complete', SETTLED);
    assert.deepEqual(await client.execute(ORDER, () => stored), stored);
    assert.deepEqual(service.calls[1].message.bytes, Buffer.from(bytes));
    const answer = { status: 200, headers: [['content-type', type]] };
    service.next('/operations', { verdict: 'replay', answer, kept: 'full', newer: 1 }, bytes);
    assert.deepEqual(await client.execute(ORDER, () => assert.fail('ran')), stored);
  });
}

test('nothing is a result, too', async () => {
  service.next('/operations', RUN).next('/complete', SETTLED);
  assert.equal(await client.execute(ORDER, () => {}), undefined);
  assert.equal(service.calls[1].message.answer.status, 204);
  service.next('/operations', { verdict: 'replay', answer: { status: 204, headers: [] } });
  assert.equal(await client.execute(ORDER, () => assert.fail('ran')), undefined);
});

test('a fingerprint of bytes', async () => {
  service.next('/operations', RUN).next('/complete', SETTLED);
  await client.execute({ ...ORDER, fingerprint: Buffer.from([255, 0]) }, () => 1);
  assert.equal(service.calls[0].message.fingerprint_base64, '/wA=');
  assert.equal(service.calls[0].message.fingerprint, undefined);
  await assert.rejects(
    client.execute({ ...ORDER, fingerprint: { amount: 1 } }, () => 1),
    TypeError,
  );
});

test('refusals are errors that say what to do', async () => {
  for (const verdict of ['busy', 'mismatch', 'backoff', 'unknown']) {
    const kind = verdict;
    const reply = { status: 409, headers: [] };
    const refusal = { verdict, kind, detail: 'x', retryable: true, retry_after_ms: 250, reply };
    service.next('/operations', refusal);
    if (verdict === 'busy') service.next('/operations', refusal); // once it has waited
    await assert.rejects(
      client.execute(ORDER, () => assert.fail('ran')),
      (error) =>
        error instanceof onceguard.Refused &&
        error.kind === kind &&
        error.retryable &&
        error.retryAfter === 250,
    );
  }
});

test('a verdict of a newer service is taken for unknown', async () => {
  service.next('/operations', { verdict: 'postponed', until: 'tomorrow' });
  await assert.rejects(
    client.execute(ORDER, () => assert.fail('ran')),
    { kind: 'unknown', retryable: false },
  );
});

test('an answer that was not kept is no result', async () => {
  service.next('/operations', {
    verdict: 'replay',
    answer: { status: 200, headers: [] },
    kept: 'status',
  });
  await assert.rejects(
    client.execute(ORDER, () => assert.fail('ran')),
    { kind: 'answer-not-kept' },
  );
});

test('work that threw ends as it says', async () => {
  const { NotDone, TryLater } = onceguard;
  for (const [error, kind, members] of [
    [new NotDone('no card'), 'release', {}],
    [new TryLater('busy', { backoff: 2500 }), 'fail', { backoff_ms: 2500 }],
    [new TryLater(), 'fail', {}],
    [new Error('broken'), 'exception', {}],
  ]) {
    service.next('/operations', RUN).next(kind, SETTLED);
    await assert.rejects(
      client.execute(ORDER, () => {
        throw error;
      }),
      error,
    );
    const { bytes, ...said } = service.calls.at(-1).message;
    assert.deepEqual(said, members);
    assert.equal(service.kinds().at(-1), kind);
  }
});

test('a result over the limit is done, and not kept', async () => {
  service.next('/operations', RUN).next('/complete', SETTLED);
  await client.execute(ORDER, () => 'x'.repeat(1001));
  assert.equal(service.calls[1].message.streamed, true);
  assert.equal(service.calls[1].message.bytes.length, 0);
});

test('the answer of another attempt is the result', async () => {
  service.next('/operations', RUN);
  service.next(
    '/complete',
    { outcome: 'replay', answer: { status: 200, headers: [['Content-Type', 'application/json']] } },
    '"first"',
  );
  assert.equal(await client.execute(ORDER, () => 'second'), 'first');
  for (const outcome of ['superseded', 'unrecorded', 'a newer one']) {
    service.next('/operations', RUN).next('/complete', { outcome, kind: 'x', detail: 'y' });
    await assert.rejects(
      client.execute(ORDER, () => 1),
      { kind: 'x' },
    );
  }
});

test('a claim in doubt is repeated as the same claim', async () => {
  service
    .next('/operations', lost)
    .next('/operations', lost)
    .next('/operations', RUN)
    .next('/complete', SETTLED);
  assert.equal(await client.execute(ORDER, () => 1), 1);
  const claims = service.calls.filter(({ path }) => path === '/v1/operations');
  assert.equal(claims.length, 3);
  assert.equal(new Set(claims.map(({ message }) => message.claim)).size, 1);
  assert.equal(new Set(claims.map(({ connection }) => connection)).size, 3);
});

test('half an answer leaves a claim in doubt', async () => {
  const half = (request, response) => {
    response.writeHead(200, { 'Content-Length': 100 });
    response.write('{"verdict":"run"', () => request.socket.destroy());
  };
  service.next('/operations', half).next('/operations', { verdict: 'pass' });
  assert.equal(await client.execute(ORDER, ({ guarded }) => guarded), false);
});

test('a claim in doubt is given up after the timeout', async () => {
  for (let i = 0; i < 20; i += 1) service.next('/operations', lost);
  const began = performance.now();
  await assert.rejects(
    client.execute(ORDER, () => assert.fail('ran')),
    (error) =>
      error instanceof onceguard.Unreachable && error.retryable && error.kind === 'store-failed',
  );
  assert.ok(performance.now() - began < 3000);
});

test('a claim that is never answered ends, too', async () => {
  const impatient = onceguard.connect({ url: service.url, timeout: 100, wait: 0 });
  service.next('/operations', hangs);
  await assert.rejects(
    impatient.execute(ORDER, () => assert.fail('ran')),
    { kind: 'store-failed', sent: true },
  );
  impatient.close();
});

test('a service that is away refuses, or lets work run where that is asked for', async () => {
  const where = { url: 'unix:/nowhere/onceguard.sock' };
  const closed = onceguard.connect(where);
  await assert.rejects(
    closed.execute(ORDER, () => assert.fail('ran')),
    { kind: 'store-failed', sent: false },
  );
  const open = onceguard.connect({ ...where, open: true });
  assert.equal(await open.execute(ORDER, ({ guarded }) => guarded), false);
});

test('a connection that can not even be opened is no answer', async () => {
  const secure = onceguard.connect({ url: 'https://127.0.0.1:1', tls: { cert: 'none', key: 'x' } });
  await assert.rejects(
    secure.execute(ORDER, () => assert.fail('ran')),
    (error) => error.kind === 'store-failed' && error.sent === false && error.cause !== undefined,
  );
});

test('refusals of the service itself', async () => {
  const open = onceguard.connect({ url: service.url, open: true });
  service.next('/operations', {
    status: 401,
    type: 'urn:onceguard:problem:unauthorized',
    detail: 'no token',
  });
  await assert.rejects(
    open.execute(ORDER, () => assert.fail('ran')),
    { kind: 'unauthorized', status: 401 },
  );
  service.next('/operations', {
    status: 503,
    type: 'urn:onceguard:problem:overloaded',
    detail: 'no room',
  });
  assert.equal(await open.execute(ORDER, () => 'ran'), 'ran');
  open.close();
});

test('a settle in doubt is repeated', async () => {
  service
    .next('/operations', RUN)
    .next('/complete', lost)
    .next('/complete', { status: 503, type: 'x:draining' });
  service.next('/complete', SETTLED);
  assert.equal(await client.execute(ORDER, () => 'once'), 'once');
  assert.deepEqual(service.kinds(), ['operations', 'complete', 'complete', 'complete']);
  assert.deepEqual(service.calls[3].message, service.calls[1].message);
});

test('a settle that the service does not know is no success', async () => {
  service
    .next('/operations', RUN)
    .next('/complete', { status: 404, type: 'x:not-found', detail: 'no such operation' });
  await assert.rejects(
    client.execute(ORDER, () => 1),
    { kind: 'not-found' },
  );
});

test('operations share connections', async () => {
  service.next('/operations', RUN).next('/operations', { ...RUN, operation: 'op2' });
  service.next('/op2/complete', SETTLED).next('/op1/complete', SETTLED);
  await client.execute(ORDER, async () => {
    await client.execute({ ...ORDER, key: 'other' }, () => 1);
  });
  const used = service.calls.map(({ connection }) => connection);
  assert.deepEqual(used, [0, 0, 0, 0]);
});

test('a twin is waited for on a connection of its own', async () => {
  const waits = connectTo({ wait: 70 });
  let waiting;
  service.next('/operations', { verdict: 'busy' }).next('/operations', (_, response) => {
    waiting = response;
  });
  const twin = waits.execute(ORDER, () => 'twin');
  await until(() => waiting);
  service.next('/operations', RUN).next('/complete', SETTLED);
  assert.equal(await waits.execute({ ...ORDER, key: 'other' }, () => 'other'), 'other');
  reply(waiting, { verdict: 'pass' });
  assert.equal(await twin, 'twin');
  const [first, second, third] = service.calls;
  assert.deepEqual([first.message.wait_ms, second.message.wait_ms], [0, 70]);
  assert.notEqual(first.message.claim, second.message.claim);
  assert.notEqual(second.connection, third.connection);
  waits.close();
});

test('a settle that the service refuses leaves the outcome unknown, at once', async () => {
  for (const status of [400, 413]) {
    service.next('/operations', RUN).next('/abandon', SETTLED);
    service.next('/complete', { status, type: 'x:bad-request', detail: 'answer: no' });
    const kind = 'unknown';
    await assert.rejects(client.execute(ORDER, () => 1), { kind, detail: 'answer: no' });
    assert.deepEqual(service.kinds().slice(-2), ['complete', 'abandon']);
  }
});

test('a lease goes along to another connection', async () => {
  service
    .next('/operations', RUN)
    .next('/renew', { outcome: 'renewed', lease_ms: 30_000 })
    .next('/complete', SETTLED);
  await client.execute(ORDER, async ({ signal }) => {
    service.connections[0].destroy();
    while (service.kinds().at(-1) !== 'renew') await new Promise(setImmediate);
    await new Promise((done) => {
      setTimeout(done, 50);
    });
    assert.equal(signal.aborted, false);
  });
  assert.deepEqual(
    service.calls.map(({ connection }) => connection),
    [0, 1, 1],
  );
});

test('a lease that is lost is said to the work', async () => {
  service.next('/operations', RUN).next('/renew', { outcome: 'superseded' });
  service.next('/complete', { outcome: 'superseded', kind: 'superseded', detail: 'x' });
  const work = async ({ signal }) => {
    service.connections[0].destroy();
    await new Promise((done) => {
      signal.addEventListener('abort', done);
    });
    assert.equal(signal.reason.kind, 'superseded');
  };
  await assert.rejects(client.execute(ORDER, work), { kind: 'superseded' });
});

test('a connection that the service ended while it was idle is replaced', async () => {
  service.next('/operations', { verdict: 'pass' }).next('/operations', { verdict: 'pass' });
  await client.execute(ORDER, () => 1);
  service.connections[0].destroy();
  await client.execute(ORDER, () => 1);
  assert.equal(new Set(service.calls.map(({ message }) => message.claim)).size, 2);
});

test('the token goes along, and addresses that are none are refused', async () => {
  const known = connectTo({ token: 'secret', service: 'payments' });
  service.next('/operations', { verdict: 'pass' });
  await known.execute(ORDER, () => 1);
  assert.equal(service.calls[0].headers.authorization, 'Bearer secret');
  assert.equal(service.calls[0].message.service, 'payments');
  known.close();
  for (const url of ['unix:relative', 'ftp://127.0.0.1/', 'nothing', undefined]) {
    assert.throws(() => onceguard.connect({ url }), TypeError);
  }
});

test('what answers and is no onceguard serve is unreachable', async () => {
  const odd = (request) => request.socket.end('HTTP/1.0 200 OK\r\n\r\nhello');
  for (let i = 0; i < 20; i += 1) service.next('/operations', odd);
  await assert.rejects(
    client.execute(ORDER, () => assert.fail('ran')),
    { kind: 'store-failed' },
  );
});
