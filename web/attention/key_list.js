// Which records a pasted list of keys means.
import { call, query } from "../shared/api.js";

const AT_ONCE = 4; // calls

/**
 * A key a line; behind a tab, which no key has, where its scope begins.
 * @param {string} list
 * @param {string} scope of the lines that name none; empty: not known
 * @returns {{key: string, scope: string}[]}
 */
export function readLines(list, scope) {
  // What stands behind a key in a list that was copied from a sentence is not the key's.
  const lines = list.split("\n").map((line) => line.trim().replace(/[,;]+$/, "")).filter(Boolean);
  return [...new Set(lines)].map((line) => {
    const [key, own = ""] = line.split("\t");
    return { key: key.trim(), scope: own.trim().toLowerCase() || scope };
  });
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
 * @param {{key: string, scope: string}[]} wanted as readLines() gives them
 * @param {AsyncIterable<object>} pages of the records that need a person
 * @param {AbortSignal} signal
 */
export async function choiceOf(wanted, pages, signal) {
  const found = wanted.map((line) => ({ ...line, records: [] }));
  const linesOf = new Map();
  for (const line of found) linesOf.set(line.key, [...(linesOf.get(line.key) ?? []), line]);
  for await (const page of pages) {
    for (const one of page.records) {
      for (const { scope, records } of linesOf.get(one.key) ?? []) {
        if (one.scope.startsWith(scope)) records.push({ ...one, attention: true });
      }
    }
  }
  const several = [];
  const open = found.filter(({ records }) => records.length);
  const look = async (line) => {
    const { key, scope, records } = line;
    const all = (await recordsOf(key, signal)).filter((one) => one.scope.startsWith(scope)
      && !records.some((other) => other.record === one.record));
    if (records.length + all.length > 1) {
      several.push({ line, key, records: [...records, ...all] });
    }
  };
  for (let i = 0; i < open.length; i += AT_ONCE) {
    await Promise.all(open.slice(i, i + AT_ONCE).map(look));
  }
  const missing = found.filter(({ records }) => !records.length);
  const settled = [];
  const away = [];
  const lookFor = async ({ key, scope }) => {
    const others = (await recordsOf(key, signal)).filter((one) => one.scope.startsWith(scope));
    if (others.length) settled.push({ key, states: others.map((one) => one.state) });
    else away.push(key);
  };
  for (let i = 0; i < missing.length; i += AT_ONCE) {
    await Promise.all(missing.slice(i, i + AT_ONCE).map(lookFor));
  }
  const ambiguous = new Set(several.map(({ line }) => line));
  const single = open.filter((line) => !ambiguous.has(line)).flatMap(({ records }) => records);
  return {
    chosen: new Map(single.map((one) => [one.record, one])),
    several,
    settled, // need nobody, in these states
    away, // of no record
  };
}
