// Stripe's own SDK as the client of a gateway. The program's argument is what to do, as JSON; it
// prints what became of each call, as JSON.
import Stripe from "stripe";

const wanted = JSON.parse(process.argv[2]);
const stripe = new Stripe("sk_test_nobody", {
  host: "127.0.0.1", port: wanted.port, protocol: "http", telemetry: false,
  maxNetworkRetries: wanted.retries ?? 8, timeout: 20000,
});

async function charge({ amount, key, account }) {
  try {
    const made = await stripe.charges.create(
      { amount, currency: "eur", source: "tok_visa", description: "Ann & Lee" },
      account ? { idempotencyKey: key, stripeAccount: account } : { idempotencyKey: key });
    return { made, status: made.lastResponse.statusCode };
  } catch (error) {
    return {
      raised: error.constructor.name, type: error.type, code: error.code,
      status: error.statusCode, message: error.message,
      idempotency: error instanceof Stripe.errors.StripeIdempotencyError,
    };
  }
}

const results = [];
if (wanted.together) {
  results.push(...await Promise.all(wanted.calls.map(charge)));
} else {
  for (const call of wanted.calls) results.push(await charge(call));
}
console.log(JSON.stringify(results));
// The SDK keeps connections of refused requests open for a while.
process.stdout.write("", () => process.exit(0));
