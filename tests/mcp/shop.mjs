// A server of tools for the contracts whose packages have types and no server of their own: each
// tool reads what it is sent with the package of its contract. Effects are lines in the file
// $EFFECTS; an order whose id is `wait` waits for the file $GATE. Its process is in the file `pid`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as ucp from '@ucp-js/sdk';
import { parsePaymentPayload } from '@x402/core/schemas';
import acp from 'agentic-commerce-protocol';

const readers = {
  create_checkout: (given) => ucp.CheckoutCreateRequestSchema.strict().parse(given.checkout),
  complete_checkout: (given) => ucp.PaymentDataSchema.strict().parse(given.checkout),
  complete_checkout_session: ({ payload }) => {
    const serializer = acp.CheckoutSessionCompleteRequestSerializer;
    const written = serializer._toJsonObject(serializer._fromJsonObject(payload));
    assert.deepEqual(JSON.parse(JSON.stringify(written)), payload);
  },
  analysis: (given, meta) => {
    const read = parsePaymentPayload(meta['x402/payment']);
    if (!read.success) throw read.error;
    assert.equal(read.data.x402Version, 2);
  },
};

const server = new Server({ name: 'shop', version: '1' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(readers).map((name) => ({ name, inputSchema: { type: 'object' } })),
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  const { name, arguments: given, _meta: meta } = params;
  try {
    readers[name](given, meta);
  } catch (error) {
    return { content: [{ type: 'text', text: `not of the contract: ${error}` }], isError: true };
  }
  fs.appendFileSync(process.env.EFFECTS, `${name}\n`);
  while (given.id === 'wait' && !fs.existsSync(process.env.GATE)) {
    await new Promise((done) => setTimeout(done, 20));
  }
  const order = fs.readFileSync(process.env.EFFECTS, 'utf8').split('\n').length - 1;
  return { content: [{ type: 'text', text: `order ${order}` }], structuredContent: { order } };
});
fs.writeFileSync('pid', String(process.pid));
await server.connect(new StdioServerTransport());
