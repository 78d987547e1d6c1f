// The test service of the conformance kit, for Express: docs/conformance.md describes its protocol.
const runs = new Map();
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Does the work that a request asks for. */
export async function work(request, response) {
  const counter = request.get('Conformance-Counter');
  const plan = JSON.parse(request.get('Conformance-Work') ?? '{}');
  const run = (runs.get(counter) ?? 0) + 1;
  runs.set(counter, run);
  await pause(plan.delay ?? 0);
  if (plan.break) return request.socket.destroy();
  for (const [name, value] of plan.fields ?? []) response.append(name, value);
  response.status(plan.status ?? 201);
  if (plan.bytes) return response.send(Buffer.from([...Array(256).keys()]));
  response.type('application/json');
  return response.send('size' in plan ? 'x'.repeat(plan.size) : JSON.stringify({ run }));
}

/** Says how often the work of a counter was done. */
export function count(request, response) {
  response.json({ runs: runs.get(request.params.counter) ?? 0 });
}

/** Serves an application on a free port, and prints the port. */
export function serve(app) {
  const server = app.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: server.address().port }));
  });
}
