// Payments with Fastify, each of which happens once for its Idempotency-Key.
//
//   onceguard serve --listen unix:/run/onceguard/serve.sock --store sqlite:onceguard.db
//   npm install fastify onceguard && node fastify.mjs
//   curl -i -H 'Idempotency-Key: order-17' --json '{"amount": 42}' http://127.0.0.1:9000/payments
import Fastify from 'fastify';
import { connect } from 'onceguard';

import { count, open, pay, port, token, url, work } from './work.mjs';

const guard = connect({ url, token, open });
const app = Fastify();
app.register(guard.fastify());

app.post('/payments', async (request, reply) => reply.code(201).send(pay(request.body.amount)));

app.register(async (kit) => {
  kit.removeAllContentTypeParsers();
  kit.addContentTypeParser('*', { parseAs: 'buffer' }, async (_, body) => body);
  kit.get('/conformance/runs/:counter', async (request) => count(request.params.counter));
  const handle = async (request, reply) => {
    const made = await work(request.headers);
    if (!made) return request.raw.socket.destroy();
    for (const [name] of made.fields) {
      const values = made.fields.filter(([other]) => other === name).map(([, value]) => value);
      reply.header(name, values.length > 1 ? values : values[0]);
    }
    return reply.code(made.status).send(made.body);
  };
  kit.all('/conformance', handle);
  kit.all('/conformance/*', handle);
});

await app.listen({ port, host: '127.0.0.1' });
