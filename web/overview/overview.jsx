// How the process and its store are, and what the requests got: in the last hour, or, where a
// Prometheus keeps more, in days.
import { h } from "preact";

import { Drain } from "../shared/drain.jsx";
import { call } from "../shared/api.js";
import { bytes, number, span } from "../shared/forms.js";
import { Counted, Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { pressingOf, refusedOf } from "../shared/refusals.js";
import { Changes } from "./changes.jsx";
import { Charts } from "./charts.jsx";
import { LongerHistory } from "./longer_history.jsx";

const SAMPLES = 360;
const PRESSING = 5; // lines
const SPANS = ["1h", "6h", "1d", "7d", "30d"];

export class Overview extends Reading {
  interval = 5000;

  history = [];

  state = { ...this.state, span: SPANS[0] };

  async load() {
    const after = this.history.at(-1)?.number ?? 0;
    const read = await call("GET", `/api/overview?after=${after}`, undefined, this.calls.signal);
    const anew = read.begun_at !== this.begun;
    this.begun = read.begun_at;
    if (anew && after) { // by another process, whose samples count from 1
      this.history = [];
      return this.load();
    }
    const states = read.records.by_state;
    this.props.unknown?.(states ? states.unknown + states.unreadable : 0);
    this.history = [...this.history, ...read.history].slice(-SAMPLES);
    return read;
  }

  render({ acts }, { value, span: chosen }) {
    if (!value) return this.notice();
    const total = Object.values(value.totals).reduce((sum, one) => sum + one, 0);
    const replays = (value.totals.replayed ?? 0) + (value.totals.waited ?? 0);
    const refused = this.history.reduce((sum, one) => sum + refusedOf(one.outcomes), 0);
    const pressing = pressingOf(value.routes, Date.parse(value.at));
    return (
      <div>
        {this.notice()}
        <Condition value={value} refused={refused} pressing={pressing} />
        <Open records={value.records} />
        <Counted records={value.records} />
        <dl class="figures" aria-live="off">
          <Figure name="requests" value={number(total)} href="#/routes" />
          <Figure name="replay_share" value={`${number(total ? (100 * replays) / total : 0)} %`} />
          <Figure name="connections" value={number(value.process.connections)} />
          <Figure name="leases" value={number(value.process.leases)} />
          <Figure name="waiters" value={number(value.process.waiters)} />
          <Figure name="buffered" value={bytes(value.process.buffered_bytes)} />
        </dl>
        <Changes routes={value.routes} signedOut={this.props.signedOut} />
        {value.longer_history && (
          <label class="span">
            {text("span")}{" "}
            <select value={chosen} onChange={(event) => this.setState({ span: event.target.value })}>
              {SPANS.map((one) => <option key={one} value={one}>{text(`span_${one}`)}</option>)}
            </select>
          </label>
        )}
        {chosen === SPANS[0]
          ? <Charts history={this.history} interval={value.interval_ms} label={text("last_hour")} />
          : <LongerHistory key={chosen} span={chosen} signedOut={this.props.signedOut} />}
        {acts && <Drain process={value.begun_at} look={this.refresh}
                        signedOut={this.props.signedOut} />}
      </div>
    );
  }
}

/** What a person has to do, in the first place. */
function Open({ records }) {
  const { unknown = 0, unreadable = 0 } = records.by_state ?? {};
  const oldest = records.oldest_unknown_at;
  if (!unknown && !unreadable && !oldest) return null;
  const count = unknown === 1 ? text("open_one") : text("open_many", number(unknown));
  return (
    <p class="condition bad">
      <a href="#/attention">
        <b>{unknown > 0 ? count : text(unreadable ? "open_unreadable" : "open_some",
          number(unreadable))}</b>
        {oldest && ", "}{oldest && text("open_oldest", span(Date.now() - Date.parse(oldest)))}
      </a>
    </p>
  );
}

function Figure({ name, value, href }) {
  return <div><dt>{text(name)}</dt><dd>{href ? <a href={href}>{value}</a> : value}</dd></div>;
}

/** Refusals that go on: they stay here, whatever else happens. Their times change with each look,
 * which nobody wants to be told. */
function Pressing({ pressing }) {
  return (
    <ul class="pressing" aria-live="off">
      {pressing.slice(0, PRESSING).map((one) => (
        <li key={`${one.route} ${one.problem}`}>
          <a href="#/routes">
            <b>{text("route_refuses", one.route, number(one.count))}{" "}
              <span lang="en">{one.problem}</span></b>
          </a>{" "}
          {text("since_start")}, {text("the_last")} <Time at={one.last_at} ago />
        </li>
      ))}
      {pressing.length > PRESSING && (
        <li><a href="#/routes">{text("more", number(pressing.length - PRESSING))}</a></li>
      )}
    </ul>
  );
}

/** `refused`: how many requests were, in the last hour; `pressing`: reasons that go on. */
function Condition({ value, refused, pressing }) {
  const troubles = value.unready.map((one) => [text(`unready_${one.reason}`), one.why]
    .filter(Boolean).join(": "));
  if (value.store.forgot) troubles.push(text("store_forgot"));
  if (value.process.reload_refused) troubles.push(text("reload_refused"));
  const open = value.records.oldest_unknown_at || value.records.by_state?.unknown
    || value.records.by_state?.unreadable;
  const works = (pressing.length && "well_refusing") || (open || refused ? "well_but" : "well");
  const goingOn = pressing.reduce((sum, one) => sum + one.count, 0); // said already
  const grade = (troubles.length && "bad") || (pressing.length ? "warn" : "good");
  return (
    <div class={`condition ${grade}`} role="status">
      <b>{text(troubles.length ? "not_well" : works)}</b>
      {" "}Onceguard {value.version}, {text("store")} {value.store.name}
      {pressing.length > 0 && <Pressing pressing={pressing} />}
      {refused > goingOn && (
        <div>
          <a href="#/routes">
            {text(refused === 1 ? "refused_lately_one" : "refused_lately", number(refused))}
          </a>
        </div>
      )}
      {troubles.length > 0 && <ul>{troubles.map((one) => <li key={one}>{one}</li>)}</ul>}
    </div>
  );
}
