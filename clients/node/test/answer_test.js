'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { test } = require('node:test');
const onceguard = require('../index.js');
const { ask, at, begin, bodyOf, listen, serve } = require('./guarded.js');
const { RUN, SETTLED, until } = require('./scripted.js');

test('the answer waits for its settle, and has all its fields', async () => {
  let settle;
  at.service.next('/operations', RUN).next('/complete', (_, response) => {
    settle = response;
  });
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
  const response = once(request, 'response').then(([one]) => {
    answered = true;
    return one;
  });
  await until(() => settle);
  await new Promise((done) => {
    setTimeout(done, 50);
  });
  assert.equal(answered, false);
  const { answer, bytes, streamed } = at.service.calls[1].message;
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.headers, [
    ['Set-Cookie', 'a=1'],
    ['Set-Cookie', 'b=2'],
    ['Link', '<1>'],
    ['Link', '<2>'],
    ['Onceguard-Outcome', 'done'],
  ]);
  assert.deepEqual([bytes.toString(), streamed], ['one two', undefined]);
  settle
    .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 21 })
    .end('{"outcome":"settled"}');
  const got = await response;
  assert.deepEqual(
    [got.statusCode, got.statusMessage, got.headers.link, got.headers['content-length']],
    [201, 'Made', '<1>, <2>', '7'],
  );
  assert.deepEqual([got.headers.late, got.headers['onceguard-outcome']], [undefined, undefined]);
  assert.equal((await bodyOf(got)).toString(), 'one two');
});

test('a replay is sent as it is, over fields of the same names', async () => {
  const headers = [
    ['Link', '<1>'],
    ['Link', '<2>'],
    ['X-Server', 'stored'],
    ['Idempotent-Replayed', 'true'],
  ];
  at.service.next(
    '/operations',
    { verdict: 'replay', reply: { status: 202, headers }, newer: [] },
    Buffer.from([0, 10, 255]),
  );
  const guarded = at.client.listener(() => assert.fail('ran'));
  const port = await listen((request, response) => {
    response.setHeader('X-Server', 'now');
    response.setHeader('X-Other', 'kept');
    guarded(request, response);
  });
  const answer = await ask(port);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.body, Buffer.from([0, 10, 255]));
  const { link, 'x-server': own, 'x-other': other } = answer.headers;
  assert.deepEqual([link, own, other], ['<1>, <2>', 'stored', 'kept']);
});

test('the length stands behind the other fields, as in a replay', async () => {
  at.service.next('/operations', RUN).next('/complete', SETTLED);
  const port = await serve((request, response) => {
    response.setHeader('X-A', '1');
    response.setHeader('Content-Length', '4');
    response.setHeader('X-B', '2');
    response.end('mine');
  });
  const names = (await ask(port)).raw.filter((_, index) => index % 2 === 0);
  assert.deepEqual(names.slice(0, 2), ['X-A', 'X-B']);
  assert.ok(names.includes('Content-Length'));
});

test('another answer is sent where the settle has one', async () => {
  const port = await serve((request, response) => {
    response.writeHead(200, { 'X-Mine': '1', 'Content-Length': '4' });
    response.end('mine');
  });
  for (const outcome of ['settled', 'replay', 'superseded', 'unrecorded']) {
    at.service
      .next('/operations', RUN)
      .next(
        '/complete',
        { outcome, reply: { status: 409, headers: [['X-Other', '1']] } },
        'other one',
      );
    const answer = await ask(port);
    assert.deepEqual(
      [answer.status, answer.body.toString(), answer.headers['x-mine']],
      [409, 'other one', undefined],
    );
  }
  at.service.next('/operations', RUN).next('/complete', { outcome: 'newer' });
  assert.equal(JSON.parse((await ask(port)).body).type, 'urn:onceguard:problem:outcome-unknown');
  at.service.next('/operations', { verdict: 'newer' });
  assert.equal(JSON.parse((await ask(port)).body).type, 'urn:onceguard:problem:outcome-unknown');
});

test('an answer that nobody could be told of is never sent', async () => {
  at.service
    .next('/operations', RUN)
    .next('/complete', { status: 404, type: 'x:not-found', detail: '' });
  const port = await serve((request, response) => response.end('mine'));
  const answer = await ask(port);
  assert.deepEqual(
    [answer.status, answer.headers['retry-after'], answer.headers['onceguard-retry']],
    [503, '1', 'same-key'],
  );
  assert.equal(JSON.parse(answer.body).type, 'urn:onceguard:problem:store-unreachable');
});

test('an answer that the service refuses leaves the outcome unknown, at once', async () => {
  at.service.next('/operations', RUN).next('/abandon', SETTLED);
  at.service.next('/complete', { status: 400, type: 'x:bad-request', detail: 'answer: status' });
  const port = await serve((request, response) => response.end('mine'));
  const answer = await ask(port);
  assert.deepEqual([answer.status, answer.headers['onceguard-retry']], [409, 'no']);
  assert.equal(JSON.parse(answer.body).type, 'urn:onceguard:problem:outcome-unknown');
  assert.equal(at.service.kinds().at(-1), 'abandon');
});

for (const [name, handle] of [
  [
    'a long one',
    (response) => {
      response.write('x'.repeat(900));
      response.end('y'.repeat(900));
    },
  ],
  ['a long one at once', (response) => response.end('x'.repeat(900) + 'y'.repeat(900))],
  [
    'one of a stream',
    async (response) => {
      const written = () =>
        new Promise((done) => {
          response.write('x'.repeat(9), done);
        });
      for (let at = 0; at < 100; at += 1) await written();
      if (!response.write('y'.repeat(900))) await once(response, 'drain');
      response.end();
    },
  ],
]) {
  test(`an answer over the limit is done, and goes out: ${name}`, async () => {
    at.service.next('/operations', RUN).next('/complete', SETTLED);
    const port = await serve((request, response) => handle(response));
    assert.equal((await ask(port)).body.toString(), 'x'.repeat(900) + 'y'.repeat(900));
    const { streamed, bytes, answer } = at.service.calls[1].message;
    assert.deepEqual([streamed, bytes.length, answer.status], [true, 0, 200]);
  });
}

for (const [name, start] of [
  [
    'events',
    (response) => {
      response.setHeader('Content-Type', 'text/event-stream');
      response.write('data: 1\n\n');
    },
  ],
  [
    'a flushed head',
    (response) => {
      response.flushHeaders();
      response.write('data: 1\n\n');
    },
  ],
]) {
  test(`${name} go out as they come, once it is settled`, async () => {
    at.service.next('/operations', RUN).next('/complete', SETTLED);
    let response;
    const port = await serve((request, own) => {
      response = own;
      start(own);
    });
    const request = begin(port);
    request.end();
    const [got] = await once(request, 'response');
    const [piece] = await once(got, 'data');
    assert.equal(piece.toString(), 'data: 1\n\n');
    assert.equal(at.service.calls[1].message.streamed, true);
    response.end('data: 2\n\n');
    assert.equal((await once(got, 'data'))[0].toString(), 'data: 2\n\n');
  });
}

test('a stream whose settle is refused goes to nobody', async () => {
  at.service
    .next('/operations', RUN)
    .next('/complete', { outcome: 'superseded', reply: { status: 409, headers: [] } }, 'no');
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
  const handlers = [
    () => {
      throw error;
    },
    async () => {
      throw error;
    },
  ];
  for (const handle of handlers) {
    const port = await serve(handle, { onError: (one) => told.push(one) });
    for (const [thrown, kind, status] of [
      [new NotDone(), 'release', 503],
      [new TryLater('x', { backoff: 5 }), 'fail', 503],
      [new Error('x'), 'exception', 500],
      [Object.assign(new Error('no'), { status: 404 }), 'complete', 404],
      [undefined, 'exception', 500],
    ]) {
      error = thrown;
      at.service.next('/operations', RUN).next(kind, SETTLED);
      assert.equal((await ask(port)).status, status);
      assert.equal(at.service.kinds().at(-1), kind);
      assert.equal(told.at(-1), thrown);
    }
  }
});

test('an answer that can not be sent ends its own connection, and no other', async () => {
  const answers = {
    sent: (response) => {
      response.setHeader('Trailer', 'X-T');
      response.write('a');
      response.addTrailers({ 'X-T': '1' });
      response.end();
    },
    number: (response) => {
      response.statusCode = '201';
      response.end('a');
    },
    broken: (response) => {
      response.end('a');
      response.statusMessage = '\n';
    },
  };
  for (const [name, answer] of Object.entries(answers)) {
    at.service.next('/operations', RUN).next('/complete', SETTLED);
    const port = await serve((_, response) => answer(response));
    if (name === 'broken') await assert.rejects(ask(port));
    else assert.equal((await ask(port)).status, name === 'sent' ? 200 : 201);
    assert.equal(typeof at.service.calls.at(-1).message.answer.status, 'number');
  }
});

test('what is no piece of an answer is refused where the handler stands', async () => {
  at.service.next('/operations', RUN).next('/exception', SETTLED);
  let refused;
  const port = await serve((_, response) => {
    try {
      response.end({});
    } catch (error) {
      refused = error;
      throw error;
    }
  });
  await ask(port).catch(() => {});
  assert.ok(refused instanceof TypeError);
});

test('a handler that breaks off leaves the outcome unknown', async () => {
  for (const destroy of [
    (request) => request.socket.destroy(),
    (_, response) => response.destroy(),
  ]) {
    at.service.next('/operations', RUN).next('/abandon', SETTLED);
    const port = await serve(destroy);
    await assert.rejects(ask(port));
    await until(() => at.service.kinds().at(-1) === 'abandon');
  }
});

for (const leave of ['end', 'resetAndDestroy', 'destroy']) {
  test(`a client that leaves (${leave}) does not end the work`, async () => {
    at.service.next('/operations', RUN).next('/complete', SETTLED);
    let response;
    const port = await serve((request, own) => {
      response = own;
    });
    const socket = net.connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\nhi');
    await until(() => response);
    const left = once(response, 'close');
    socket[leave]();
    await left;
    response.end('done');
    await until(() => at.service.kinds().at(-1) === 'complete');
    assert.equal(at.service.calls[1].message.bytes.toString(), 'done');
  });
}

test('a head that Node refuses is the error of its handler, which is answered', async () => {
  at.service.next('/operations', RUN).next('/exception', {
    outcome: 'settled',
    reply: { status: 500, headers: [['Onceguard-Retry', 'no']], body: 'the outcome is not known' },
  });
  const seen = [];
  const handle = (request, response) => response.writeHead(201, { 'X-Name': '\u4e2d' }).end('x');
  const port = await serve(handle, { onError: (error) => seen.push(error.code) });
  const answer = await ask(port);
  assert.deepEqual([answer.status, answer.headers['onceguard-retry']], [500, 'no']);
  assert.deepEqual(seen, ['ERR_INVALID_CHAR']);
  assert.deepEqual(at.service.kinds(), ['operations', 'exception']);
});
