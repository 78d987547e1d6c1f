// What the lines of a list mean, and what they leave, from made-up answers of the admin API.
import assert from "node:assert/strict";
import { test } from "node:test";

import { choiceOf, corrected, readLines, repeatedLines, restOf }
  from "../../web/attention/key_list.js";
import { doubtfulOf } from "../../web/attention/list_acts.js";
import { comparable, mayMean } from "../../web/attention/near_keys.js";

let number = 0;
const record = (key, more = {}) => {
  number += 1;
  return { key, scope: "aa", route: "/payouts", state: "unknown", record: `${number}`, ...more };
};

/** What a list comes to among records. As in a store without an index by key, one that can't be
 * read is among those of each key. Of the records, those that are `unknown` need a person. */
async function read(list, records, scope = "") {
  globalThis.fetch = async (path) => {
    const wanted = new URLSearchParams(path.split("?")[1]).get("key");
    const found = records.filter(({ key, state }) => key === wanted || state === "unreadable");
    return new Response(JSON.stringify({ records: found, cursor: "" }));
  };
  const open = records.filter(({ state }) => state === "unknown" || state === "unreadable");
  const pages = open.map((one) => ({ records: [one] })); // a record a page
  const wanted = readLines(list, scope);
  const choice = await choiceOf(wanted, pages, undefined);
  const rest = restOf(wanted, pages, choice);
  return { ...choice, rest, doubtful: doubtfulOf(rest.near).map(({ key }) => key) };
}

const keys = (records) => records.map(({ key }) => key);

test("a list without a fault leaves the others, also those of later pages", async () => {
  const all = ["a-1", "b-2", "c-3", "d-4"].map((key) => record(key));
  const { chosen, away, rest } = await read("a-1\nb-2;\n", all);
  assert.deepEqual([keys([...chosen.values()]), away], [["a-1", "b-2"], []]);
  assert.deepEqual(rest, { records: all.slice(2), near: [], meant: [], others: [] });
});

test("what a line may mean that was not found is no part of the rest", async () => {
  const all = ["pay-8513", "pay-77", "x-1"].map((key) => record(key));
  for (const line of ["Pay-8513", '"pay-8513"', "pay 8513", "pay-8531", "pay-851", "pay-85133",
    "pay\u20138513", "PAY-8513;2500,00", "pay-08513", "'pay-8513'.", "pay-8513\t2500"]) {
    const { away, rest } = await read(`x-1\n${line}`, all);
    assert.equal(away.length, 1, line);
    assert.deepEqual([keys(rest.near[0].means), keys(rest.meant)], [["pay-8513"], ["pay-8513"]],
      line);
    assert.deepEqual(keys(rest.records), ["pay-77"], line);
  }
});

test("a line far from each key leaves the rest, and is known not to be found", async () => {
  const { away, rest, doubtful } = await read("x-1\nnobody-knows",
    [record("x-1"), record("pay-77")]);
  assert.deepEqual(away, [{ key: "nobody-knows", scope: "" }]);
  assert.deepEqual([doubtful, rest.near[0].means, keys(rest.records)],
    [["nobody-knows"], [], ["pay-77"]]);
});

test("a list that names nothing leaves nothing to be chosen", async () => {
  const { rest } = await read("order\nbooked", [record("x-1"), record("pay-77")]);
  assert.deepEqual([keys(rest.records), keys(rest.others)], [[], ["x-1", "pay-77"]]);
});

test("of another route or scope than the list's, and what no line can name, nothing is known",
  async () => {
    const [first, last] = [record("x-1"), record("y-22")];
    const others = [record("z-3", { route: "/orders" }), record("order, 5;"), record("a\tb"),
      record(undefined, { state: "unreadable", scope: undefined, route: undefined })];
    const { chosen, rest } = await read("x-1", [first, last, ...others]);
    assert.deepEqual([[...chosen.keys()], rest.records, rest.others],
      [[first.record], [last], others]);
    const foreign = record("w-4", { scope: "bb" });
    const ofScope = await read("x-1", [first, last, foreign], "aa");
    assert.deepEqual([ofScope.rest.records, ofScope.rest.others], [[last], [foreign]]);
  });

test("a listed key under another scope is neither chosen nor left", async () => {
  const [mine, theirs, last] = [record("x-1"), record("x-1", { scope: "bb" }), record("y-22")];
  const open = await read("x-1", [mine, theirs, last]);
  assert.deepEqual([open.chosen.size, open.several.length, open.rest.records], [0, 1, [last]]);
  const named = await read("x-1\taa", [mine, theirs, last]);
  assert.deepEqual([[...named.chosen.values()].map((one) => one.record), named.rest.records,
    named.rest.others], [[mine.record], [last], [theirs]]);
});

test("what was settled is found, and says of which route the list is", async () => {
  for (const state of ["completed", "released"]) {
    const last = record("y-22");
    const { settled, away, rest } = await read("x-1", [record("x-1", { state }), last]);
    assert.deepEqual([settled[0].records[0].state, away, rest.records], [state, [], [last]]);
  }
});

test("a line that stands there again is read once, and said", () => {
  const list = "a-1\nb-2\n\n a-1 ,\nc-3\nb-2\nb-2";
  assert.deepEqual(readLines(list, "").map(({ key }) => key), ["a-1", "b-2", "c-3"]);
  assert.deepEqual(repeatedLines(list), ["a-1", "b-2"]);
});

test("a scope behind a tab limits the rest as one of all lines does", async () => {
  const [mine, last, theirs] = [record("x-1"), record("y-22"), record("z-3", { scope: "bb" })];
  for (const list of ["x-1\taa", "x-1\taa\nnobody-knows", "x-1\taa\nnobody-knows\tbb"]) {
    const { rest } = await read(list, [mine, last, theirs]);
    assert.deepEqual([rest.records, rest.others], [[last], [theirs]], list);
  }
  const both = await read("x-1\taa\nz-3\tbb", [mine, last, theirs]);
  assert.deepEqual(both.rest.records, [last]);
});

test("another caller's record says nothing of the route of a list that chose records", async () => {
  const [first, last] = [record("x-1"), record("y-22", { route: "/orders" })];
  const more = { scope: "bb", route: "/orders", state: "completed" };
  const settled = await read("x-1\nw-333", [first, last, record("w-333", more)]);
  assert.deepEqual([settled.rest.records, settled.rest.others], [[], [last]]);
  const several = await read("x-1\nw-333",
    [first, last, record("w-333"), record("w-333", more)]);
  assert.deepEqual([several.several.length, several.rest.records], [1, []]);
});

test("a typing error that is another one's key has to be looked at", async () => {
  for (const [state, line] of [["completed", "pay-8531"], ["failed", "pay-8531"],
    ["unknown", "pay-8531"]]) {
    const others = [record(line, { state }), record(line, { state, scope: "bb" })];
    const { rest, doubtful } = await read(`x-1\n${line}`, [record("x-1"), record("pay-8513"),
      ...others]);
    assert.deepEqual([doubtful, keys(rest.near[0].means), keys(rest.records)],
      [[line], ["pay-8513"], ["pay-8513"]], state);
  }
});

test("what is not completed has to be looked at, though it needs nobody", async () => {
  for (const [state, wanted] of [["completed", []], ["released", ["w-333"]],
    ["in_progress", ["w-333"]], ["started", ["w-333"]], ["failed", ["w-333"]]]) {
    const { doubtful, rest } = await read("x-1\nw-333", [record("x-1"), record("y-22"),
      record("w-333", { state })]);
    assert.deepEqual([doubtful, keys(rest.records)], [wanted, ["y-22"]], state);
  }
});

test("what there are too many of to be compared is not in the rest", async () => {
  const all = Array.from({ length: 1500 }, (_, i) => record(`order-${i}`));
  const wanted = readLines(Array.from({ length: 2000 }, (_, i) => `nobody-${i}`).join("\n"), "");
  const choice = { chosen: new Map([["0", record("x-1")]]), several: [], settled: [],
    away: wanted };
  const rest = restOf(wanted, [{ records: all }], choice);
  assert.deepEqual([rest.records.length, rest.others.length], [1000, 500]);
});

test("a line is corrected where a line can say it", () => {
  const line = (key, scope = "") => ({ key, scope });
  assert.equal(corrected("a-1\n A-2;\nc-3\ts", line("A-2"), record("a-2"), ""),
    "a-1\na-2\nc-3\ts");
  for (const key of ["A-2", "a\nb", "a\tb", " a-2", "a;", "a\rb", "a\ufffd"]) {
    assert.equal(corrected("A-2", line("A-2"), record(key), ""), null, key);
  }
});

test("a line is corrected alone, not the same key under another scope", () => {
  const list = "order-1\taaaa\norder-1\tBBBB\norder-1";
  const wanted = record("order-11", { scope: "bbbb00" });
  const lines = readLines(list, "bbbb");
  assert.deepEqual(lines.map(({ scope }) => scope), ["aaaa", "bbbb"]);
  assert.equal(corrected(list, lines[1], wanted, "bbbb"),
    "order-1\taaaa\norder-11\tBBBB\norder-11");
  assert.equal(corrected(list, lines[1], wanted, ""), "order-1\taaaa\norder-11\tBBBB\norder-1");
  assert.equal(corrected(list, lines[0], wanted, ""), null); // which is none of that scope
});

test("two keys of which no letter is left are compared as they are", () => {
  const may = (line, key) => mayMean(comparable(line), comparable(key));
  assert.ok(may("--", "---") && !may("--", "----") && !may("--", "a-1"));
});
