// Which records a pasted list of keys means, and which of the others it does not mean for certain.
import { call, query } from "../shared/api.js";
import { comparable, mayMean } from "./near_keys.js";

const AT_ONCE = 4; // calls
const COMPARISONS = 2_000_000; // of a line with a key, in a list: they take half a second or so

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
 * @returns {{key: string, scope: string}[]} each once
 */
export function readLines(list, scope) {
  const lines = linesOf(list).map((line) => {
    const [key, own = ""] = line.split("\t");
    return { key: key.trim(), scope: own.trim().toLowerCase() || scope };
  });
  return [...new Map(lines.map((line) => [nameOf(line), line])).values()];
}

/** What two lines that say the same have in common. */
export function nameOf({ key, scope }) {
  return `${key}\t${scope}`;
}

/** The lines that stand in a list more than once, each once. */
export function repeatedLines(list) {
  const seen = new Set();
  const again = linesOf(list).filter((line) => seen.has(line) || !seen.add(line));
  return [...new Set(again)];
}

/** Whether a line of a list can name the record by its key. */
function isNameable({ state, key }) {
  // A field for text makes two lines of one with a carriage return, and what was no UTF-8 can't be
  // asked for.
  return state !== "unreadable" && typeof key === "string" && !/[\t\r\ufffd]/.test(key)
    && linesOf(key)[0] === key;
}

/**
 * The list with a record's key in the place of a line; null: that says nothing else.
 * @param {string} list
 * @param {{key: string, scope: string}} line as readLines() gives it
 * @param {object} record
 * @param {string} scope of the lines that name none
 */
export function corrected(list, line, record, scope) {
  const { key } = record;
  if (!isNameable(record) || key === line.key || !record.scope.startsWith(line.scope)) return null;
  return list.split("\n").map((one) => {
    const [found] = readLines(one, scope);
    return found && nameOf(found) === nameOf(line)
      ? [key, ...one.split("\t").slice(1)].join("\t") : one;
  }).join("\n");
}

/** The records of a key in the scopes that begin so, in any state. Those that can't be read are
 * left out: a store has them among those of each key. */
async function recordsOf({ key, scope }, signal) {
  const found = [];
  let cursor = "";
  do {
    const page = await call("GET", `/api/records?${query({ key, cursor })}`, undefined, signal);
    found.push(...page.records.filter((one) => one.state !== "unreadable"
      && one.scope.startsWith(scope)));
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
 * @returns {Promise<{chosen: Map<string, object>, several: object[], settled: object[],
 *   away: object[]}>} of lines: those of several records, those of records that need nobody, and
 *   those of none
 */
export async function choiceOf(wanted, pages, signal) {
  const found = openRecords(wanted, pages);
  const several = [];
  const open = found.filter(({ records }) => records.length);
  await forEach(open, async (line) => {
    // Those that are released count as absent here.
    const others = (await recordsOf(line, signal)).filter((one) => one.state !== "released"
      && !line.records.some((other) => other.record === one.record));
    const records = [...line.records, ...others];
    if (records.length > 1) several.push({ line, records });
  });
  const settled = [];
  const away = [];
  await forEach(found.filter(({ records }) => !records.length), async ({ key, scope }) => {
    const records = await recordsOf({ key, scope }, signal);
    if (records.length) settled.push({ key, scope, records });
    else away.push({ key, scope });
  });
  const ambiguous = new Set(several.map(({ line }) => line));
  const single = open.filter((line) => !ambiguous.has(line)).flatMap(({ records }) => records);
  return {
    chosen: new Map(single.map((one) => [one.record, one])),
    several: several.map(({ line, records }) => ({ ...line, records })),
    settled,
    away,
  };
}

/** Whether all that a line names took effect, so that nothing is left to be done. */
export function isDone({ records }) {
  return records.length > 0 && records.every(({ state }) => state === "completed");
}

/** The routes that a list is about. A key that chose nothing may be a typing error, and another
 * caller's: it counts only where there is nothing better. */
function routesOf({ chosen, several, settled }) {
  const records = chosen.size ? [...chosen.values()]
    : [...several, ...settled].flatMap((line) => line.records);
  return new Set(records.map((one) => one.route));
}

/** Where the scopes begin that a list names; none: it is of any. */
function scopesOf(wanted, away) {
  const missing = new Set(away.map(nameOf));
  return wanted.filter((line) => line.scope && !missing.has(nameOf(line)))
    .map(({ scope }) => scope);
}

/** The lines that chose nothing by themselves, with `means`, what else each may mean, and whether
 * it is `doubtful`, so that a person has to look at it. */
function nearOf({ several, settled, away }, compared) {
  const lines = [...away.map((line) => ({ ...line, records: [] })), ...settled,
    ...several.map((line) => ({ ...line, isOpen: true }))];
  return lines.map((line) => {
    const mine = comparable(line.key);
    const means = compared.filter(({ key }) => mayMean(mine, key)).map(({ one }) => one);
    return { ...line, means, doubtful: means.length > 0 || !(line.isOpen || isDone(line)) };
  });
}

/**
 * Those that needed a person when the list was read, and which it does not name. Of what a line of
 * no record may mean, and of what the list can't speak of, nothing is chosen by it.
 * @param {{key: string, scope: string}[]} wanted
 * @param {{records: object[]}[]} pages
 * @param {object} choice as choiceOf() gives it
 * @returns {{records: object[], near: object[], meant: object[], others: object[]}}
 *   `near`: lines as nearOf() gives them; `meant`: what those of them may mean that are of no
 *   record; `others`: of another route or scope than the list, with a key that no line can name, or
 *   not compared
 */
export function restOf(wanted, pages, choice) {
  const { chosen, several, settled, away } = choice;
  const taken = new Set([...chosen.keys(), ...several.flatMap(({ records }) => records)
    .map((one) => one.record)]);
  const left = pages.flatMap(({ records }) => records).filter((one) => !taken.has(one.record));
  const most = COMPARISONS / (several.length + settled.length + away.length);
  const compared = left.filter(({ key }) => typeof key === "string").slice(0, most)
    .map((one) => ({ one, key: comparable(one.key) }));
  const near = nearOf(choice, compared);
  const meant = new Set(near.filter(({ records }) => !records.length)
    .flatMap(({ means }) => means));
  const named = new Set(wanted.map(({ key }) => key));
  const routes = routesOf(choice);
  const scopes = scopesOf(wanted, away);
  const spoken = new Set(compared.map(({ one }) => one).filter((one) => isNameable(one)
    && !named.has(one.key) && routes.has(one.route)
    && (!scopes.length || scopes.some((scope) => one.scope.startsWith(scope)))));
  const rest = left.filter((one) => !meant.has(one));
  return { near, meant: [...meant], records: rest.filter((one) => spoken.has(one)),
    others: rest.filter((one) => !spoken.has(one)) };
}
