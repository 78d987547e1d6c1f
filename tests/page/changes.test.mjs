// What changed in the last hour, from made-up answers of the admin API.
import assert from "node:assert/strict";
import { test } from "node:test";

import { changesOf } from "../../web/overview/changes.js";

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
    ["store-away", "#/stores", "bad"], ["key-reused", "#/routes", "bad"],
    ["drain", "#/audit", ""], ["reloaded", "#/routes", ""]]);
  assert.equal(found[3].more.route, "/charges");
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
