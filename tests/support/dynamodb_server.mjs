// A stand-in for Amazon DynamoDB: dynalite, with its tables in memory. In front of it stands what
// dynalite 4.0.0 has not, as Amazon's documentation describes it:
// - signatures are verified (SigV4), and their date;
// - a write whose condition did not hold returns the item (ReturnValuesOnConditionCheckFailure);
// - TransactWriteItems, of a Put and an Update, with its reasons and its ClientRequestToken;
// - UpdateTimeToLive, and DescribeTimeToLive of what it set. Nothing expires by itself: DynamoDB
//   may take days, and a store may not rely on it.
// Requests with the header X-Test-Admin are the tests' own, and need no signature.
import crypto from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";

const [port, keyId, secret] = process.argv.slice(2);
const require = createRequire(new URL("../package.json", import.meta.url));
const dynalite = require("dynalite");
const tables = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });

const CONDITION = "ConditionalCheckFailedException";
const ttl = new Map(); // of a table: the attribute
const transactions = new Map(); // of a ClientRequestToken: its answer
const turns = new Map(); // of a key that is being written: the last in line

const digest = (text) => crypto.createHash("sha256").update(text).digest("hex");
const hmac = (key, text) => crypto.createHmac("sha256", key).update(text).digest();

function problem(type, message, more = {}) {
  const body = { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message, ...more };
  return { status: 400, body };
}

/// What is wrong with the signature; null: nothing.
function faultOf(request, body) {
  const header = request.headers.authorization ?? "";
  const parts = Object.fromEntries(
    header.replace("AWS4-HMAC-SHA256", "").split(",").map((part) => part.trim().split("=")),
  );
  if (!parts.Credential || !parts.SignedHeaders || !parts.Signature) {
    return problem("MissingAuthenticationTokenException", "Authentication Token is missing");
  }
  const [id, day, region, service, last] = parts.Credential.split("/");
  if (id !== keyId) {
    return problem("UnrecognizedClientException", "The security token is invalid.");
  }
  const date = request.headers["x-amz-date"] ?? "";
  const at = Date.parse(date.replace(/(....)(..)(..T..)(..)(..)/, "$1-$2-$3:$4:$5"));
  if (Math.abs(at - Date.now()) > 15 * 60_000) {
    const word = at < Date.now() ? "Signature expired" : "Signature not yet current";
    return problem("InvalidSignatureException", `${word}: ${date} is too far from our time`);
  }
  const names = parts.SignedHeaders.split(";");
  const headers = names.map((name) => `${name}:${(request.headers[name] ?? "").trim()}\n`).join("");
  const canonical = ["POST", "/", "", headers, parts.SignedHeaders, digest(body)].join("\n");
  const scope = [day, region, service, last].join("/");
  const text = ["AWS4-HMAC-SHA256", date, scope, digest(canonical)].join("\n");
  const key = [day, region, service, last].reduce(hmac, `AWS4${secret}`);
  if (service !== "dynamodb" || hmac(key, text).toString("hex") !== parts.Signature) {
    return problem("InvalidSignatureException", "The request signature does not match.");
  }
  return null;
}

/// Asks dynalite, which looks only whether there is a signature: as its server would, without one.
function ask(action, body) {
  const asked = Readable.from([Buffer.from(JSON.stringify(body))]);
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `DynamoDB_20120810.${action}`,
    "x-amz-date": "20260101T000000Z",
    authorization: "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=f",
  };
  return new Promise((resolve) => {
    const answer = {
      statusCode: 200,
      setHeader() {},
      end(text) {
        resolve({ status: answer.statusCode, body: JSON.parse(text ?? "{}") });
      },
    };
    tables.emit("request", Object.assign(asked, { method: "POST", url: "/", headers }), answer);
  });
}

const keyOf = (call) => JSON.stringify([call.TableName, (call.Key ?? call.Item).id]);

/// Writes of one key go one after the other, so that a failed condition returns what it met.
async function inTurn(keys, work) {
  const before = keys.map((key) => turns.get(key));
  let leave;
  const mine = new Promise((resolve) => (leave = resolve));
  for (const key of keys) turns.set(key, mine);
  await Promise.all(before);
  try {
    return await work();
  } finally {
    leave();
    for (const key of keys) if (turns.get(key) === mine) turns.delete(key);
  }
}

async function write(action, call) {
  const { ReturnValuesOnConditionCheckFailure: wanted, ...rest } = call;
  const answer = await ask(action, rest);
  if (wanted !== "ALL_OLD" || !answer.body.__type?.endsWith(CONDITION)) return answer;
  const Key = { id: (call.Key ?? call.Item).id };
  const seen = await ask("GetItem", { TableName: call.TableName, Key, ConsistentRead: true });
  if (seen.body.Item) answer.body.Item = seen.body.Item;
  return answer;
}

/// The conditions first: of what comes later in the list, that the item is there.
async function transact({ TransactItems: items, ClientRequestToken: token }) {
  if (transactions.has(token)) return transactions.get(token);
  const calls = items.map((item) => Object.entries(item)[0]);
  const answer = await inTurn(calls.map(([, call]) => keyOf(call)), async () => {
    const reasons = calls.map(() => ({ Code: "None" }));
    const cancelled = () => problem("TransactionCanceledException", "Transaction cancelled",
                                    { CancellationReasons: reasons });
    for (const [i, [, call]] of calls.entries()) {
      if (i === 0) continue;
      const Key = call.Key;
      const seen = await ask("GetItem", { TableName: call.TableName, Key, ConsistentRead: true });
      if (seen.status !== 200) return seen;
      if (seen.body.Item) continue;
      reasons[i] = { Code: "ConditionalCheckFailed", Message: "The conditional request failed" };
      return cancelled();
    }
    for (const [i, [kind, call]] of calls.entries()) {
      const done = await write(kind === "Put" ? "PutItem" : "UpdateItem", call);
      if (done.status === 200) continue;
      if (!done.body.__type?.endsWith(CONDITION)) return done;
      reasons[i] = { Code: "ConditionalCheckFailed", Message: "The conditional request failed",
                     Item: done.body.Item };
      return cancelled();
    }
    return { status: 200, body: {} };
  });
  if (answer.status === 200) transactions.set(token, answer);
  return answer;
}

async function carryOut(action, call) {
  const TableName = call.TableName;
  switch (action) {
    case "PutItem":
    case "UpdateItem":
      return inTurn([keyOf(call)], () => write(action, call));
    case "TransactWriteItems":
      return transact(call);
    case "UpdateTimeToLive":
    case "DescribeTimeToLive": {
      const table = await ask("DescribeTable", { TableName });
      if (table.status !== 200) return table;
      const wanted = call.TimeToLiveSpecification;
      if (action === "UpdateTimeToLive") ttl.set(TableName, wanted.AttributeName);
      const AttributeName = ttl.get(TableName);
      const described = AttributeName ? { TimeToLiveStatus: "ENABLED", AttributeName }
                                      : { TimeToLiveStatus: "DISABLED" };
      return { status: 200, body: { TimeToLiveDescription: described } };
    }
    default:
      return ask(action, call);
  }
}

async function answer(request, body) {
  if (!request.headers["x-test-admin"]) {
    const fault = faultOf(request, body);
    if (fault) return fault;
  }
  return carryOut((request.headers["x-amz-target"] ?? "").split(".")[1], JSON.parse(body));
}

const front = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("error", () => {});
  response.on("error", () => {});
  request.on("end", async () => {
    let done = { status: 200, body: "healthy" };
    try {
      if (request.method === "POST") done = await answer(request, Buffer.concat(pieces));
    } catch (error) {
      const message = String(error?.stack);
      done = { status: 500, body: { __type: "InternalServerError", message } };
    }
    const text = JSON.stringify(done.body);
    response.writeHead(done.status, {
      "Content-Type": "application/x-amz-json-1.0",
      "Content-Length": Buffer.byteLength(text),
    });
    response.end(text);
  });
});
front.keepAliveTimeout = 60_000;

front.listen(Number(port), "127.0.0.1");
