// What the examples do: payments, and the work of the conformance kit (docs/conformance.md).
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const runs = new Map();
const payments = [];

/** An effect that outlives this process: a line of the file EFFECTS. */
function leaveMark(name) {
  if (process.env.EFFECTS) appendFileSync(process.env.EFFECTS, `${name}\n`);
}

export function pay(amount) {
  leaveMark(`payment-${amount}`);
  payments.push({ id: payments.length + 1, amount });
  return payments.at(-1);
}

/** How often the work of a counter was done. */
export const count = (counter) => ({ runs: runs.get(counter) ?? 0 });

/** Does what a request of the kit asks for; null: the connection is to be closed. */
export async function work(headers) {
  const counter = headers['conformance-counter'];
  const plan = JSON.parse(headers['conformance-work'] ?? '{}');
  const run = count(counter).runs + 1;
  runs.set(counter, run);
  leaveMark(counter);
  await pause(plan.delay ?? 0);
  if (plan.break) return null;
  const status = plan.status ?? 201;
  const fields = (type) => [['Content-Type', type], ...(plan.fields ?? [])];
  if (plan.bytes) {
    const body = Buffer.from([...Array(256).keys()]);
    return { status, fields: fields('application/octet-stream'), body };
  }
  const body = 'size' in plan ? 'x'.repeat(plan.size) : JSON.stringify({ run });
  return { status, fields: fields('application/json'), body: Buffer.from(body) };
}

// What the environment says.
export const port = Number(process.env.PORT ?? 9000);
export const url = process.env.ONCEGUARD_URL ?? 'unix:/run/onceguard/serve.sock';
export const token = process.env.ONCEGUARD_TOKEN;
export const open = process.env.ONCEGUARD_OPEN === '1';
