// A shop behind one of the packages that npm has for idempotency keys, on Redis, or behind the
// client of `onceguard serve`. Each is set up as its documentation shows.
//
//   npm install && MIDDLEWARE=onceguard SERVICE=unix:/run/serve.sock PORT=9000 node server.js
const express = require("express");
const { charge, open } = require("../shop.js");

const redis = `redis://127.0.0.1:${process.env.REDIS_PORT || 6379}`;
const lease = Number(process.env.LEASE_MS || 24 * 3600 * 1000);

const middlewares = {
  async "express-idempotency"(app) {
    const { idempotency, getSharedIdempotencyService } = require("express-idempotency");
    const { default: RedisAdapter } = require("express-idempotency-redis-adapter");
    const dataAdapter = new RedisAdapter({ connectionConfig: { url: redis } });
    await dataAdapter.connect();
    app.use(express.json());
    app.use(idempotency({ dataAdapter }));
    app.use((request, response, next) => {
      if (!getSharedIdempotencyService().isHit(request)) next();
    });
  },

  async "node-idempotency"(app) {
    const { Idempotency } = require("@node-idempotency/core");
    const { RedisStorageAdapter } = require("@node-idempotency/storage-adapter-redis");
    const storage = new RedisStorageAdapter({ url: redis });
    await storage.connect();
    const guard = new Idempotency(storage, { cacheTTLMS: lease });
    app.use(express.json());
    app.use(async (request, response, next) => {
      const { headers, path, body, method } = request;
      const about = { headers, path, body, method };
      try {
        const known = await guard.onRequest(about);
        if (known) return response.status(known.additional.status).json(known.body);
      } catch (refused) {
        return response.status(refused.code === "REQUEST_IN_PROGRESS" ? 409 : 422).end();
      }
      const send = response.json.bind(response);
      response.json = (body) => {
        const answer = { body, additional: { status: response.statusCode } };
        guard.onResponse(about, answer).then(() => send(body), next);
        return response;
      };
      return next();
    });
  },

  async onceguard(app) {
    const onceguard = require("../../clients/node");
    const client = onceguard.connect({ url: process.env.SERVICE });
    app.use(client.express());
    app.use(express.json());
  },

  async none(app) {
    app.use(express.json());
  },
};

async function main() {
  const app = express();
  await middlewares[process.env.MIDDLEWARE || "none"](app);
  app.post("/charges", (request, response, next) => charge(request, response).catch(next));
  open(app);
}

main();
