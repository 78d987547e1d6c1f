// The test service behind @node-idempotency/core. The package leaves HTTP to its caller: this
// middleware calls it as its README says, with the statuses of @node-idempotency/shared.
import express from 'express';
import core from '@node-idempotency/core';
import memory from '@node-idempotency/storage-adapter-memory';

import { count, serve, work } from './service.mjs';

const { Idempotency, IdempotencyErrorCodes } = core;
const idempotency = new Idempotency(new memory.MemoryStorageAdapter());
const statuses = {
  [IdempotencyErrorCodes.REQUEST_IN_PROGRESS]: 409,
  [IdempotencyErrorCodes.IDEMPOTENCY_FINGERPRINT_MISSMATCH]: 422,
};

async function guard(request, response, next) {
  const { method, headers, path, body } = request;
  const options = { enforceIdempotency: path.startsWith('/conformance/required') };
  const about = { method, headers, path, body, options };
  try {
    const stored = await idempotency.onRequest(about);
    if (stored) {
      response.status(stored.additional.status).set(stored.additional.headers);
      response.send(stored.body);
      return;
    }
  } catch (error) {
    response.status(statuses[error.code] ?? 400).json({ error: error.message });
    return;
  }
  const send = response.send.bind(response);
  response.send = (content) => {
    response.send = send;
    const additional = { status: response.statusCode, headers: response.getHeaders() };
    idempotency.onResponse(about, { body: content, additional }).then(() => send(content), next);
    return response;
  };
  next();
}

const app = express();
app.get('/conformance/runs/:counter', count);
app.use(express.text({ type: () => true, limit: '1mb' }));
app.post('*', guard);
app.patch('*', guard);
app.all(/^\/conformance/, work);
serve(app);
