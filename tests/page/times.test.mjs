// Times as people read them: in their zone or in UTC, with two digits of each hour.
import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "Asia/Kolkata";
const reader = { language: "en-GB" };
Object.defineProperty(globalThis, "navigator", { value: reader, configurable: true });
globalThis.document = { documentElement: {} };
const { moment, setUtc } = await import("../../web/shared/forms.js");

const EARLY = "2026-01-02T03:35:07.089Z"; // 09:05:07 there

test("an hour before ten has two digits in each form", () => {
  assert.equal(moment(EARLY, "short"), "2 Jan 2026, 09:05:07");
  assert.equal(moment(EARLY, "exact"), "2 Jan 2026, 09:05:07.089");
  assert.equal(moment(Date.parse(EARLY), "clock"), "09:05:07");
});

test("who wants UTC gets UTC, and is told so", () => {
  setUtc(true);
  assert.equal(moment(EARLY, "exact"), "2 Jan 2026, 03:35:07.089 UTC");
  assert.equal(moment(EARLY, "clock"), "03:35:07 UTC");
  setUtc(false);
  assert.equal(moment(EARLY, "clock"), "09:05:07");
});
