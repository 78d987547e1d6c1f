// Which records a pasted list of keys means.
import { call, query } from "../shared/api.js";

const AT_ONCE = 4; // calls

/**
 * A key a line; behind a tab, which no key has, where its scope begins.
 * @param {string} list
 * @param {string} scope of the lines that name none; empty: not known
 * @returns {Map<string, string>} the scope of each key
 */
export function readLines(list, scope) {
  const lines = list.split("\n").map((line) => line.trim()).filter(Boolean);
  return new Map(lines.map((line) => {
    const [key, own = ""] = line.split("\t");
    return [key.trim(), own.trim().toLowerCase() || scope];
  }));
}

/** All records of a key, in any scope and state, but those that count as absent. */
async function recordsOf(key, signal) {
  const found = [];
  let cursor = "";
  do {
    const page = await call("GET", `/api/records?${query({ key, cursor })}`, undefined, signal);
    found.push(...page.records.filter((one) => one.state !== "released"));
    cursor = page.cursor;
  } while (cursor);
  return found;
}

/**
 * The records that need a person and whose keys stand in a list. A key that several callers have,
 * whatever became of theirs, is of none of them until a person says of which.
 * @param {Map<string, string>} wanted as readLines() gives them
 * @param {AsyncIterable<object>} pages of the records that need a person
 * @param {AbortSignal} signal
 */
export async function choiceOf(wanted, pages, signal) {
  const found = new Map([...wanted.keys()].map((key) => [key, []]));
  for await (const page of pages) {
    for (const one of page.records) {
      if (one.scope.startsWith(wanted.get(one.key) ?? "?")) {
        found.get(one.key).push({ ...one, attention: true });
      }
    }
  }
  const several = [];
  const open = [...found].filter(([, records]) => records.length);
  const look = async ([key, records]) => {
    const all = (await recordsOf(key, signal)).filter((one) => one.scope.startsWith(wanted.get(key))
      && !records.some((other) => other.record === one.record));
    if (records.length + all.length > 1) several.push({ key, records: [...records, ...all] });
  };
  for (let i = 0; i < open.length; i += AT_ONCE) {
    await Promise.all(open.slice(i, i + AT_ONCE).map(look));
  }
  const ambiguous = new Set(several.map((one) => one.key));
  const single = open.filter(([key]) => !ambiguous.has(key)).flatMap(([, records]) => records);
  return {
    chosen: new Map(single.map((one) => [one.record, one])),
    several,
    missing: [...found].filter(([, records]) => !records.length).map(([key]) => key),
  };
}
