// Acts from the lines of the audit log, which has two for each.
import assert from "node:assert/strict";
import { test } from "node:test";

import { actsOf } from "../../web/audit/acts.js";

const line = (at, stage, more) => ({ at, stage, action: "release", who: "bob", key: "k",
  why: "the list", ...more });
const inShort = ({ acts }) => acts.map((one) => [one.key, one.stage, one.begun_at, one.at]);

test("an act is one row with its result, also among others and when it is tried again", () => {
  const other = { key: "l" };
  const found = actsOf([line(8, "done", other), line(7, "done"), line(6, "intended"),
    line(5, "intended", other), line(4, "done", { action: "show" }), line(3, "not done: running"),
    line(2, "intended")]);
  assert.deepEqual(inShort(found), [["l", "done", 5, 8], ["k", "done", 6, 7],
    ["k", "done", undefined, 4], ["k", "not done: running", 2, 3]]);
  assert.deepEqual(found.open, []);
});

test("an act without a result stays, and is not taken for another one's beginning", () => {
  const found = actsOf([line(3, "intended"), line(2, "done"), line(1, "intended")]);
  assert.deepEqual(inShort(found), [["k", "intended", 3, 3], ["k", "done", 1, 2]]);
});

test("an act whose lines stand on two pages is a row of the first alone", () => {
  const first = actsOf([line(4, "done"), line(3, "done", { key: "l" })]);
  assert.deepEqual(inShort(first).map(([key]) => key), ["k", "l"]);
  const lines = [line(2, "intended"), line(1, "intended", { key: "m" })];
  for (let looks = 0; looks < 2; looks += 1) { // the page may be read again
    const second = actsOf(lines, first.open);
    assert.deepEqual(inShort(second).map(([key]) => key), ["m"]);
    assert.deepEqual(second.open.map(({ act }) => act.key), ["l"]);
  }
});
