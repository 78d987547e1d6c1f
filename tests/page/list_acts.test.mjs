// What follows an act on the records of a list, and what of a list counts when it was changed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { doubtsAmong, nextAct, NO_LIST, restNow, Turn, withList, withoutList }
  from "../../web/attention/list_acts.js";

const record = (name) => ({ record: name, key: name, state: "unknown", token: "1", revision: "1" });
const [PAID, ALSO_PAID, OPEN, LAST, HAND] = ["paid", "also-paid", "open", "last", "hand"]
  .map(record);

/** A list that names two and leaves two; `more`: what else it came to. */
function readList({ near = [], several = [] } = {}) {
  const chosen = new Map([PAID, ALSO_PAID].map((one) => [one.record, one]));
  return withList({ chosen, several, settled: [], away: [] },
    { records: [OPEN, LAST], near, meant: [], others: [HAND] });
}

const idsOf = (act) => act && [act.kind, ...act.records.map((one) => one.record)];

test("the act on all that a list chose leads on to the opposite one for the others", () => {
  const list = readList();
  assert.deepEqual(idsOf(nextAct({ kind: "complete", records: [PAID, ALSO_PAID] }, list)),
    ["release", "open", "last"]);
  assert.deepEqual(idsOf(nextAct({ kind: "release", records: [ALSO_PAID, PAID] }, list)),
    ["complete", "open", "last"]);
});

test("an act on anything else leads on to nothing, although a list was read", () => {
  const list = readList();
  for (const records of [[HAND], [OPEN], [OPEN, LAST], [PAID, ALSO_PAID, HAND], [PAID]]) {
    for (const kind of ["complete", "release"]) {
      assert.equal(nextAct({ kind, records }, list), null, records.map((one) => one.key).join());
    }
  }
  assert.equal(nextAct({ kind: "delete", records: [PAID, ALSO_PAID] }, list), null);
  assert.equal(nextAct({ kind: "complete", records: [PAID] }, NO_LIST), null);
});

test("of a key of several callers, the act may have the one that a person chose", () => {
  const list = readList({ several: [{ key: "hand", scope: "", records: [HAND] }] });
  for (const records of [[PAID, ALSO_PAID], [PAID, ALSO_PAID, HAND]]) {
    assert.deepEqual(idsOf(nextAct({ kind: "complete", records }, list)),
      ["release", "open", "last"]);
  }
});

test("while a line is doubtful, nothing follows before a person has looked", () => {
  const near = [{ key: "opne", scope: "", records: [], means: [OPEN], doubtful: true },
    { key: "done", scope: "", records: [PAID], means: [], doubtful: false }];
  const list = readList({ near });
  const act = { kind: "complete", records: [PAID, ALSO_PAID] };
  assert.equal(nextAct(act, list), null);
  const { unmatched } = nextAct(act, { ...list, looked: true });
  assert.deepEqual(unmatched, { lines: ["opne"], among: [OPEN] });
  assert.deepEqual(doubtsAmong(near, [LAST]), { lines: ["opne"], among: [] });
});

test("what has changed since the list was read is not in the rest", () => {
  const near = [{ key: "lsat", scope: "", records: [], means: [OPEN, LAST], doubtful: true }];
  const { rest } = readList({ near });
  const value = { records: [OPEN, { ...LAST, token: "2" }], more: false };
  const found = restNow(rest, value);
  assert.deepEqual([found.records, found.near[0].means, found.others], [[OPEN], [OPEN], []]);
  assert.deepEqual(restNow(rest, { ...value, more: true }).others, [HAND]);
  assert.equal(restNow(null, value), null);
});

test("a list that was changed has nothing chosen by what it came to before", () => {
  const chosen = new Map([[OPEN.record, OPEN]]);
  const state = { ...readList(), chosen, listed: null }; // after an act
  const after = { ...state, ...withoutList(state) };
  assert.deepEqual(after, { ...NO_LIST, chosen: new Map() });
  // What was chosen by hand stays where no list was read.
  assert.equal(withoutList({ ...NO_LIST, chosen }), null);
});

test("of two readings the later counts, and none after the list was changed", async () => {
  const lists = new Turn();
  const answers = [];
  const slow = () => new Promise((resolve, reject) => answers.push({ resolve, reject }));
  const [first, second] = [lists.of(slow), lists.of(slow)];
  answers[1].resolve("second");
  answers[0].resolve("first");
  assert.deepEqual(await Promise.all([first, second]), [null, "second"]);
  const third = lists.of(slow);
  lists.stop();
  answers[2].reject(new Error("of before"));
  assert.equal(await third, null);
  const fourth = lists.of(slow);
  answers[3].reject(new Error("of now"));
  await assert.rejects(fourth, /of now/);
});
