// What changed for the gateway, from three sources in one row: the events of its process, what
// people did, and the routes that began to refuse.
import { pressingOf } from "../shared/refusals.js";

const HOUR = 3_600_000; // ms: of which the changes are

// Who looks changes nothing; nor does what was not done.
const LOOKS = new Set(["show", "look"]);
const DONE = new Set(["done", "unknown"]);

const APART = 60_000; // ms between two of what is one line

// Where an event leads to, by the beginning of its name.
const PLACES = [["store-", "#/stores"], ["accelerator-", "#/stores"], ["epoch-", "#/stores"],
  ["checkpoint-", "#/stores"], ["scope", "#/routes"], ["key-source-", "#/routes"],
  ["upstream-", "#/routes"], ["reload", "#/routes"], ["quota-", "#/routes"]];

// What is over once the other event has come.
const ENDS = { "store-away": "store-back", "store-not-opened": "store-opened",
  "accelerator-away": "accelerator-back", "reload-refused": "reloaded",
  "file-refused": "file-read-again" };

/** Whether a later event says so, of the same file where it is about one. */
function isOver(one, events) {
  return events.some(({ event, at, fields }) => event === ENDS[one.event]
    && Date.parse(at) >= Date.parse(one.at) && fields.path === one.fields.path);
}

function placeOf({ event, fields }) {
  return (fields.route !== undefined && "#/routes")
    || PLACES.find(([begin]) => event.startsWith(begin))?.[1];
}

/**
 * @typedef {object} Change
 * @property {number} at milliseconds since 1970
 * @property {"event"|"act"|"refusals"} kind
 * @property {string} name of the event, the act, or the problem
 * @property {string} [link] the view that says more
 * @property {"bad"|""} grade whether it may need a person now
 * @property {object} more what the source has of it; of several that are one line, the newest
 * @property {object[]} all of several, what the source has of each
 * @property {boolean} atLeast whether an act may be of more records than that
 */

/**
 * @param {object[]} events as /api/changes has them
 * @param {object[]} audit the latest lines as /api/audit has them
 * @param {object[]} routes as /api/overview has them
 * @param {number} since milliseconds since 1970
 * @param {boolean} older whether the audit log has older lines than these
 * @returns {Change[]} the newest first
 */
export function changesOf(events, audit, routes, since, older = false) {
  const out = events.map((one) => ({ at: Date.parse(one.at), kind: "event", name: one.event,
    link: placeOf(one), grade: one.level === "info" || isOver(one, events) ? "" : "bad",
    more: one.fields }));
  for (const one of audit) {
    if (!DONE.has(one.stage) || LOOKS.has(one.action)) continue;
    out.push({ at: Date.parse(one.at), kind: "act", name: one.action,
      // The log has the beginning of a record's id alone.
      link: one.key ? `#/search?key=${encodeURIComponent(one.key)}` : "#/audit", grade: "",
      more: one });
  }
  const pressing = pressingOf(routes, since + HOUR)
    .map(({ route, problem }) => `${route} ${problem}`);
  for (const { route, refusals } of routes) {
    for (const one of refusals) {
      out.push({ at: Date.parse(one.began_at), kind: "refusals", name: one.problem,
        link: "#/routes", grade: pressing.includes(`${route} ${one.problem}`) ? "bad" : "",
        more: { route, ...one } });
    }
  }
  const end = older && audit.length ? Date.parse(audit.at(-1).at) : null;
  return folded(out.filter((one) => one.at >= since).sort((one, other) => other.at - one.at))
    .map(({ oldest, ...one }) => ({ ...one,
      atLeast: one.kind === "act" && end > since && oldest - end <= APART }));
}

/** What one deed has in common; undefined: it stands for itself. */
function deedOf({ kind, name, more }) {
  if (kind === "act") return JSON.stringify([name, more.who, more.why, more.about, more.stage]);
  if (kind !== "event" || more.route === undefined) return undefined;
  return JSON.stringify([name, { ...more, route: "" }]);
}

/** An act on many, and an event of many routes, are a line each; `all` has what it is of. */
function folded(changes) {
  const open = new Map();
  const out = [];
  for (const one of changes) {
    const deed = deedOf(one);
    const newer = deed && open.get(deed);
    if (newer && newer.oldest - one.at <= APART) {
      newer.all.push(one.more);
      newer.oldest = one.at;
    } else {
      const line = { ...one, all: [one.more], oldest: one.at };
      out.push(line);
      if (deed) open.set(deed, line);
    }
  }
  return out.map((one) => (one.kind === "act" && one.all.length > 1
    ? { ...one, link: "#/audit" } : one));
}
