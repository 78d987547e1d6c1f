import express from 'express';
import { connect, keepRawBody } from 'onceguard';

import { fail, leaveMark, port, stream, told, url } from './handlers.mjs';

const guard = connect({ url });
const app = express();
const marked = (request, response, next) => {
  leaveMark(request.headers);
  next();
};
app.get('/conformance/runs/none', (request, response) => response.json({}));

// Parsers before the middleware, and behind it.
app.use('/before', express.json({ verify: keepRawBody }), guard.express(), marked);
app.post('/before', (request, response) => response.json(request.body));
app.use('/forgotten', express.json(), guard.express());
app.post('/forgotten', (request, response) => response.json(request.body));

app.use(guard.express(), marked);
app.post('/json', express.json(), (request, response) => response.json(request.body));
app.post('/form', express.urlencoded({ extended: false }), (request, response) =>
  response.json(request.body),
);
app.post('/text', express.text(), (request, response) => response.send(request.body));
app.post('/bytes', express.raw(), (request, response) => response.send(request.body));
app.post('/piped', (request, response) => request.pipe(response));

app.post('/sync/:what', (request) => fail(request.params.what));
app.post('/next/:what', (request, response, next) => {
  setTimeout(() => {
    try {
      fail(request.params.what);
    } catch (error) {
      next(error);
    }
  }, 1);
});
app.post('/async/:what', async (request, response, next) => {
  await null;
  try {
    fail(request.params.what); // Express 4 does not hear what promises throw
  } catch (error) {
    next(error);
  }
});

app.post('/stream/:size', (request, response) =>
  stream(Number(request.params.size)).pipe(response),
);
app.post('/file', (request, response) => response.sendFile(process.argv[1]));
app.post('/events', async (request, response) => {
  response.type('text/event-stream').write('data: 1\n\n');
  await told(request.headers);
  response.end('data: 2\n\n');
});
app.post('/twice', (request, response) => {
  response.status(201).json({ first: true });
  response.status(500).json({ second: true });
});
app.post('/silent', () => {});
app.use(guard.expressErrors());
app.use((error, request, response, next) => {
  if (response.headersSent) next(error);
  else response.status(error.status ?? 500).json({ error: error.message });
});
app.listen(port, '127.0.0.1');
