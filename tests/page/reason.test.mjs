// The reason that is offered again.
import assert from "node:assert/strict";
import { test } from "node:test";

import { forgetReasons, inShort, noteReason, reasonBefore } from "../../web/record/reason.js";

test("the reason of what was done is offered, not that of a trial, nor another one's", () => {
  assert.equal(reasonBefore("complete"), "");
  noteReason("complete", { reason: "the bank's list", dry_run: false });
  noteReason("complete", { reason: "perhaps", dry_run: true });
  assert.equal(reasonBefore("complete"), "the bank's list");
  forgetReasons();
  assert.equal(reasonBefore("complete"), "");
});

test("the reason of an act is not offered for the opposite", () => {
  noteReason("complete", { reason: "the bank has booked it", dry_run: false });
  assert.equal(reasonBefore("release"), "");
});

test("a long reason is shown by its beginning", () => {
  assert.equal(inShort("the bank's list"), "the bank's list");
  assert.equal(inShort("\u{1f600}".repeat(81)), `${"\u{1f600}".repeat(80)}…`);
});
