'use strict';
// The service is upgraded, or stopped, while its clients keep their connections.
const assert = require('node:assert/strict');
const { afterEach, beforeEach, test } = require('node:test');
const onceguard = require('../index.js');
const { RUN, SETTLED, Scripted, until } = require('./scripted.js');

const ORDER = { scope: 'customer-7', key: 'order-17', fingerprint: 'charge 1000 EUR' };
let service;
let client;

beforeEach(async () => {
  service = await new Scripted().start();
  client = onceguard.connect({ url: service.url });
});
afterEach(async () => {
  client.close();
  await service.stop();
});

const DRAINING = { status: 503, type: 'urn:onceguard:problem:draining', detail: 'it ends' };
const HELD = { ...RUN, lease_ms: 60_000 };

test('a claim goes on to the successor of a process that drains', async () => {
  service.next('/operations', HELD).next('/complete', SETTLED).next('/operations', DRAINING);
  service.next('/operations', HELD).next('/complete', SETTLED);
  const results = [];
  for (let i = 0; i < 2; i += 1) results.push(await client.execute(ORDER, () => `did ${i}`));
  assert.deepEqual(results, ['did 0', 'did 1']);
  const [, , refused, claimed] = service.calls;
  assert.deepEqual(refused.message, claimed.message);
  assert.deepEqual(
    service.calls.map(({ connection }) => connection),
    [0, 0, 0, 1, 1],
  );
  await until(() => service.connections[0].destroyed);
});

test('what runs at a process that drains is settled there, and its connection ends', async () => {
  service.next('/operations', HELD).next('/operations', DRAINING).next('/operations', HELD);
  for (let i = 0; i < 2; i += 1) service.next('/complete', SETTLED);
  let end;
  const long = client.execute(ORDER, () => new Promise((resolve) => (end = resolve)));
  await until(() => end);
  assert.equal(await client.execute({ ...ORDER, key: 'other' }, () => 'ran'), 'ran');
  assert.equal(service.connections[0].destroyed, false);
  end('the long one');
  assert.equal(await long, 'the long one');
  assert.deepEqual(
    service.calls.map(({ path, connection }) => [path.split('/').pop(), connection]),
    [
      ['operations', 0],
      ['operations', 0],
      ['operations', 1],
      ['complete', 1],
      ['complete', 0],
    ],
  );
  await until(() => service.connections[0].destroyed);
});

/** How long the client asks a process that drains and has no successor, and how often. */
async function asked() {
  const before = service.calls.length;
  for (let i = 0; i < 40; i += 1) service.next('/operations', DRAINING);
  const began = performance.now();
  await assert.rejects(
    client.execute(ORDER, () => assert.fail('ran')),
    { status: 503, retryable: true },
  );
  return { took: performance.now() - began, calls: service.calls.length - before };
}

test('a process that drains without a successor is away', async () => {
  for (let tries = 1; ; tries += 1) {
    const { took, calls } = await asked();
    assert.ok(calls < 20);
    if (calls > 2 && took < 3000) break;
    // A busy machine lets the time pass in which it is tried, or more of it.
    assert.ok(took >= 1000 && tries < 3, `${calls} calls in ${took} ms`);
  }
  const open = onceguard.connect({ url: service.url, open: true, timeout: 300 });
  assert.equal(await open.execute(ORDER, () => 'unguarded'), 'unguarded');
  open.close();
});
