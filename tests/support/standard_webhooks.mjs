// Verifies deliveries as a receiver does that has one of the secrets: standardwebhooks, from npm.
// Input: a line of JSON each, {secret, headers, body}; output: "good", or why not.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    console.log("good");
  } catch (error) {
    console.log(error.message);
  }
}
