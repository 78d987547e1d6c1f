// What handlers may do, the same in each framework.
import { appendFileSync, existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { NotDone, TryLater } from 'onceguard';

export const port = Number(process.env.PORT);
export const url = process.env.ONCEGUARD_URL;

/** An effect of a request, by its key. */
export function leaveMark(headers) {
  appendFileSync(process.env.EFFECTS, `${headers['idempotency-key']}\n`);
}

/** Waits until the test has made the file of this request's key. */
export async function told(headers) {
  const file = `${process.env.EFFECTS}.${headers['idempotency-key']}`;
  while (!existsSync(file)) await pause(10);
}

/** Throws what the path names. */
export function fail(what) {
  if (what === 'not-done') throw new NotDone('no card');
  if (what === 'try-later') throw new TryLater('the bank is busy', { backoff: 300 });
  if (what === 'refused')
    throw Object.assign(new Error('no such card'), { status: 404, statusCode: 404 });
  throw new Error('broken');
}

/** So many bytes, in pieces. */
export const stream = (size) =>
  Readable.from(
    (function* pieces() {
      for (let left = size; left > 0; left -= 1000) yield Buffer.alloc(Math.min(left, 1000), 'x');
    })(),
  );
