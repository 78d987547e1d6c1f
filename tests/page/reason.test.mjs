// The reason that is offered again.
import assert from "node:assert/strict";
import { test } from "node:test";

import { forgetReason, inShort, noteReason, reasonBefore } from "../../web/record/reason.js";

test("the reason of what was done is offered, not that of a trial, nor another one's", () => {
  assert.equal(reasonBefore(), "");
  noteReason({ reason: "the bank's list", dry_run: false });
  noteReason({ reason: "perhaps", dry_run: true });
  assert.equal(reasonBefore(), "the bank's list");
  forgetReason();
  assert.equal(reasonBefore(), "");
});

test("a long reason is shown by its beginning", () => {
  assert.equal(inShort("the bank's list"), "the bank's list");
  assert.equal(inShort("\u{1f600}".repeat(81)), `${"\u{1f600}".repeat(80)}…`);
});
