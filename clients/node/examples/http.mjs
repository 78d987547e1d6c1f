// Payments with node:http, each of which happens once for its Idempotency-Key.
//
//   onceguard serve --listen unix:/run/onceguard/serve.sock --store sqlite:onceguard.db
//   npm install onceguard && node http.mjs
//   curl -i -H 'Idempotency-Key: order-17' --json '{"amount": 42}' http://127.0.0.1:9000/payments
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { connect } from 'onceguard';

import { count, open, pay, port, token, url, work } from './work.mjs';

const guard = connect({ url, token, open });

async function handle(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost');
  const asked = /^\/conformance\/runs\/(.*)$/.exec(pathname);
  if (asked) return response.end(JSON.stringify(count(decodeURIComponent(asked[1]))));
  if (pathname === '/payments' && request.method === 'POST') {
    const { amount } = await json(request);
    response.writeHead(201, { 'Content-Type': 'application/json' });
    return response.end(JSON.stringify(pay(amount)));
  }
  const made = await work(request.headers);
  if (!made) return request.socket.destroy();
  response.writeHead(made.status, made.fields.flat());
  return response.end(made.body);
}

createServer(guard.listener(handle)).listen(port, '127.0.0.1');
