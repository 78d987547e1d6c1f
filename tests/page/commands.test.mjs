// The commands that say the same as the page, from made-up records.
import assert from "node:assert/strict";
import { test } from "node:test";

import { commandsOf } from "../../web/record/commands.js";
import { shown } from "../../web/shared/writing.js";

const place = { origin: "http://127.0.0.1:8081", host: "127.0.0.1:8081" };
const record = "ab".repeat(32);

test("without a token, the commands are short", () => {
  const { show } = commandsOf({ record, key: "order-17" }, place, false);
  assert.deepEqual(show, [`onceguard keys show ${record} --admin 127.0.0.1:8081`,
    `curl '${place.origin}/api/records/${record}?body=no'`,
    `curl '${place.origin}/api/records?key=order-17'`]);
});

test("the acts are those that can change the record", () => {
  const acts = (more) => commandsOf({ record, key: "order-17", ...more }, place, false).acts
    .map((one) => one.split(" ")[2]);
  assert.deepEqual(acts({ state: "unknown" }), ["release", "complete"]);
  assert.deepEqual(acts({ state: "released" }), ["complete"]);
  assert.deepEqual(acts({ state: "completed" }), ["complete"]); // it takes an answer
  assert.deepEqual(acts({ state: "completed", status: 201 }), []);
});

test("a key that is no text is not asked for by itself", () => {
  for (const key of [undefined, null, "a\ufffd"]) {
    assert.equal(commandsOf({ record, key }, place, true).show.length, 2);
  }
});

test("no key leaves its quotes", () => {
  for (const key of ["'; id #", "`id`", "$(id)", "a\nb", "\0", "\\", '"']) {
    const command = commandsOf({ record, key }, place, false).show[2];
    assert.match(command, /^curl '[!-&(-~]+'$/);
  }
});

test("what is not seen stands there by its number", () => {
  assert.equal(shown("a\0b\n\x7f"), "a\u2400b\u240a\u2039U+007F\u203a");
  assert.equal(shown("x\u202ey\u200b\ufeff"),
    "x\u2039U+202E\u203ay\u2039U+200B\u203a\u2039U+FEFF\u203a");
  for (const plain of ["order-17", "é 漢 שלום", "<b>", "\u{1f600}"]) {
    assert.equal(shown(plain), plain);
  }
});
