// What requests and answers of UCP, ACP and x402 must be, as the packages of their types have it:
// each reader throws where they are not.
// node contract_types.mjs reads tools and their answers, a JSON array of pairs, as a client does.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { parsePaymentPayload, parsePaymentRequired } from '@x402/core/schemas';

const require = createRequire(import.meta.url); // one has no entry for modules that Node.js finds
const ucp = require('@ucp-js/sdk');
const acp = (name) => {
  const models = require(`agentic-commerce-protocol/dist/models/${name}.js`);
  return models[`${name[0].toUpperCase()}${name.slice(1)}Serializer`];
};

/// What its serializer does not know is not there behind it.
function isOf(name, value) {
  const serializer = acp(name);
  const written = serializer._toJsonObject(serializer._fromJsonObject(value));
  assert.deepEqual(JSON.parse(JSON.stringify(written)), value);
}

const parsed = ({ success, data, error }) => {
  if (!success) throw error;
  assert.equal(data.x402Version, 2);
};

export const requests = {
  create_checkout: (given) => ucp.CheckoutCreateRequestSchema.strict().parse(given.checkout),
  complete_checkout: (given) => ucp.PaymentDataSchema.strict().parse(given.checkout),
  create_checkout_session: ({ payload }) => isOf('checkoutSessionCreateRequest', payload),
  complete_checkout_session: ({ payload }) => isOf('checkoutSessionCompleteRequest', payload),
  analysis: (given, meta) => parsed(parsePaymentPayload(meta['x402/payment'])),
};

const checkout = ({ structuredContent }) => {
  ucp.CheckoutResponseSchema.strict().parse(structuredContent);
};
const session = (answer) => {
  if (answer.data) {
    const { type, code, message, param, ...more } = answer.data;
    isOf('error', JSON.parse(JSON.stringify({ type, code, message, param })));
    assert.ok(Object.values(require('agentic-commerce-protocol').ErrorType).includes(type));
    assert.ok(code && message && answer.code === -32000);
    assert.ok(Object.keys(more).every((name) => name.startsWith('onceguard/')));
  } else {
    isOf('checkoutSession', answer.structuredContent);
  }
};

export const answers = {
  create_checkout: checkout,
  complete_checkout: checkout,
  create_checkout_session: session,
  complete_checkout_session: session,
  analysis: (answer) => {
    if (answer.isError) {
      parsed(parsePaymentRequired(answer.structuredContent));
      const { code, data } = JSON.parse(answer.content[0].text)['x402/error'];
      assert.equal(code, 402);
      parsed(parsePaymentRequired(data));
    } else {
      const { success, transaction, network } = answer._meta['x402/payment-response'];
      assert.ok(success === true && transaction && network);
    }
  },
};

if (process.argv[1] === import.meta.filename) {
  for (const [tool, answer] of JSON.parse(fs.readFileSync(0))) answers[tool](answer);
}
