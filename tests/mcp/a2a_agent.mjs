// An agent of the A2A protocol, made with its official SDK: node a2a_agent.mjs 0.3|1 PORT URL
// URL is what its card says of it. Effects are lines in the file $EFFECTS; the text `wait` waits
// for the file $GATE.
import fs from 'node:fs';
import express from 'express';

const [version, port, url] = process.argv.slice(2);
const older = version === '0.3';
const sdk = older ? '@a2a-js/sdk' : 'a2a-sdk-1';
const { AGENT_CARD_PATH, Role, TaskState } = await import(sdk);
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await import(`${sdk}/server`);
const { agentCardHandler, jsonRpcHandler, UserBuilder } = await import(`${sdk}/server/express`);

const shared = {
  name: 'tests',
  description: 'takes orders',
  version: '1',
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [],
};
const card = older ? { ...shared, protocolVersion: '0.3.0', url, preferredTransport: 'JSONRPC' } : {
  ...shared,
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
};

const count = (text) => {
  fs.appendFileSync(process.env.EFFECTS, 'order\n');
  return fs.readFileSync(process.env.EFFECTS, 'utf8').split('\n').length - 1;
};
const opened = async () => {
  while (!fs.existsSync(process.env.GATE)) await new Promise((done) => setTimeout(done, 20));
};

const executor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const [part] = userMessage.parts;
    const text = older ? part.text : part.content.value;
    const n = count();
    const timestamp = new Date().toISOString();
    const artifact = older
      ? { artifactId: `order-${n}`, parts: [{ kind: 'text', text: `order ${n}` }] }
      : {
        artifactId: `order-${n}`, name: '', description: '', extensions: [], metadata: undefined,
        parts: [{
          content: { $case: 'text', value: `order ${n}` }, metadata: undefined, filename: '',
          mediaType: 'text/plain',
        }],
      };
    if (older) {
      bus.publish({
        kind: 'task', id: taskId, contextId, history: [userMessage],
        status: { state: 'submitted', timestamp },
      });
      if (text === 'wait') await opened();
      bus.publish({ kind: 'artifact-update', taskId, contextId, artifact });
      bus.publish({
        kind: 'status-update', taskId, contextId, final: true,
        status: { state: 'completed', timestamp },
      });
    } else {
      const status = (state) => ({ state, message: undefined, timestamp });
      bus.publish(AgentEvent.task({
        id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined,
        status: status(TaskState.TASK_STATE_SUBMITTED),
      }));
      if (text === 'wait') await opened();
      bus.publish(AgentEvent.artifactUpdate({
        taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined,
      }));
      bus.publish(AgentEvent.statusUpdate({
        taskId, contextId, metadata: undefined, status: status(TaskState.TASK_STATE_COMPLETED),
      }));
    }
    bus.finished();
  },
  cancelTask: async () => {},
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(Number(port), '127.0.0.1');
