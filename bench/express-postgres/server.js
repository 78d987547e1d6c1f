// A shop with the middleware that articles on idempotency keys propose: a transaction finds or
// inserts and locks the key, the work runs, and another transaction stores the answer. It answers
// as the upstream of the gateway does.
//
//   npm install && DATABASE_URL=postgresql://… PORT=9000 node server.js
const express = require("express");
const { Pool } = require("pg");
const { createHash } = require("node:crypto");
const { charge, open } = require("../shop.js");

const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const tables = `
CREATE TABLE IF NOT EXISTS article_keys (
  scope text, key text, fingerprint bytea NOT NULL, locked_at timestamptz,
  status integer, answer text, PRIMARY KEY (scope, key))`;

const find = {
  name: "find",
  text: `SELECT fingerprint, locked_at, status, answer FROM article_keys
         WHERE scope = $1 AND key = $2 FOR UPDATE`,
};
const insert = {
  name: "insert",
  text: `INSERT INTO article_keys (scope, key, fingerprint, locked_at)
         VALUES ($1, $2, $3, now()) ON CONFLICT DO NOTHING`,
};
const store = {
  name: "store",
  text: `UPDATE article_keys SET status = $3, answer = $4, locked_at = NULL
         WHERE scope = $1 AND key = $2`,
};

/** What is stored for the key; null: this request has the key now, and is to do the work. */
async function claim(scope, key, fingerprint) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query({ ...find, values: [scope, key] });
    let locked = rows[0] ?? null;
    if (locked === null) {
      const made = await client.query({ ...insert, values: [scope, key, fingerprint] });
      if (made.rowCount === 0) locked = { status: null };
    }
    await client.query("COMMIT");
    return locked;
  } catch (failed) {
    await client.query("ROLLBACK");
    throw failed;
  } finally {
    client.release();
  }
}

async function once(request, response, next) {
  const key = request.get("Idempotency-Key");
  if (key === undefined) return next();
  const scope = request.get("Authorization") ?? "";
  const fingerprint = createHash("sha256").update(JSON.stringify(request.body)).digest();
  const stored = await claim(scope, key, fingerprint);
  if (stored !== null) {
    if (stored.status === null) return response.status(409).end();
    if (!stored.fingerprint.equals(fingerprint)) return response.status(422).end();
    return response.status(stored.status).json(JSON.parse(stored.answer));
  }
  const send = response.json.bind(response);
  response.json = (body) => {
    const values = [scope, key, response.statusCode, JSON.stringify(body)];
    pool.query({ ...store, values }).then(() => send(body), next);
    return response;
  };
  return next();
}

const app = express();
app.use(express.json());
app.use((request, response, next) => once(request, response, next).catch(next));

app.post("/charges", (request, response, next) => charge(request, response).catch(next));

pool.query(tables).then(() => open(app));
