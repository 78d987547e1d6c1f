import Fastify from 'fastify';
import { connect } from 'onceguard';

import { fail, leaveMark, port, stream, told, url } from './handlers.mjs';

const app = Fastify();
app.register(connect({ url }).fastify());
app.get('/conformance/runs/none', async () => ({}));
app.addHook('preHandler', async (request) => {
  if (request.method === 'POST') leaveMark(request.headers);
});
app.addContentTypeParser(
  'application/octet-stream',
  { parseAs: 'buffer' },
  async (_, body) => body,
);
app.post('/json', async (request) => request.body);
app.post('/text', async (request) => request.body);
app.post('/bytes', async (request) => request.body);
app.post('/sync/:what', (request) => fail(request.params.what));
app.post('/async/:what', async (request) => fail(request.params.what));
app.post('/next/:what', async (request, reply) => {
  try {
    fail(request.params.what);
  } catch (error) {
    reply.send(error);
    await reply;
  }
});
app.post('/stream/:size', async (request, reply) =>
  reply.send(stream(Number(request.params.size))),
);
app.post('/events', async (request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
  await told(request.headers);
  reply.raw.end('data: 2\n\n');
});
app.post('/twice', (request, reply) => {
  reply.code(201).send({ first: true });
  reply.code(500).send({ second: true });
});
await app.listen({ port, host: '127.0.0.1' });
