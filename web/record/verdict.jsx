// What became of a key, in a word: whether it ran, and what each request got.
import { h } from "preact";

import { number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { Counts } from "./timeline.jsx";

const [FIRST, LAST] = [5, 3]; // of many requests, those that are shown

/** The names of the sentences that say it, with their values. */
function sentencesOf({ state, attempt, by_operator: byOperator, lease_left_ms: left }) {
  const ran = attempt > 0 && [attempt === 1 ? "ran_once" : "ran_times", attempt];
  const person = byOperator && ["key_by_person"];
  return {
    completed: [ran, person],
    unknown: [["key_unknown"]],
    released: [["key_released"], person],
    failed: [["key_failed"]],
    probing: [["key_probing"]],
    started: [[left > 0 ? "key_running" : "key_overdue"]],
    in_progress: [[left > 0 ? "key_running" : "key_overdue"]],
  }[state]?.filter(Boolean) ?? [];
}

/** What a request got. */
function wordsOf({ outcome, status, upstream_status: answered, upstream_begin_us: sent, settled }) {
  if (outcome === "ran") {
    if (answered) return text("request_ran", answered);
    return text(sent === undefined && settled === "release" ? "request_unsent"
      : "request_ran_unanswered");
  }
  const got = status ? ` (${status})` : "";
  if (outcome === "replayed" || outcome === "waited") return text("request_repeat") + got;
  return text(outcome === "mismatch" || outcome === "busy" ? `event_${outcome}`
    : `outcome_${outcome}`) + got;
}

export function Verdict({ record }) {
  const { requests, counts, since } = record;
  const many = requests.length > FIRST + LAST;
  const numbered = requests.map((one, i) => ({ ...one, place: i + 1 }));
  const shown = many ? [...numbered.slice(0, FIRST), ...numbered.slice(-LAST)] : numbered;
  return (
    <section aria-label={text("key_requests")}>
      <p class="verdict">
        {sentencesOf(record).map(([name, ...values]) => text(name, ...values)).join(" ")}
      </p>
      {counts && <Counts counts={counts} since={since} />}
      {requests.length > 0 && (
        <ol class="requests">
          {shown.map((one) => (
            <li key={one.place} value={one.place} class={one.outcome === "ran" ? "ran" : ""}>
              {wordsOf(one)} <small><Time at={new Date(one.begin).toISOString()} exact /></small>
            </li>
          ))}
        </ol>
      )}
      {many && <p class="note">{text("more", number(requests.length - FIRST - LAST))}</p>}
    </section>
  );
}
