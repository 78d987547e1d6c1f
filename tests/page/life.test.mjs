// The moments of a key, from made-up answers of the admin API.
import assert from "node:assert/strict";
import { test } from "node:test";

import { countsOf, inOrder, knownSince, lifeOf, withFirstRun } from "../../web/record/life.js";

const at = (seconds) => new Date(Date.UTC(2026, 0, 1, 12, 0, seconds)).toISOString();
const record = (more = {}) => ({ attempt: 1, ...more, timeline: [
  { at: at(0), event: "claimed" }, { at: at(2), event: "settled" },
  { at: at(59), event: "forgotten" }] });
const ran = { outcome: "ran", at: at(2), total_us: 2e6, upstream_begin_us: 5e5, upstream_us: 1e6,
  upstream_status: 201, attempt: 1, settled: "complete", client: "10.0.0.1" };
const names = (life) => life.map((one) => one.name);

test("without recent requests, the record tells its own", () => {
  assert.deepEqual(names(lifeOf(record(), [], [], [])), ["claimed", "settled", "forgotten"]);
});

test("the steps of an attempt stand in the place of what the record says of it", () => {
  const life = lifeOf(record(), [ran], [], []);
  assert.deepEqual(names(life), ["attempt", "dispatched", "answered", "complete", "forgotten"]);
  assert.deepEqual(life.slice(0, 4).map((one) => one.at - Date.parse(at(0))), [0, 500, 1500, 2000]);
  assert.equal(life[2].value, 201);
});

test("that a lease was renewed, and the trace of each request, stand there", () => {
  const trace = (i) => `${i}`.padStart(32, "0");
  const life = lifeOf(record(), [{ ...ran, renewals: 3, trace: trace(1) },
    { outcome: "replayed", at: at(3), trace: trace(2) },
    { outcome: "replayed", at: at(4), trace: trace(3) }], [], []);
  assert.equal(life.find((one) => one.kind === "renewed").value, 3);
  assert.equal(life.find((one) => one.kind === "attempt").trace, trace(1));
  assert.equal(life.find((one) => one.kind === "outcome").trace, trace(3));
  assert.ok(!names(lifeOf(record(), [ran], [], [])).includes("renewed"));
});

test("what is noted late, after its first repeats, stands before them", () => {
  const late = { ...ran, at: at(8), total_us: 8e6, settle_us: 1e5 };
  const life = lifeOf(record(), [{ outcome: "replayed", at: at(3) },
    { outcome: "replayed", at: at(9) }, late], [], []);
  assert.deepEqual(names(life),
    ["attempt", "dispatched", "answered", "complete", "replayed", "forgotten"]);
  assert.equal(life[3].at - Date.parse(at(0)), 1600);
});

test("the steps of an earlier attempt leave the record's", () => {
  const life = lifeOf(record({ attempt: 2 }), [{ ...ran, at: at(-5) }], [], []);
  assert.ok(names(life).includes("claimed") && names(life).includes("settled"));
});

test("what an operator settled is still there beside the attempt", () => {
  assert.ok(names(lifeOf(record({ by_operator: true }), [ran], [], [])).includes("settled"));
});

test("repeats that follow each other are one moment", () => {
  const repeat = (seconds, outcome = "replayed", client = "10.0.0.1") => (
    { outcome, at: at(seconds), client });
  const life = lifeOf(record(), [ran, repeat(3), repeat(4), repeat(5), repeat(6, "mismatch"),
    repeat(7), repeat(8, "replayed", "10.0.0.2")], [], []);
  const outcomes = life.filter((one) => one.kind === "outcome");
  assert.deepEqual(outcomes.map((one) => [one.name, one.count]),
    [["replayed", 3], ["mismatch", 1], ["replayed", 2]]);
  assert.equal(outcomes[0].last, Date.parse(at(5)));
  assert.deepEqual(outcomes.map((one) => one.note), ["10.0.0.1", "10.0.0.1", undefined]);
});

test("what a person did stands there once, with the reason", () => {
  const line = { at: at(9), action: "complete", who: "alice", why: "the bank's list" };
  const life = lifeOf(record(), [], [],
    [{ ...line, stage: "done" }, { ...line, stage: "intended" }]);
  const audited = life.filter((one) => one.kind === "audit");
  assert.deepEqual(audited.map((one) => [one.value, one.note]), [["alice", "the bank's list"]]);
});

test("events that name the record stand there", () => {
  const lost = { at: at(1), event: "lease-lost", fields: { why: "late" } };
  const life = lifeOf(record(), [], [lost], []);
  assert.equal(life.find((one) => one.kind === "event").note, "late");
  // What the audit log has stands there once.
  const audited = { at: at(1), event: "audit", fields: { why: "x" } };
  assert.ok(!lifeOf(record(), [], [audited], []).some((one) => one.kind === "event"));
});

test("requests are counted by what they got, and a record knows its runs itself", () => {
  const busy = { outcome: "busy", status: 409, at: at(1) };
  const counts = countsOf(record({ attempt: 2 }), [busy, busy, { outcome: "replayed", at: at(3) },
    { outcome: "waited", at: at(3) }, { outcome: "mismatch", status: 422, at: at(4) }]);
  assert.deepEqual(counts, { all: 7, ran: 2, answered: 2, refused: [
    { outcome: "busy", status: 409, count: 2 }, { outcome: "mismatch", status: 422, count: 1 }] });
  assert.equal(countsOf(record(), [ran, ran]).ran, 2); // it was forgotten, and ran again
});

test("what was before the process knows requests is said to be unknown, where it may be", () => {
  const claimed = record({ claimed_at: at(10) });
  assert.equal(knownSince(claimed, [], at(9)), null);
  assert.equal(knownSince(claimed, [], at(11)), Date.parse(at(11)));
  // Of a second run, nobody knows when the first began, but by the request itself.
  const again = record({ attempt: 2, claimed_at: at(10) });
  assert.equal(knownSince(again, [], at(0)), Date.parse(at(0)));
  assert.equal(knownSince(again, [ran], at(0)), null);
  assert.equal(knownSince(again, [ran], at(1)), Date.parse(at(1)));
  const life = lifeOf(claimed, [], [], [], Date.parse(at(1)));
  assert.deepEqual(names(life), ["claimed", "before_unknown", "settled", "forgotten"]);
});

test("a request of long ago has no steps but its answer", () => {
  const { upstream_begin_us, upstream_us, client, ...past } = { ...ran, attempt: 2 };
  const life = lifeOf(record({ attempt: 2 }), [past], [], []);
  assert.deepEqual(names(life), ["attempt", "answered", "complete", "forgotten"]);
});

test("requests stand in the order in which they came, whenever they were answered", () => {
  const busy = { outcome: "busy", status: 409, at: at(1), total_us: 300 };
  const found = inOrder([busy, ran, { outcome: "replayed", at: at(3) }]);
  assert.deepEqual(names(found.map(({ outcome: name }) => ({ name }))),
    ["ran", "busy", "replayed"]);
  assert.equal(found[0].begin, Date.parse(at(0)));
});

test("the run that completed a record is listed though nobody knows its request any more", () => {
  const busy = { outcome: "busy", at: at(1), total_us: 10, status: 409 };
  const completed = record({ state: "completed", status: 201, method: "POST" });
  const listed = inOrder(withFirstRun(completed, [busy]));
  assert.deepEqual(listed.map((one) => [one.outcome, one.begin - Date.parse(at(0))]),
    [["ran", 0], ["busy", 1000]]);
  assert.equal(listed[0].upstream_status, 201);
  assert.equal(withFirstRun(completed, [busy, ran]).length, 2);
});

test("no run is made up of what a probe, a person, another door or a late settle says", () => {
  const completed = { state: "completed", status: 201, method: "POST" };
  for (const more of [{ state: "unknown" }, { state: "in_progress" }, { attempt: 2 },
    { by_operator: true }, { by_application: true }, { method: "exec" }]) {
    assert.deepEqual(withFirstRun(record({ ...completed, ...more }), []), []);
  }
  const late = [{ ...ran, outcome: "store_failed", status: 503 }]; // it ran, and was settled behind
  assert.deepEqual(withFirstRun(record(completed), late), late);
});
