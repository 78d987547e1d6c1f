// The timeline of one key.
import { h } from "preact";

import { beside, call, query } from "../shared/api.js";
import { moment, number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { has, text } from "../shared/texts.js";
import { countsOf, inOrder, knownSince, lifeOf, withFirstRun } from "./life.js";

const MOST = 2000; // requests that are read

/** The record with `life`: what became of it so far; and `counts` of its `requests`, which are known
 * from `since` on, null: all of them. `tail`: of the audit log, its lines. */
export async function readLife(id, tail, signal) {
  const record = await call("GET", `/api/records/${encodeURIComponent(id)}?body=no`, undefined,
    signal);
  if (record.state === "unreadable") return record;
  const [recent, audit] = await Promise.all([
    beside(`/api/recent?${query({ record: record.record, limit: MOST })}`, signal),
    tail.read(signal)]);
  const requests = recent.requests ?? [];
  const kept = requests.length < MOST ? recent.requests_since : requests[0].at;
  const since = kept ? knownSince(record, requests, kept) : null;
  const life = lifeOf(record, requests, recent.events ?? [], audit.entries, since);
  return { ...record, life, since, counts: kept && countsOf(record, requests),
    requests: inOrder(recent.missing ? [] : withFirstRun(record, requests)) };
}

/** Like "3 requests: 1 attempt, 1 got the stored answer." */
export function Counts({ counts, since }) {
  const { all, ran, answered, refused } = counts;
  const parts = [
    text(ran === 1 ? "count_ran_one" : "count_ran", number(ran)),
    ...refused.map((one) => `${number(one.count)} ${text(one.outcome === "mismatch"
      || one.outcome === "busy" ? `event_${one.outcome}` : `outcome_${one.outcome}`)}${one.status
      ? ` (${one.status})` : ""}`),
    answered > 0 && text("count_answered", number(answered)),
  ].filter(Boolean);
  return (
    <p class="counts">
      <b>{text(all === 1 ? "count_one" : "count_all", number(all))}</b>{" "}{parts.join(", ")}.
      {since !== null && ` ${text("count_at_least")}`}
    </p>
  );
}

/** What a moment is, in words. */
function words({ kind, name, value, count, at, stage }) {
  if (kind === "settled") {
    return text(`settled_${name}`) + (value ? `: ${text(`why_${value}`)}` : "");
  }
  if (kind === "audit" && stage !== "done") {
    const act = has(`act_${name}`) ? `act_${name}` : `action_${name}`;
    return text("audit_tried", value, text(act), text(`stage_${stage}`));
  }
  if (kind === "audit") return text(`audit_${name}`, value);
  if (kind === "event") return name;
  if (kind === "gap") return text(name, moment(value, "short"));
  if (kind !== "outcome") return text(`event_${name}`, value);
  if (name === "replayed" || name === "waited") {
    return count === 1 ? text("event_repeat") : text("event_repeats", count, moment(at, "clock"));
  }
  const said = name === "mismatch" || name === "busy"
    ? text(`event_${name}`) : text(`outcome_${name}`);
  return count === 1 ? said : `${said}, ${text("event_many", count, moment(at, "clock"))}`;
}

/** Where people look at the trace, if the configuration says where. */
function Trace({ id, url }) {
  const known = /^[0-9a-f]{32}$/.test(id);
  if (!known || !/^https?:\/\//.test(url ?? "")) return <span>trace {id}</span>;
  return (
    <a href={url.replace("{trace_id}", () => id)} target="_blank" rel="noopener noreferrer">
      {text("trace")} {id.slice(0, 8)}
    </a>
  );
}

export function Timeline({ record, traceUrl }) {
  return (
    <section>
      <h2>{text("timeline")}</h2>
      <ol class="timeline">
        {record.life.map((one) => (
          <li key={`${one.at} ${one.kind} ${one.name}`}
              class={`${one.kind} ${one.at > Date.now() ? "ahead" : ""}`}>
            <Time at={new Date(one.last).toISOString()} exact /> <bdi>{words(one)}</bdi>
            {(one.note || one.trace) && (
              <small>
                <bdi>{one.note}</bdi>{one.note && one.trace && " · "}
                {one.trace && <Trace id={one.trace} url={traceUrl} />}
              </small>
            )}
          </li>
        ))}
      </ol>
      <p class="note">{text("timeline_known")}</p>
    </section>
  );
}
