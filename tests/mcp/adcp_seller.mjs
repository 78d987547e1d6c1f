// A seller of the Ad Context Protocol, made with its official SDK: node adcp_seller.mjs PORT [own]
// With `own` it keeps idempotency keys itself; else it runs whatever it is sent. Effects are lines
// in the file $EFFECTS; a buy whose package is `wait` goes on when the file $GATE is there.
import fs from 'node:fs';
import http from 'node:http';
import { mcpAcceptHeaderMiddleware } from '@adcp/sdk/express-mcp';
import { createIdempotencyStore, InMemoryStateStore, memoryBackend } from '@adcp/sdk/server';
import { createAdcpServer } from '@adcp/sdk/server/legacy/v5';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const [port, keeper] = process.argv.slice(2);
const ttlSeconds = 86_400;
const idempotency = keeper === 'own'
  ? createIdempotencyStore({ backend: memoryBackend(), ttlSeconds }) : undefined;
const stateStore = new InMemoryStateStore();
const buys = new Map();
const quiet = () => {};

async function tell(url, given, buy) {
  if (url === undefined) return;
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      idempotency_key: `event-${buy.media_buy_id}-${'0'.repeat(16)}`,
      task_type: 'create_media_buy',
      status: 'completed',
      result: { media_buy_id: buy.media_buy_id },
    }),
  });
}

async function createMediaBuy(given) {
  fs.appendFileSync(process.env.EFFECTS, 'create_media_buy\n');
  if (given.packages[0].product_id === 'wait') {
    while (!fs.existsSync(process.env.GATE)) await new Promise((done) => setTimeout(done, 20));
  }
  const id = `buy-${buys.size + 1}`;
  const packages = given.packages.map((one, n) => ({
    package_id: `${id}-${n}`,
    product_id: one.product_id,
    budget: one.budget,
    pricing_option_id: one.pricing_option_id,
  }));
  const confirmed_at = new Date().toISOString();
  const buy = { media_buy_id: id, status: 'active', confirmed_at, revision: 1, packages };
  buys.set(id, { ...buy, currency: 'USD', total_budget: 5000 });
  await tell(given.push_notification_config?.url, given, buy);
  return { ...buy, idempotency_key: given.idempotency_key };
}

const seller = () => createAdcpServer({
  name: 'tests',
  version: '1.0.0',
  idempotency,
  stateStore,
  logger: { debug: quiet, info: quiet, warn: quiet, error: console.error },
  validation: { requests: 'strict', responses: 'strict' },
  resolveSessionKey: () => 'tests',
  capabilities: { idempotency: { replay_ttl_seconds: ttlSeconds } },
  mediaBuy: {
    createMediaBuy,
    getMediaBuys: async (given) => ({
      media_buys: (given.media_buy_ids ?? []).flatMap((id) => buys.get(id) ?? []),
    }),
    getProducts: async () => ({ products: [] }),
  },
});

const widen = mcpAcceptHeaderMiddleware();
http.createServer((request, response) => widen(request, response, async () => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await seller().connect(transport);
  await transport.handleRequest(request, response);
})).listen(Number(port), '127.0.0.1');
