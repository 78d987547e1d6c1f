// The latest keys, from made-up answers of the admin API.
import assert from "node:assert/strict";
import { test } from "node:test";

import { latestOf } from "../../web/search/latest.js";

test("each key stands once, with its last request, the newest first", () => {
  const one = (record, number) => ({ record, number });
  const found = latestOf([one("a", 1), one("b", 2), one(undefined, 3), one("a", 4), one("c", 5)]);
  assert.deepEqual(found.map(({ record, number }) => [record, number]),
    [["c", 5], ["a", 4], ["b", 2]]);
  const many = latestOf(Array.from({ length: 60 }, (_, i) => one(`k-${i}`, i)));
  assert.deepEqual([many.length, many[0].number], [50, 59]);
});
