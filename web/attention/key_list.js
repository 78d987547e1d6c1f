// Which records a pasted list of keys means, and which of the others it does not mean for certain.
import { call, query } from "../shared/api.js";
import { comparable, mayMean } from "./near_keys.js";

const AT_ONCE = 4; // calls

// What stands behind a key in a list that was copied from a sentence is not the key's.
const ENDS = /[,;]+$/;

/** The lines of a list as they count, also those that stand there again. */
function linesOf(list) {
  return list.split("\n").map((line) => line.trim().replace(ENDS, "").trim()).filter(Boolean);
}

/**
 * A key a line; behind a tab, which no key has, where its scope begins.
 * @param {string} list
 * @param {string} scope of the lines that name none; empty: not known
 * @returns {{key: string, scope: string}[]}
 */
export function readLines(list, scope) {
  return [...new Set(linesOf(list))].map((line) => {
    const [key, own = ""] = line.split("\t");
    return { key: key.trim(), scope: own.trim().toLowerCase() || scope };
  });
}

/** The lines that stand in a list more than once, each once. */
export function repeatedLines(list) {
  const seen = new Set();
  const again = linesOf(list).filter((line) => seen.has(line) || !seen.add(line));
  return [...new Set(again)];
}

/** Whether a line of a list can name the record by its key. */
function isNameable({ state, key }) {
  return state !== "unreadable" && typeof key === "string" && !key.includes("\t")
    && linesOf(key)[0] === key;
}

/** The list with a record's key in the place of the line `away`; null: that says nothing else. */
export function corrected(list, away, record) {
  const { key } = record;
  if (!isNameable(record) || key === away) return null;
  return list.split("\n").map((one) => {
    const [found] = readLines(one, "");
    return found?.key === away ? [key, ...one.split("\t").slice(1)].join("\t") : one;
  }).join("\n");
}

/** All records of a key, in any scope and state. */
async function recordsOf(key, signal) {
  const found = [];
  let cursor = "";
  do {
    const page = await call("GET", `/api/records?${query({ key, cursor })}`, undefined, signal);
    found.push(...page.records);
    cursor = page.cursor;
  } while (cursor);
  return found;
}

async function forEach(items, work) {
  for (let i = 0; i < items.length; i += AT_ONCE) {
    await Promise.all(items.slice(i, i + AT_ONCE).map(work));
  }
}

/** The lines, each with the records of it that need a person. */
function openRecords(wanted, pages) {
  const found = wanted.map((line) => ({ ...line, records: [] }));
  const linesOfKey = new Map();
  for (const line of found) linesOfKey.set(line.key, [...(linesOfKey.get(line.key) ?? []), line]);
  for (const { records: all } of pages) {
    for (const one of all) {
      for (const { scope, records } of linesOfKey.get(one.key) ?? []) {
        if (one.scope.startsWith(scope)) records.push({ ...one, attention: true });
      }
    }
  }
  return found;
}

/**
 * The records that need a person and whose keys stand in a list. A key that several callers have,
 * whatever became of theirs, is of none of them until a person says of which.
 * @param {{key: string, scope: string}[]} wanted as readLines() gives them
 * @param {{records: object[]}[]} pages all records that need a person
 * @param {AbortSignal} signal
 */
export async function choiceOf(wanted, pages, signal) {
  const found = openRecords(wanted, pages);
  const several = [];
  const open = found.filter(({ records }) => records.length);
  await forEach(open, async (line) => {
    const { key, scope, records } = line;
    // Those that are released count as absent here.
    const all = (await recordsOf(key, signal)).filter((one) => one.state !== "released"
      && one.scope.startsWith(scope) && !records.some((other) => other.record === one.record));
    if (records.length + all.length > 1) {
      several.push({ line, key, records: [...records, ...all] });
    }
  });
  const settled = [];
  const away = [];
  await forEach(found.filter(({ records }) => !records.length), async ({ key, scope }) => {
    const others = (await recordsOf(key, signal)).filter((one) => one.scope.startsWith(scope));
    if (others.length) settled.push({ key, records: others });
    else away.push(key);
  });
  const ambiguous = new Set(several.map(({ line }) => line));
  const single = open.filter((line) => !ambiguous.has(line)).flatMap(({ records }) => records);
  return {
    chosen: new Map(single.map((one) => [one.record, one])),
    several,
    settled, // need nobody, as their records are
    away, // of no record
  };
}

/**
 * Those that needed a person when the list was read, and which it does not name. Of what it may
 * mean all the same, and of what it can't speak of, nothing is chosen by it.
 * @param {{key: string, scope: string}[]} wanted
 * @param {string} scope of all of them; empty: not known
 * @param {{records: object[]}[]} pages
 * @param {object} choice as choiceOf() gives it
 * @returns {{records: object[], near: {key: string, records: object[]}[], others: object[]}}
 *   `near`: the lines that were not found, with what they may mean; `others`: of another route or
 *   scope than the list, or with a key that no line can name
 */
export function restOf(wanted, scope, pages, { chosen, several, settled, away }) {
  const taken = new Set([...chosen.keys(), ...several.flatMap(({ records }) => records)
    .map((one) => one.record)]);
  const named = new Set(wanted.map(({ key }) => key));
  const routes = new Set([...chosen.values(), ...[...several, ...settled]
    .flatMap(({ records }) => records)].map((one) => one.route));
  const left = pages.flatMap(({ records }) => records).filter((one) => !taken.has(one.record));
  const compared = left.filter((one) => typeof one.key === "string")
    .map((one) => ({ one, key: comparable(one.key) }));
  const near = away.map((key) => {
    const line = comparable(key);
    return { key, records: compared.filter((other) => mayMean(line, other.key))
      .map(({ one }) => one) };
  });
  const meant = new Set(near.flatMap(({ records }) => records));
  const isSpokenOf = (one) => isNameable(one) && !named.has(one.key)
    && one.scope.startsWith(scope) && routes.has(one.route);
  const rest = left.filter((one) => !meant.has(one));
  return { near, records: rest.filter(isSpokenOf), others: rest.filter((one) => !isSpokenOf(one)) };
}
