// The messages of a producer that uses the CNCF's SDK, as JSON: the same id from two sources, in
// each of its modes.
import { CloudEvent, HTTP, Kafka, MQTT } from "cloudevents";

const modes = {
  "http-binary": HTTP.binary,
  "http-structured": HTTP.structured,
  "kafka-binary": Kafka.binary,
  "kafka-structured": Kafka.structured,
  "mqtt-binary": MQTT.binary,
};
const out = {};
for (const [name, encode] of Object.entries(modes)) {
  out[name] = ["/shops/a", "/shops/b"].map((source) => {
    const made = encode(new CloudEvent({
      id: "1", source, type: "paid", time: "2026-01-31T12:00:00Z", data: { amount: 1 } }));
    const body = typeof made.body === "string" ? made.body : JSON.stringify(made.body);
    return { headers: Object.entries(made.headers), body };
  });
}
console.log(JSON.stringify(out));
