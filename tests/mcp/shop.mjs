// A shop whose tools are those of UCP, ACP and x402: node shop.mjs [PORT]
// On standard streams, or on a port over streamable HTTP. It reads what it is sent, and its own
// answers, with the types of the contracts. Effects are lines in the file $EFFECTS; an order whose
// id is `wait` waits for the file $GATE, and the id `missing` is of none. Its process is in the
// file `pid`.
import fs from 'node:fs';
import http from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answers, requests } from './contract_types.mjs';

const [port] = process.argv.slice(2);
const lines = (currency, n) => ({
  currency,
  line_items: [{
    id: 'l1',
    item: { id: 'p1', title: 'one', price: 500 },
    quantity: 1,
    totals: [{ type: 'total', amount: 500 }],
  }],
  totals: [{ type: 'total', amount: 500 }],
  links: [{ type: 'terms_of_service', url: 'https://shop.example/terms' }],
  order: { id: `order-${n}`, permalink_url: `https://shop.example/orders/${n}` },
});
const checkout = (n) => ({
  structuredContent: {
    ucp: { version: '2026-01-23', capabilities: [{ name: 'checkout', version: '2026-01-23' }] },
    id: 'checkout-1',
    status: 'completed',
    ...lines('USD', n),
  },
});
const session = (n) => ({
  structuredContent: {
    id: 'session-1',
    status: 'completed',
    currency: 'usd',
    line_items: [{
      id: 'l1', item: { id: 'p1', quantity: 1 }, base_amount: 500, discount: 0, subtotal: 500,
      tax: 0, total: 500,
    }],
    fulfillment_options: [],
    totals: [{ type: 'total', display_text: 'Total', amount: 500 }],
    messages: [],
    links: [{ type: 'terms_of_use', url: 'https://shop.example/terms' }],
    order: {
      id: `order-${n}`, checkout_session_id: 'session-1',
      permalink_url: `https://shop.example/orders/${n}`,
    },
  },
});
const orders = {
  create_checkout: checkout,
  complete_checkout: checkout,
  create_checkout_session: session,
  complete_checkout_session: session,
  analysis: (n) => ({
    structuredContent: { analysis: n },
    _meta: {
      'x402/payment-response': { success: true, transaction: `0x${n}`, network: 'eip155:84532' },
    },
  }),
};

const price = {
  x402Version: 2,
  error: 'Payment required',
  resource: { url: 'mcp://tool/analysis' },
  accepts: [{
    scheme: 'exact', network: 'eip155:84532', amount: '10000', asset: '0x1', payTo: '0x2',
    maxTimeoutSeconds: 60, extra: {},
  }],
};
const unpaid = {
  isError: true,
  structuredContent: price,
  content: [{
    type: 'text',
    text: JSON.stringify({ 'x402/error': { code: 402, message: price.error, data: price } }),
  }],
};
const noSession = Object.assign(new Error('Checkout session not found'), {
  code: -32000,
  data: {
    type: 'invalid_request', code: 'session_not_found', message: 'Checkout session not found',
    param: 'id',
  },
});

async function call({ params }) {
  const { name, arguments: given, _meta: meta } = params;
  if (name === 'analysis' && !meta?.['x402/payment']) return unpaid;
  if (given.id === 'missing') throw noSession;
  try {
    requests[name](given, meta);
  } catch (error) {
    return { content: [{ type: 'text', text: `not of the contract: ${error}` }], isError: true };
  }
  fs.appendFileSync(process.env.EFFECTS, `${name}\n`);
  while (given.id === 'wait' && !fs.existsSync(process.env.GATE)) {
    await new Promise((done) => setTimeout(done, 20));
  }
  const answer = orders[name](fs.readFileSync(process.env.EFFECTS, 'utf8').split('\n').length - 1);
  answers[name](answer);
  return {
    content: [{ type: 'text', text: JSON.stringify(answer.structuredContent) }], ...answer,
  };
}

async function connect(transport) {
  const server = new Server({ name: 'shop', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(requests).map((name) => ({ name, inputSchema: { type: 'object' } })),
  }));
  server.setRequestHandler(CallToolRequestSchema, call);
  await server.connect(transport);
}

fs.writeFileSync('pid', String(process.pid));
if (port === undefined) {
  await connect(new StdioServerTransport());
} else {
  http.createServer(async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await connect(transport);
    await transport.handleRequest(request, response);
  }).listen(Number(port), '127.0.0.1');
}
