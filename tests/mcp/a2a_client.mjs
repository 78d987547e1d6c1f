// A client of the A2A protocol's official SDK: node a2a_client.mjs 0.3|1 URL send|stream ID TEXT
// Writes a JSON array of what it got: the result or the events, or `{error}` behind them.
const [version, url, how, messageId, text] = process.argv.slice(2);
const older = version === '0.3';
const sdk = older ? '@a2a-js/sdk' : 'a2a-sdk-1';
const { Role } = await import(sdk);
const { ClientFactory } = await import(`${sdk}/client`);

const message = older
  ? { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }] }
  : {
    messageId, contextId: '', taskId: '', role: Role.ROLE_USER, metadata: undefined,
    extensions: [], referenceTaskIds: [],
    parts: [{
      content: { $case: 'text', value: text }, metadata: undefined, filename: '',
      mediaType: 'text/plain',
    }],
  };
const params = older ? { message }
  : { tenant: '', message, configuration: undefined, metadata: undefined };
const got = [];
try {
  const client = await new ClientFactory().createFromUrl(url);
  if (how === 'send') {
    got.push(await client.sendMessage(params));
  } else {
    for await (const event of client.sendMessageStream(params)) got.push(event);
  }
} catch (error) {
  got.push({ error: String(error.message), data: error.data ?? null });
}
process.stdout.write(JSON.stringify(got));
process.exit(0);
