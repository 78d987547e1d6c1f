// The life of a key: what its record, the latest requests and the audit log say, in one row.
import { isUnsent } from "./verdict_words.js";

/** How often the same may follow itself before it becomes one line. */
const REPEATS = new Set(["replayed", "waited", "busy", "mismatch", "backoff", "unknown", "not_kept",
  "refused", "store_failed"]);

/**
 * @typedef {object} Moment
 * @property {number} at milliseconds since 1970
 * @property {string} kind how it is said: "record", "attempt", "dispatched", "answered", "renewed",
 *   "settled", "outcome", "audit", "event" or "gap": what was before is not known
 * @property {string} name
 * @property {any} [value]
 * @property {string} [note]
 * @property {string} [stage] of an act: "done", or why it was not
 * @property {string} [trace] the id of the request's trace
 * @property {number} [count] how many follow each other
 * @property {number} [last] the time of the last of them
 */

function noteOf(...parts) {
  return parts.filter(Boolean).join(" · ");
}

/** The steps of a request that ran. */
function stepsOf(request) {
  const end = Date.parse(request.at);
  const begin = end - (request.total_us ?? 0) / 1000;
  let settled = end;
  const out = [{ at: begin, kind: "attempt", name: "attempt", value: request.attempt,
    note: request.client, trace: request.trace }];
  if (request.upstream_begin_us !== undefined) {
    const sent = begin + request.upstream_begin_us / 1000;
    if (!isUnsent(request)) out.push({ at: sent, kind: "dispatched", name: "dispatched" });
    const answered = sent + (request.upstream_us ?? 0) / 1000;
    if (request.upstream_status) {
      out.push({ at: answered, kind: "answered", name: "answered",
        value: request.upstream_status });
    }
    // A request may be over long after it was settled, and its repeats before it.
    if (request.settle_us) settled = Math.min(end, answered + request.settle_us / 1000);
  }
  if (request.upstream_status && request.upstream_begin_us === undefined) { // of long ago
    out.push({ at: end, kind: "answered", name: "answered", value: request.upstream_status });
  }
  if (request.renewals) {
    out.push({ at: settled, kind: "renewed", name: "renewed", value: request.renewals });
  }
  if (request.settled) {
    out.push({ at: settled, kind: "settled", name: request.settled, value: request.why });
  }
  // Of repeats whole milliseconds are known: one in the same stands behind what it repeats.
  return out.map((one) => ({ ...one, at: Math.floor(one.at) }));
}

const ANSWERED = new Set(["replayed", "waited"]);

/**
 * How many requests a key had, and what they got.
 * @param {object} record
 * @param {object[]} requests those that are known
 * @returns {{all: number, ran: number, answered: number,
 *   refused: {outcome: string, status: number, count: number}[]}}
 */
export function countsOf(record, requests) {
  const seen = requests.filter((one) => one.outcome === "ran").length;
  const ran = Math.max(record.attempt ?? 0, seen); // the record counts its runs itself
  const rest = requests.filter((one) => one.outcome !== "ran");
  const answered = rest.filter((one) => ANSWERED.has(one.outcome)).length;
  const refused = new Map();
  for (const { outcome, status } of rest) {
    if (ANSWERED.has(outcome)) continue;
    const name = `${outcome} ${status}`;
    refused.set(name, { outcome, status, count: (refused.get(name)?.count ?? 0) + 1 });
  }
  return { all: ran + rest.length, ran, answered, refused: [...refused.values()] };
}

const HTTP = /^[A-Z]+$/; // other doors have a name of their own in the method's place

/**
 * The requests with the one that completed the record at its first attempt. The process forgets
 * that one first, as the record itself says what became of it. (A later attempt may be a probe's.)
 * @param {object} record
 * @param {object[]} requests those that are known
 */
export function withFirstRun(record, requests) {
  const { state, attempt, method, by_operator: byOperator, by_application: byApplication } = record;
  const timeOf = (name) => record.timeline?.find(({ event }) => event === name)?.at;
  const [begin, end] = [timeOf("claimed"), timeOf("settled")];
  if (state !== "completed" || attempt !== 1 || !HTTP.test(method) || byOperator || byApplication
    || !begin || !end || requests.some((one) => one.attempt === attempt)) return requests;
  return [{ outcome: "ran", attempt, at: end, settled: "complete",
    total_us: (Date.parse(end) - Date.parse(begin)) * 1000, upstream_status: record.status },
  ...requests];
}

/** The requests of a key in the order in which they came. */
export function inOrder(requests) {
  return requests.map((one) => ({ ...one,
    begin: Date.parse(one.at) - Math.round((one.total_us ?? 0) / 1000) }))
    .sort((one, other) => one.begin - other.begin);
}

/**
 * From when on the requests of a key are known; null: all of them are.
 * @param {object} record
 * @param {object[]} requests those that are known, the oldest first
 * @param {string} since of the process, as the admin API says it
 */
export function knownSince(record, requests, since) {
  const first = requests.find((one) => one.outcome === "ran" && one.attempt === 1);
  const begin = record.attempt === 1 ? Date.parse(record.claimed_at)
    : first && Date.parse(first.at) - (first.total_us ?? 0) / 1000;
  const known = Date.parse(since);
  return begin !== undefined && known <= begin ? null : known;
}

/** @returns {Moment[]} the oldest first; what follows itself is one moment with a count */
export function lifeOf(record, requests, events, audit, since = null) {
  const all = since === null ? []
    : [{ at: since, kind: "gap", name: "before_unknown", value: since }];
  const ran = requests.filter((one) => one.outcome === "ran");
  // The steps of the attempt say it better than the record.
  const known = ran.some((one) => one.attempt === record.attempt)
    ? new Set(["claimed", ...(record.by_operator ? [] : ["settled"])]) : new Set();
  for (const { at, event } of record.timeline ?? []) {
    if (!known.has(event)) all.push({ at: Date.parse(at), kind: "record", name: event });
  }
  for (const one of ran) all.push(...stepsOf(one));
  for (const one of requests) {
    if (one.outcome === "ran") continue;
    all.push({ at: Date.parse(one.at), kind: "outcome", name: one.outcome, note: one.client,
      trace: one.trace });
  }
  for (const one of events) {
    if (one.event === "audit") continue; // without a file the log has what `audit` has
    all.push({ at: Date.parse(one.at), kind: "event", name: one.event,
      note: noteOf(one.fields.why, one.fields.reason) });
  }
  for (const one of audit) {
    if (one.stage !== "intended") {
      all.push({ at: Date.parse(one.at), kind: "audit", name: one.action, value: one.who,
        stage: one.stage, note: one.why });
    }
  }
  all.sort((a, b) => a.at - b.at);
  return together(all);
}

function together(all) {
  const out = [];
  for (const one of all) {
    const before = out[out.length - 1];
    if (one.kind === "outcome" && REPEATS.has(one.name) && before?.kind === "outcome"
      && before.name === one.name) {
      before.count += 1;
      before.last = one.at;
      if (before.note !== one.note) before.note = undefined;
      before.trace = one.trace; // of the last: its time stands there, too
    } else {
      out.push({ ...one, count: 1, last: one.at });
    }
  }
  return out;
}
