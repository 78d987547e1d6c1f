// What requests got and how long their steps took, sample by sample.
import { h } from "preact";

import { duration, number } from "../shared/forms.js";
import { text } from "../shared/texts.js";
import { Chart } from "./chart.jsx";

// In the order in which they lie on one another.
const OUTCOMES = ["ran", "replayed", "waited", "busy", "mismatch", "backoff", "unknown",
  "not_kept", "refused", "store_failed", "unguarded", "observed"];

/** `interval`: milliseconds of a sample of the history. */
export function Charts({ history, interval, label }) {
  const seen = OUTCOMES.filter((name) => history.some((one) => one.outcomes[name]));
  const rates = (seen.length ? seen : ["ran"]).map((name) => ({
    name: text(`outcome_${name}`),
    kind: `outcome-${name}`,
    values: history.map((one) => ((one.outcomes[name] ?? 0) * 1000) / interval),
  }));
  const steps = (step) => [["median", 0], ["p99", 1]].map(([name, i]) => ({
    name: text(name),
    kind: name,
    values: history.map((one) => one.times_us[step]?.[i] ?? 0),
  }));
  return (
    <section aria-label={label}>
      <Chart title={text("requests_per_second")} series={rates} stacked form={number}
             interval={interval} />
      {["request", "claim", "settle"].map((step) => (
        <Chart key={step} title={text(`time_${step}`)} series={steps(step)} form={duration}
               interval={interval} />
      ))}
    </section>
  );
}
