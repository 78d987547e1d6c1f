// What changed in the last hour, from made-up answers of the admin API.
import assert from "node:assert/strict";
import { test } from "node:test";

import { changesOf } from "../../web/overview/changes.js";
import { pressingOf, refusalsOf } from "../../web/shared/refusals.js";

const at = (minutes) => new Date(Date.UTC(2026, 0, 1, 12, minutes)).toISOString();
const event = (minutes, name, level = "info", fields = {}) => (
  { at: at(minutes), event: name, level, fields });
const SINCE = Date.parse(at(0));

test("events, acts and routes that began to refuse stand in one row, the newest first", () => {
  const events = [event(9, "store-back"), event(7, "store-away", "error", { store: "postgres" }),
    event(2, "reloaded", "info", { by: "alice", changed: "x" })];
  const audit = [{ at: at(8), action: "release", stage: "done", who: "bob", key: "a b" },
    { at: at(4), action: "drain", stage: "done", who: "bob" }];
  const routes = [{ route: "/charges", refusals: [
    { problem: "key-reused", began_at: at(5), last_at: at(9) }] }];
  const found = changesOf(events, audit, routes, SINCE);
  assert.deepEqual(found.map((one) => [one.name, one.link, one.grade]), [
    ["store-back", "#/stores", ""], ["release", "#/search?key=a%20b", ""],
    ["store-away", "#/stores", ""], ["key-reused", "#/routes", ""],
    ["drain", "#/audit", ""], ["reloaded", "#/routes", ""]]);
  assert.equal(found[3].more.route, "/charges");
});

test("what is over, or was long ago, has no colour of what needs a person now", () => {
  const refused = (problem, last) => ({ problem, began_at: at(5), last_at: at(last) });
  const routes = [{ route: "/", refusals: [refused("key-reused", 49), refused("key-missing", 51),
    refused("in-progress", 59)] }];
  const file = { path: "/a" };
  const found = changesOf([event(1, "store-back"), event(2, "store-away", "error"),
    event(3, "accelerator-away", "warning"), event(4, "accelerator-back"),
    event(6, "file-refused", "error", file),
    event(7, "file-read-again", "info", { path: "/b" })], [], routes, SINCE);
  const bad = found.filter(({ grade }) => grade === "bad").map(({ name }) => name);
  assert.deepEqual(bad, ["file-refused", "key-missing", "store-away"]);
  const later = changesOf([event(6, "file-refused", "error", file),
    event(7, "file-read-again", "info", file)], [], [], SINCE);
  assert.deepEqual(later.map(({ grade }) => grade), ["", ""]);
});

test("what is older, what was not done, and who looked is left out", () => {
  const line = { at: at(3), who: "bob" };
  assert.deepEqual(changesOf([event(-1, "reloaded")],
    [{ ...line, action: "release", stage: "intended" },
      { ...line, action: "release", stage: "not done: running" },
      { ...line, action: "show", stage: "done" },
      { ...line, action: "look", stage: "done" },
      { ...line, at: at(-1), action: "release", stage: "done" }],
    [{ route: "/", refusals: [{ problem: "x", began_at: at(-1), last_at: at(3) }] }], SINCE), []);
});

test("an act on many is one line, and so is an event of many routes", () => {
  const seconds = (minute, second) => new Date(Date.UTC(2026, 0, 1, 12, minute, second))
    .toISOString();
  const act = (minute, second, more) => ({ at: seconds(minute, second), action: "release",
    stage: "done", who: "bob", key: `k-${second}`, why: "the list", ...more });
  const audit = [1, 2, 3, 50].map((second) => act(5, second)).concat(act(9, 1), act(5, 2,
    { who: "alice" }), act(5, 2, { why: "by hand" }));
  const events = ["/a", "/b"].map((route) => event(5, "anonymous-scope", "warning",
    { route, hint: "x" }));
  const found = changesOf([...events, event(5, "reloaded", "info", { by: "bob" })], audit, [],
    SINCE);
  assert.deepEqual(found.map((one) => [one.name, one.all.length, one.link]), [
    ["release", 1, "#/search?key=k-1"], ["release", 4, "#/audit"],
    ["release", 1, "#/search?key=k-2"], ["release", 1, "#/search?key=k-2"],
    ["anonymous-scope", 2, "#/routes"], ["reloaded", 1, "#/routes"]]);
  assert.equal(found[1].at, Date.parse(seconds(5, 50)));
  assert.deepEqual(found[4].all.map((one) => one.route), ["/a", "/b"]);
});

test("an act whose lines go on beyond those that were read is of at least so many", () => {
  const act = (minute, second, more) => ({ at: new Date(Date.UTC(2026, 0, 1, 12, minute, second))
    .toISOString(), action: "release", stage: "done", who: "bob", key: "k", ...more });
  const many = Array.from({ length: 50 }, (_, i) => act(5, 59 - i));
  const first = act(9, 1, { who: "alice" });
  const counts = (audit, older) => changesOf([], audit, [], SINCE, older)
    .map(({ all, atLeast }) => [all.length, atLeast]);
  assert.deepEqual(counts([first, ...many], true), [[1, false], [50, true]]);
  assert.deepEqual(counts([first, ...many], false), [[1, false], [50, false]]);
  // What is before the hour is no part of what is shown, and a deed of a minute ends with a minute.
  assert.deepEqual(counts([first, ...many, act(-1, 0)], true), [[1, false], [50, false]]);
  assert.deepEqual(counts([first, ...many, act(2, 0, { who: "eve" })], true),
    [[1, false], [50, false], [1, true]]);
  assert.deepEqual(counts([act(0, 10), act(-1, 50)], true), [[1, false]]);
});

test("refusals that go on stand first, then those that are many; who waits does not press", () => {
  const one = (problem, count, minutes) => ({ problem, count, last_at: at(minutes) });
  const [busy, reused] = [one("in-progress", 900, 29), one("key-reused", 50, 5)];
  const [missing, bad] = [one("key-missing", 118, 29), one("bad-request", 200, 21)];
  const routes = [{ route: "/a", refusals: [busy, reused] },
    { route: "/b", refusals: [missing, bad] }];
  const now = Date.parse(at(30));
  const found = refusalsOf(routes, now);
  assert.deepEqual(found.map(({ route, problem }) => [route, problem]), [["/b", "bad-request"],
    ["/b", "key-missing"], ["/a", "in-progress"], ["/a", "key-reused"]]);
  assert.deepEqual(pressingOf(routes, now).map(({ problem }) => problem),
    ["bad-request", "key-missing"]);
});
