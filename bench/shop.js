// The work of the services that are compared: a charge. With CHARGES, a file, each charge takes
// WORK_MS, and amid that time writes a line with its key there: the effect that is counted.
const fs = require("node:fs");
const { setTimeout: pause } = require("node:timers/promises");

const half = Number(process.env.WORK_MS || 40) / 2;
const charges = process.env.CHARGES ? fs.openSync(process.env.CHARGES, "a") : null;
const note = "x".repeat(100);

async function charge(request, response) {
  if (charges !== null) {
    await pause(half);
    fs.writeSync(charges, `${request.get("Idempotency-Key")}\n`);
    await pause(half);
  }
  const { amount, currency } = request.body;
  response.status(201).json({ id: "ch_1", amount, currency, status: "succeeded", note });
}

/** Listens where the environment says. */
function open(app) {
  app.listen(Number(process.env.PORT || 9000), "127.0.0.1");
}

module.exports = { charge, open };
