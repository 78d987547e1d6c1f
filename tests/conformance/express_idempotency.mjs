// The test service behind express-idempotency, set up as its README says.
import express from 'express';
import idempotency from 'express-idempotency';

import { count, serve, work } from './service.mjs';

const app = express();
app.get('/conformance/runs/:counter', count);
app.use(express.text({ type: () => true, limit: '1mb' }));
const guard = idempotency.idempotency();
app.post('*', guard);
app.patch('*', guard);
app.all(/^\/conformance/, (request, response) => {
  if (idempotency.getSharedIdempotencyService().isHit(request)) return undefined;
  return work(request, response);
});
app.use((error, request, response, next) => {
  if (response.headersSent) next(error);
  else response.send({ error: error.message });
});
serve(app);
