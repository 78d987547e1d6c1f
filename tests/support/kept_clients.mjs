// Clients with kept connections, none of whose requests may fail: Node's own agent sends the next
// request on a connection as long as it may, and repeats nothing. Ends, with a line of JSON about
// all requests, when its standard input does.
//   kept_clients.mjs URL CLIENTS
import http from "node:http";
import https from "node:https";

const [url, clients] = process.argv.slice(2);
const module = url.startsWith("https:") ? https : http;
const run = `${process.pid}-${Date.now()}`;
const done = [];
let ending = false;

function post(agent, key, plan) {
  return new Promise((resolve) => {
    const body = '{"amount":100}';
    const headers = { "Content-Type": "application/json", "Content-Length": body.length,
                      "Idempotency-Key": key, "X-Trace-Plan": JSON.stringify(plan) };
    const options = { method: "POST", agent, headers, rejectUnauthorized: false };
    const request = module.request(url, options, (answer) => {
      const reused = request.reusedSocket;
      answer.resume();
      answer.on("end", () => resolve({ key, status: answer.statusCode, reused }));
      answer.on("error", (failure) => resolve({ key, failure: failure.message, reused }));
    });
    request.on("error", (failure) =>
      resolve({ key, failure: failure.message, reused: request.reusedSocket }));
    request.end(body);
  });
}

async function client(number) {
  const agent = new module.Agent({ keepAlive: true, maxSockets: 1 });
  for (let n = 0; !ending; n++) {
    // One in eight takes two seconds; in between, pauses in which the connection is idle.
    const slow = (number + n) % 8 === 0;
    done.push(await post(agent, `node-${run}-${number}-${n}`, slow ? { delay_ms: 2000 } : {}));
    await new Promise((resolve) => setTimeout(resolve, (n % 5) * 20));
  }
  agent.destroy();
}

process.stdin.resume();
process.stdin.on("end", () => { ending = true; });
await Promise.all(Array.from({ length: Number(clients) }, (_, number) => client(number)));
console.log(JSON.stringify(done));
