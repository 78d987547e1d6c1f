// A client of the official SDK: node client.mjs REVISION URL|COMMAND... (see server.mjs)
// Reads orders, a JSON object a line, and writes what became of each, with its `order`.
import readline from 'node:readline';

const [revision, ...command] = process.argv.slice(2);
const modern = revision === '2026-07-28';
const older = revision === '2025-06-18' ? 'mcp-sdk-1.17' : '@modelcontextprotocol/sdk';
const overHttp = command[0].startsWith('http');
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const patience = 400_000; // as in support/waiting.py: a machine may be busy
const seen = { progress: 0, elicited: 0, sampled: 0, changed: 0 };
const capabilities = { elicitation: { form: {} }, sampling: {} };

async function connect() {
  const name = { name: 'tests', version: '1' };
  const options = { command: command[0], args: command.slice(1), env: process.env };
  let client;
  let transport;
  if (modern) {
    const sdk = await import('@modelcontextprotocol/client');
    const versionNegotiation = { mode: { pin: revision } };
    client = new sdk.Client(name, { capabilities, versionNegotiation });
    client.setRequestHandler('elicitation/create', async () => {
      seen.elicited += 1;
      return { action: 'accept', content: { sure: true } };
    });
    if (overHttp) {
      transport = new sdk.StreamableHTTPClientTransport(new URL(command[0]));
    } else {
      const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
      transport = new StdioClientTransport(options);
    }
  } else {
    const { Client } = await import(`${older}/client/index.js`);
    const types = await import(`${older}/types.js`);
    client = new Client(name, { capabilities });
    client.setRequestHandler(types.ElicitRequestSchema, async () => {
      seen.elicited += 1;
      return { action: 'accept', content: { sure: true } };
    });
    client.setRequestHandler(types.CreateMessageRequestSchema, async ({ params }) => {
      seen.sampled += 1;
      if (params.messages[0].content.text === 'refuse') {
        throw new types.McpError(types.ErrorCode.InvalidParams, 'refused');
      }
      return { model: 'test', role: 'assistant', content: { type: 'text', text: 'sampled' } };
    });
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => {
      seen.changed += 1;
    });
    if (overHttp) {
      const http = await import(`${older}/client/streamableHttp.js`);
      transport = new http.StreamableHTTPClientTransport(new URL(command[0]));
    } else {
      const { StdioClientTransport } = await import(`${older}/client/stdio.js`);
      transport = new StdioClientTransport(options);
    }
  }
  client.onclose = () => say({ closed: true });
  await client.connect(transport, { timeout: patience });
  return client;
}

const client = await connect();
say({ connected: true });

const controllers = new Map(); // of calls, by their orders

async function obey(order) {
  const { call, meta, timeout } = order;
  if (call !== undefined) {
    const params = { name: call, arguments: order.arguments ?? {} };
    if (meta !== undefined) params._meta = meta;
    const options = { timeout: timeout ?? patience };
    controllers.set(order.order, new AbortController());
    options.signal = controllers.get(order.order).signal;
    if (order.progress) options.onprogress = () => { seen.progress += 1; };
    return modern ? client.callTool(params, options) : client.callTool(params, undefined, options);
  }
  if (order.abort !== undefined) return controllers.get(order.abort).abort();
  if (order.list !== undefined) return client.listTools();
  if (order.seen !== undefined) return seen;
  if (order.read !== undefined) return client.readResource({ uri: order.read });
  if (order.prompt !== undefined) return client.getPrompt({ name: order.prompt });
  if (order.close !== undefined) return client.close();
  throw new Error('no such order');
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  obey(order).then((result) => say({ order: order.order, result: result ?? null }),
    ({ message, code = null, data = null }) => say({
      order: order.order, error: String(message), code, data,
    }));
}
