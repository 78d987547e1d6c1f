// A shop that charges cards and writes each charge into its ledger. It knows nothing of
// Onceguard, and nothing of retries: every POST that arrives is a charge.
//
//   npm install && PORT=9000 npm start
//   onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000
const express = require("express");

const app = express();
const ledger = [];

app.use(express.json());

app.post("/charges", (request, response) => {
  const { amount, card } = request.body;
  if (!Number.isInteger(amount) || amount <= 0) {
    response.status(400).json({ error: "amount must be a positive whole number of cents" });
    return;
  }
  const charge = { id: ledger.length + 1, amount, card };
  ledger.push(charge);
  response.status(201).location(`/charges/${charge.id}`).json(charge);
});

app.get("/charges", (request, response) => {
  response.json({ count: ledger.length, charges: ledger });
});

const server = app.listen(Number(process.env.PORT || 9000), process.env.HOST || "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
