// What a key and its requests are said to have come to.
import assert from "node:assert/strict";
import { test } from "node:test";

import { lifeOf } from "../../web/record/life.js";
import { requestWords, sentencesOf } from "../../web/record/verdict_words.js";

Object.defineProperty(globalThis, "navigator", { value: { language: "en-GB" },
  configurable: true });
globalThis.document = { documentElement: {} };
const { has, text } = await import("../../web/shared/texts.js");

const said = (record) => sentencesOf(record).map((one) => text(...one));

test("a key ran once where its only attempt was answered, and not where a person says so", () => {
  assert.deepEqual(said({ state: "completed", attempt: 1 }), ["It ran once at the service."]);
  assert.deepEqual(said({ state: "completed", attempt: 1, by_operator: true }),
    ["A person settled it."]);
});

test("of several attempts, nobody knows how many ran", () => {
  for (const by of [false, true]) {
    const [first] = said({ state: "completed", attempt: 2, by_operator: by });
    assert.equal(first, "2 attempts began; not each need have reached the service.");
  }
});

test("a lease that ended before the dispatch sent nothing", () => {
  const lapsed = (state) => sentencesOf({ state, attempt: 1, lease_left_ms: -1 });
  assert.deepEqual([lapsed("started"), lapsed("in_progress")], [[["key_unsent"]],
    [["key_overdue"]]]);
  for (const state of ["started", "in_progress"]) {
    assert.deepEqual(sentencesOf({ state, attempt: 1, lease_left_ms: 1 }), [["key_running"]]);
  }
});

const ran = { outcome: "ran", at: "2026-01-01T12:00:02.000Z", total_us: 2e6, attempt: 1,
  upstream_begin_us: 5e5, upstream_us: 1e6 };

test("a request whose connection was refused is not said to have run", () => {
  const refused = { ...ran, settled: "release" };
  assert.deepEqual(requestWords(refused), ["request_unsent"]);
  assert.deepEqual(requestWords({ ...ran, settled: "unknown" }), ["request_ran_unanswered"]);
  assert.deepEqual(requestWords({ ...ran, settled: "release", upstream_status: 503 }),
    ["request_ran", 503]);
  const names = (request) => lifeOf({ attempt: 1 }, [request], [], []).map((one) => one.name);
  assert.deepEqual(names(refused), ["attempt", "release"]);
  assert.deepEqual(names({ ...ran, settled: "unknown" }), ["attempt", "dispatched", "unknown"]);
});

test("each name is one of a text", () => {
  const states = ["completed", "unknown", "released", "failed", "probing", "started",
    "in_progress"];
  const names = states.flatMap((state) => [1, 2].flatMap((attempt) => [-1, 1].flatMap((left) => (
    sentencesOf({ state, attempt, by_operator: true, lease_left_ms: left })))));
  const requests = ["replayed", "waited", "mismatch", "busy", "backoff"]
    .map((outcome) => requestWords({ outcome }));
  for (const [name] of [...names, ...requests]) assert.ok(has(name), name);
});
