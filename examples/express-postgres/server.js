// A shop whose charge and whose word to Onceguard commit together: exactly once.
//
//   onceguard migrate --store postgresql:///shop
//   npm install && DATABASE_URL=postgresql:///shop PORT=9000 npm start
//   onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000 \
//     --store postgresql:///shop --effect transactional
const express = require("express");
const { Pool } = require("pg");

const app = express();
const shop = new Pool({ connectionString: process.env.DATABASE_URL || "postgresql:///shop" });

shop.on("error", () => {}); // an idle session was lost: the pool makes another
app.use(express.json());

app.post("/charges", async (request, response, next) => {
  const { amount, card } = request.body;
  if (!Number.isInteger(amount) || amount <= 0) {
    response.status(400).json({ error: "amount must be a positive whole number of cents" });
    return;
  }
  const session = await shop.connect().catch(next);
  if (!session) return;
  try {
    await session.query("BEGIN"); // one transaction: all of it, or nothing
    const made = await session.query(
      "INSERT INTO charges (amount, card) VALUES ($1, $2) RETURNING id, amount, card",
      [amount, card]);
    const charge = made.rows[0];
    const headers = [["Content-Type", "application/json"], ["Location", `/charges/${charge.id}`]];
    const body = Buffer.from(JSON.stringify(charge));
    await session.query("SELECT onceguard.complete($1, $2, $3, $4)",
      [request.get("Onceguard-Lease"), 201, headers, body]);
    await session.query("COMMIT");
    response.status(201).set(Object.fromEntries(headers)).send(body);
  } catch (failed) {
    await session.query("ROLLBACK").catch(() => {});
    next(failed);
  } finally {
    session.release();
  }
});

app.get("/charges", async (request, response) => {
  const { rows } = await shop.query("SELECT id, amount, card FROM charges ORDER BY id");
  response.json({ count: rows.length, charges: rows });
});

shop.query("CREATE TABLE IF NOT EXISTS charges (id integer PRIMARY KEY GENERATED ALWAYS " +
           "AS IDENTITY, amount integer NOT NULL, card text)")
  .then(() => app.listen(Number(process.env.PORT || 9000), "127.0.0.1"));
