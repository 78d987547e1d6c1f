// Compiled by the tests, and never run: what the types of clients/node allow, and what they refuse.
import { createServer } from 'node:http';
import { connect, NotDone, Refused, TryLater, Unreachable, keepRawBody } from 'onceguard';

const guard = connect({ url: 'unix:/run/onceguard/serve.sock', open: true, timeout: 1000 });
const order = { scope: 'customer-7', key: 'order-17', fingerprint: Buffer.of(1) };

export async function charge(): Promise<number> {
  try {
    const made = await guard.execute({ ...order, policy: 'payments' }, async ({ lease, token, signal }) => {
      if (signal?.aborted) throw new NotDone('too late');
      if (!lease) throw new TryLater('no lease', { backoff: 500 });
      return { id: token ?? 0 };
    });
    return made.id;
  } catch (error) {
    if (error instanceof Unreachable && error.sent) return -1;
    if (error instanceof Refused) return error.retryable ? error.retryAfter ?? 0 : -2;
    throw error;
  }
}

createServer(guard.listener((request, response) => {
  response.end(request.onceguard?.lease ?? 'unguarded');
}, { credentialVerified: (request) => request.headers.authorization !== undefined }));
guard.express({ maxRequestBody: 1000 });
guard.close();
export const verify: (request: any, response: any, bytes: Buffer) => void = keepRawBody;

// @ts-expect-error: an address is needed
connect({});
// @ts-expect-error: and a fingerprint
guard.execute({ scope: 'a', key: 'b' }, () => 1);
// @ts-expect-error: which is no object
guard.execute({ ...order, fingerprint: { amount: 1 } }, () => 1);
// @ts-expect-error: there is no such option
guard.fastify({ maxBody: 1 });
