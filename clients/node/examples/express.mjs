// Payments with Express 4 or 5, each of which happens once for its Idempotency-Key.
//
//   onceguard serve --listen unix:/run/onceguard/serve.sock --store sqlite:onceguard.db
//   npm install express onceguard && node express.mjs
//   curl -i -H 'Idempotency-Key: order-17' --json '{"amount": 42}' http://127.0.0.1:9000/payments
import express from 'express';
import { connect } from 'onceguard';

import { count, open, pay, port, token, url, work } from './work.mjs';

const guard = connect({ url, token, open });
const app = express();
app.use(guard.express()); // before what parses bodies

app.get('/conformance/runs/:counter', (request, response) => {
  response.json(count(request.params.counter));
});
app.all(/^\/conformance/, async (request, response) => {
  const made = await work(request.headers);
  if (!made) return request.socket.destroy();
  for (const [name, value] of made.fields) response.append(name, value);
  return response.status(made.status).send(made.body);
});

app.use(express.json());
app.post('/payments', (request, response) => {
  response.status(201).json(pay(request.body.amount));
});

app.use(guard.expressErrors()); // behind the routes
app.listen(port, '127.0.0.1');
