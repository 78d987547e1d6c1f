// How the process and its store are, and what the requests of the last hour got.
import { h } from "preact";

import { Drain } from "../shared/drain.jsx";
import { call } from "../shared/api.js";
import { bytes, duration, number } from "../shared/forms.js";
import { Counted } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { Chart } from "./chart.jsx";

const SAMPLES = 360;
// In the order in which they lie on one another.
const OUTCOMES = ["ran", "replayed", "waited", "busy", "mismatch", "backoff", "unknown",
  "not_kept", "refused", "store_failed", "unguarded", "observed"];

export class Overview extends Reading {
  interval = 2000;

  history = [];

  async load() {
    const after = this.history.at(-1)?.number ?? 0;
    const read = await call("GET", `/api/overview?after=${after}`, undefined, this.calls.signal);
    const anew = read.begun_at !== this.begun;
    this.begun = read.begun_at;
    if (anew && after) { // by another process, whose samples count from 1
      this.history = [];
      return this.load();
    }
    this.history = [...this.history, ...read.history].slice(-SAMPLES);
    return read;
  }

  render({ acts }, { value }) {
    if (!value) return this.notice();
    const total = Object.values(value.totals).reduce((sum, one) => sum + one, 0);
    const replays = (value.totals.replayed ?? 0) + (value.totals.waited ?? 0);
    return (
      <div>
        {this.notice()}
        <Condition value={value} />
        <dl class="figures" aria-live="off">
          <Figure name="requests" value={number(total)} />
          <Figure name="replay_share" value={`${number(total ? (100 * replays) / total : 0)} %`} />
          <Figure name="connections" value={number(value.process.connections)} />
          <Figure name="leases" value={number(value.process.leases)} />
          <Figure name="waiters" value={number(value.process.waiters)} />
          <Figure name="buffered" value={bytes(value.process.buffered_bytes)} />
        </dl>
        {this.charts(value.interval_ms / 1000)}
        <Counted records={value.records} />
        {acts && <Drain signedOut={this.props.signedOut} />}
      </div>
    );
  }

  charts(seconds) {
    const seen = OUTCOMES.filter((name) => this.history.some((one) => one.outcomes[name]));
    const rates = (seen.length ? seen : ["ran"]).map((name) => ({
      name: text(`outcome_${name}`),
      kind: `outcome-${name}`,
      values: this.history.map((one) => (one.outcomes[name] ?? 0) / seconds),
    }));
    const steps = (step) => [["median", 0], ["p99", 1]].map(([name, i]) => ({
      name: text(name),
      kind: name,
      values: this.history.map((one) => one.times_us[step]?.[i] ?? 0),
    }));
    return (
      <section aria-label={text("last_hour")}>
        <Chart title={text("requests_per_second")} series={rates} stacked form={number} />
        {["request", "claim", "settle"].map((step) => (
          <Chart key={step} title={text(`time_${step}`)} series={steps(step)} form={duration} />
        ))}
      </section>
    );
  }
}

function Figure({ name, value }) {
  return <div><dt>{text(name)}</dt><dd>{value}</dd></div>;
}

function Condition({ value }) {
  const troubles = value.unready.map((one) => [text(`unready_${one.reason}`), one.why]
    .filter(Boolean).join(": "));
  if (value.store.forgot) troubles.push(text("store_forgot"));
  if (value.process.reload_refused) troubles.push(text("reload_refused"));
  return (
    <div class={troubles.length ? "condition bad" : "condition good"} role="status">
      <b>{troubles.length ? text("not_well") : text("well")}</b>
      {" "}Onceguard {value.version}, {text("store")} {value.store.name}
      {troubles.length > 0 && <ul>{troubles.map((one) => <li key={one}>{one}</li>)}</ul>}
    </div>
  );
}
