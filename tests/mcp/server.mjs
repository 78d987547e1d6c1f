// A server of the official SDK: node server.mjs 2025-06-18|2025-11-25|2026-07-28 [PORT]
// The first is version 1.17 of the SDK, which the second follows with 1.32.
// On standard streams, or on a port over streamable HTTP. Effects are lines in the file $EFFECTS;
// tools that wait do so until the file $GATE is there.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const [revision, port] = process.argv.slice(2);
const modern = revision === '2026-07-28';
const sdk = revision === '2025-06-18' ? 'mcp-sdk-1.17' : '@modelcontextprotocol/sdk';
// Each version of the SDK has its own zod.
const { z } = createRequire(import.meta.resolve(`${sdk}/types.js`))('zod');
const identity = { name: 'tests', version: '1' };
const text = (value, more = {}) => ({ content: [{ type: 'text', text: String(value) }], ...more });
const count = (name) => {
  fs.appendFileSync(process.env.EFFECTS, `${name}\n`);
  const lines = fs.readFileSync(process.env.EFFECTS, 'utf8').split('\n');
  return lines.filter((one) => one === name).length;
};
const opened = async () => {
  while (!fs.existsSync(process.env.GATE)) await new Promise((done) => setTimeout(done, 20));
};

// name, hints, handler(arguments, context)
const tools = [
  ['charge', {}, async ({ amount }) => text(`charge ${count('charge')} of ${amount}`)],
  ['show', { readOnlyHint: true }, async () => text(`shown ${count('show')}`)],
  ['put', { idempotentHint: true }, async (given) => {
    const n = count('put');
    if (given.text === 'wait') await opened();
    return text(`put ${n}`);
  }],
  ['note', { destructiveHint: false }, async () => text(`noted ${count('note')}`)],
  ['slow', {}, async (given) => {
    const n = count('slow');
    await opened();
    return text(`slow ${n}`, { isError: given.text === 'fail' });
  }],
  ['fail', {}, async () => text(`failed ${count('fail')}`, { isError: true })],
  ['crash', {}, async () => { count('crash'); process.exit(7); }],
  ['structured', {}, async () => text('{}', { structuredContent: { n: count('structured') } })],
];
const shape = { amount: z.number().optional(), text: z.string().optional() };

async function legacyServer() {
  const { McpServer } = await import(`${sdk}/server/mcp.js`);
  const { EmptyResultSchema } = await import(`${sdk}/types.js`);
  return () => {
    const server = new McpServer(identity, { capabilities: { logging: {} } });
    for (const [name, annotations, run] of tools) {
      server.registerTool(name, { description: name, inputSchema: shape, annotations }, run);
    }
    server.registerTool('steps', { inputSchema: shape }, async (given, context) => {
      count('steps');
      for (let i = 1; i <= 3; i += 1) {
        await context.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: context._meta?.progressToken ?? 0, progress: i, total: 3 },
        });
      }
      // The client of the SDK loses those that arrive in one piece with the result: it answers a
      // ping when it has handled what came before.
      await context.sendRequest({ method: 'ping' }, EmptyResultSchema);
      return text('three steps');
    });
    server.registerTool('ask', { inputSchema: shape }, async () => {
      const asked = await server.server.elicitInput({
        message: 'sure?',
        requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
      });
      return text(`${asked.action} ${count('ask')}`);
    });
    server.registerTool('sample', { inputSchema: shape }, async () => {
      const made = await server.server.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }], maxTokens: 10,
      });
      return text(`${made.content.text} ${count('sample')}`);
    });
    // Errors that come after the effect, and have the codes of a request that was refused.
    server.registerTool('broken', { inputSchema: shape, outputSchema: { n: z.number() } },
      async () => text(`without its structure ${count('broken')}`));
    server.registerTool('refused', { inputSchema: shape }, async () => {
      count('refused');
      await server.server.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: 'refuse' } }], maxTokens: 10,
      });
    });
    server.registerTool('grow', { inputSchema: shape }, async () => {
      server.registerTool('grown', { inputSchema: shape, annotations: { readOnlyHint: true } },
        async () => text(`grown ${count('grown')}`));
      return text('one more');
    });
    server.registerResource('greeting', 'test://greeting', { title: 'Greeting' },
      async (uri) => ({ contents: [{ uri: uri.href, text: 'hello' }] }));
    server.registerPrompt('hello', { description: 'hello' },
      async () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] }));
    return server;
  };
}

async function modernServer() {
  const { McpServer, acceptedContent, inputRequired } =
    await import('@modelcontextprotocol/server');
  return () => {
    const server = new McpServer(identity, { capabilities: { tools: {} } });
    for (const [name, annotations, run] of tools) {
      const inputSchema = z.object(shape);
      server.registerTool(name, { description: name, inputSchema, annotations }, run);
    }
    const sure = z.object({ sure: z.boolean() });
    server.registerTool('ask', { inputSchema: z.object(shape) }, async (given, context) => {
      const got = acceptedContent(context.mcpReq.inputResponses, 'sure', sure);
      if (got === undefined) {
        return inputRequired({
          inputRequests: {
            sure: inputRequired.elicit({ message: 'sure?', requestedSchema: sure }),
          },
        });
      }
      return text(`accept ${count('ask')}`);
    });
    return server;
  };
}

async function serveHttp(make) {
  const http = await import('node:http');
  const body = async (request) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    return Buffer.concat(parts);
  };
  if (!modern) {
    const { StreamableHTTPServerTransport } =
      await import(`${sdk}/server/streamableHttp.js`);
    const { InMemoryEventStore } =
      await import(`${sdk}/examples/shared/inMemoryEventStore.js`);
    const { randomUUID } = await import('node:crypto');
    const sessions = new Map();
    return http.createServer(async (request, response) => {
      let transport = sessions.get(request.headers['mcp-session-id']);
      if (transport === undefined) {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          enableJsonResponse: process.env.JSON_RESPONSE === '1',
          eventStore: new InMemoryEventStore(),
          onsessioninitialized: (id) => sessions.set(id, transport),
        });
        await make().connect(transport);
      }
      await transport.handleRequest(request, response);
    }).listen(Number(port), '127.0.0.1');
  }
  const { createMcpHandler } = await import('@modelcontextprotocol/server');
  const handler = createMcpHandler(make);
  return http.createServer(async (request, response) => {
    const sent = await body(request);
    const answer = await handler.fetch(new Request(`http://127.0.0.1:${port}${request.url}`, {
      method: request.method,
      headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      body: sent.length > 0 ? sent : undefined,
    }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) for await (const part of answer.body) response.write(part);
    response.end();
  }).listen(Number(port), '127.0.0.1');
}

const make = modern ? await modernServer() : await legacyServer();
if (port !== undefined) {
  await serveHttp(make);
} else if (modern) {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  serveStdio(make);
} else {
  const { StdioServerTransport } = await import(`${sdk}/server/stdio.js`);
  await make().connect(new StdioServerTransport());
}
