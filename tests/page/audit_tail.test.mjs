// The latest lines of the audit log, put together from made-up answers of the admin API.
import assert from "node:assert/strict";
import { test } from "node:test";

import { AuditTail, withNewer } from "../../web/shared/audit_tail.js";

const page = (entries, more) => ({ entries, cursor: "", newest: "1-9", follows: false, ...more });
const NOTHING = { entries: [], older: false, newest: "" };

test("what is new stands before what is known, and the oldest make room", () => {
  const first = withNewer(NOTHING, page([3, 2], { cursor: "1-2", newest: "1-3" }), 4);
  assert.deepEqual(first, { entries: [3, 2], older: true, newest: "1-3" });
  const second = withNewer(first, page([4], { follows: true }), 4);
  assert.deepEqual(second, { entries: [4, 3, 2], older: true, newest: "1-9" });
  const whole = withNewer(NOTHING, page([3, 2]), 3);
  assert.equal(withNewer(whole, page([4], { follows: true }), 3).older, false);
  assert.deepEqual(withNewer(whole, page([5, 4], { follows: true }), 3),
    { entries: [5, 4, 3], older: true, newest: "1-9" });
});

test("what is known counts for nothing in another log, and behind a gap", () => {
  const known = withNewer(NOTHING, page([3, 2, 1], { cursor: "1-1" }), 3);
  assert.deepEqual(withNewer(known, page([1]), 3).entries, [1]);
  assert.equal(withNewer(known, page([1]), 3).older, false);
  const gap = withNewer(known, page([9, 8], { follows: true, cursor: "1-6" }), 3);
  assert.deepEqual([gap.entries, gap.older], [[9, 8], true]);
});

test("a line that two reads meet at once is known once", async (about) => {
  let line = 1;
  about.mock.method(globalThis, "fetch", async () => new Response(JSON.stringify(
    page([line], { follows: line > 1 })), { headers: { "Content-Type": "application/json" } }));
  const tail = new AuditTail({}, 9);
  await tail.read();
  line = 2;
  await Promise.all([tail.read(), tail.read()]);
  assert.deepEqual(tail.known.entries, [2, 1]);
});
