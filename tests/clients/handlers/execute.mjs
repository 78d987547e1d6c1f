// Calls execute as the lines of standard input say, and prints what came of each.
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, NotDone, Refused, TryLater } from 'onceguard';

const client = connect({ url: process.env.ONCEGUARD_URL });
let runs = 0;

async function work({ result, delay = 0, fails }, running) {
  runs += 1;
  await pause(delay);
  if (fails === 'not-done') throw new NotDone('no card');
  if (fails === 'try-later') throw new TryLater('busy', { backoff: 2000 });
  if (fails) throw new Error(fails);
  return result === 'token' ? running.token : result;
}

async function call({ operation, ...plan }) {
  try {
    return { result: await client.execute(operation, (running) => work(plan, running)) };
  } catch (error) {
    if (!(error instanceof Refused)) return { error: error.message };
    const { kind, retryable, retryAfter } = error;
    return { kind, retryable, retryAfter };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const calls = await Promise.all(JSON.parse(line).map(call));
  console.log(JSON.stringify({ calls, runs }));
  runs = 0;
}
client.close();
