// A shop with the middleware that articles on idempotency keys propose: SET NX PX claims the key,
// SET EX stores the answer, GET finds it again. It answers as the upstream of the gateway does.
//
//   npm install && REDIS_PORT=6379 PORT=9000 node server.js
const express = require("express");
const Redis = require("ioredis");
const { charge, open } = require("../shop.js");

const redis = new Redis({ host: "127.0.0.1", port: Number(process.env.REDIS_PORT || 6379) });
const lease = Number(process.env.LEASE_MS || 30000);
const retention = 24 * 3600;

async function once(request, response, next) {
  const key = request.get("Idempotency-Key");
  if (key === undefined) return next();
  const name = `idempotency:${key}`;
  const claimed = await redis.set(name, "in progress", "PX", lease, "NX");
  if (claimed === null) {
    const stored = await redis.get(name);
    if (stored === null || stored === "in progress") return response.status(409).end();
    const { status, body } = JSON.parse(stored);
    return response.status(status).json(body);
  }
  const send = response.json.bind(response);
  response.json = (body) => {
    const answer = JSON.stringify({ status: response.statusCode, body });
    redis.set(name, answer, "EX", retention).then(() => send(body), next);
    return response;
  };
  return next();
}

const app = express();
app.use(express.json());
app.use((request, response, next) => once(request, response, next).catch(next));

app.post("/charges", (request, response, next) => charge(request, response).catch(next));

open(app);
