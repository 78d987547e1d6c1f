'use strict';
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { ask, at, bodyOf, serve } = require('./guarded.js');
const { RUN, SETTLED, lost, reply, until } = require('./scripted.js');

const operation = (key) => ({ scope: 's', key, fingerprint: 'f' });
const run = (keys, work) =>
  Promise.allSettled(keys.map((key) => at.client.execute(operation(key), () => work(key))));
const values = (ends) => ends.map(({ value, reason }) => value ?? reason.kind);

/** Answers each call of a batch by itself. */
const each = (make) => (_, response, { calls }) =>
  reply(response, { results: calls.map((call) => ({ status: 200, ...make(call) })) });
const granted = ({ key }) => ({ ...RUN, operation: `op-${key}` });

test('what becomes ready in one turn goes as one message', async () => {
  at.service.next('/batch', each(granted)).next('/batch', each(() => SETTLED));
  const ends = await run(['a', 'b', 'c'], (key) => `did ${key}`);
  assert.deepEqual(values(ends), ['did a', 'did b', 'did c']);
  const [claims, settles] = at.service.calls.map(({ message }) => message.calls);
  assert.deepEqual(claims.map(({ call, key }) => [call, key]), [
    ['claim', 'a'],
    ['claim', 'b'],
    ['claim', 'c'],
  ]);
  assert.equal(new Set(claims.map(({ claim }) => claim)).size, 3);
  const settled = settles.map(({ call, operation: id, answer }) => [call, id, answer.body]);
  assert.deepEqual(settled, [
    ['complete', 'op-a', 'did a'],
    ['complete', 'op-b', 'did b'],
    ['complete', 'op-c', 'did c'],
  ]);
});

test('each call of a batch has its own end', async () => {
  const ends = {
    ran: RUN,
    again: {
      verdict: 'replay',
      answer: { status: 200, headers: [['content-type', 'text/plain']], body: 'stored' },
    },
    bytes: { verdict: 'replay', answer: { status: 200, headers: [], body_base64: '/wA=' } },
    other: { verdict: 'mismatch', kind: 'mismatch' },
    wrong: { status: 400, type: 'x:bad-request', detail: 'key: is empty' },
    full: { status: 503, type: 'x:overloaded' },
  };
  at.service.next('/batch', each(({ key }) => ends[key])).next('/complete', SETTLED);
  const got = await run(Object.keys(ends), () => 'mine');
  assert.deepEqual(values(got), [
    'mine',
    'stored',
    Buffer.from([255, 0]),
    'mismatch',
    'bad-request',
    'overloaded',
  ]);
});

test('bodies go as text or base64, and long ones alone, as they are', async () => {
  const bodies = ['grüße\n', Buffer.from([255, 10, 0]), 'x'.repeat(40000), ''];
  const port = await serve(async (request, response) => response.end(await bodyOf(request)));
  const seen = new Map();
  const see = ({ request }) => {
    seen.set(request.body ?? request.body_base64 ?? '', true);
    return { verdict: 'pass' };
  };
  for (let i = 0; i < 4; i += 1) {
    at.service.next('/batch', each(see));
    at.service.next('/operations', (_, response, { request, bytes }) => {
      assert.equal(request.body, undefined);
      seen.set(bytes.toString('latin1'), false);
      reply(response, { verdict: 'pass' });
    });
  }
  const asked = bodies.map((body) => ask(port, { pieces: body ? [body] : [] }));
  const answers = await Promise.all(asked);
  assert.deepEqual(answers.map(({ body }) => body), bodies.map((body) => Buffer.from(body)));
  assert.equal(seen.get('x'.repeat(40000)), false);
  assert.equal(seen.size, 4);
});

test('one that spoils a batch is refused alone', async () => {
  at.service.next('/batch', { status: 400, type: 'x:bad-request', detail: 'not JSON' });
  for (let i = 0; i < 2; i += 1) {
    at.service.next('/operations', (_, response, { key }) =>
      reply(response, key === 'bad' ? { status: 400, type: 'x:bad-request' } : { verdict: 'pass' }),
    );
  }
  assert.deepEqual(values(await run(['good', 'bad'], () => 'ran')), ['ran', 'bad-request']);
});

test('a service without room for a batch has none for its calls', async () => {
  at.service.next('/batch', { status: 503, type: 'x:overloaded', detail: 'no' });
  assert.deepEqual(values(await run(['a', 'b'], assert.fail)), ['overloaded', 'overloaded']);
});

test('what is no answer to a batch answers none of it', async () => {
  at.service.next('/batch', { results: [{ status: 200, verdict: 'pass' }] });
  at.service.next('/operations', { verdict: 'pass' });
  assert.deepEqual(values(await run(['a', 'b'], (key) => key)), ['a', 'b']);
});

test('of a batch in doubt each is repeated as the same claim', async () => {
  at.service.next('/batch', lost).next('/batch', each(granted)).next('/batch', lost);
  at.service.next('/batch', each(() => SETTLED));
  assert.deepEqual(values(await run(['a', 'b'], (key) => key)), ['a', 'b']);
  const claims = at.service.calls.slice(0, 2).map(({ message }) => message.calls);
  assert.deepEqual(claims[1], claims[0]);
  assert.notEqual(at.service.calls[1].connection, at.service.calls[0].connection);
});

test('all leases of a connection that ended go along', async () => {
  at.service.next('/batch', each(granted));
  at.service.next('/batch', each(() => ({ outcome: 'renewed', lease_ms: 30_000 })));
  at.service.next('/batch', each(() => SETTLED));
  await run(['a', 'b'], async (key) => {
    if (key === 'a') at.service.connections[0].destroy();
    await until(() => at.service.calls.length === 2);
    return key;
  });
  const renewed = at.service.calls[1].message.calls;
  assert.deepEqual(renewed.map(({ call }) => call), ['renew', 'renew']);
});

test('calls wait only so long for those before them', async () => {
  let stuck;
  at.service.next('/operations', (_, response) => {
    stuck = response;
  });
  const first = at.client.execute(operation('a'), () => 'a');
  await until(() => stuck);
  at.service.next('/batch', each(granted)).next('/batch', each(() => SETTLED));
  assert.deepEqual(values(await run(['b', 'c'], (key) => key)), ['b', 'c']);
  reply(stuck, { verdict: 'pass' });
  assert.equal(await first, 'a');
});
