// The texts of the page: each in both languages, with the same places for values.
import assert from "node:assert/strict";
import { test } from "node:test";

import { CHANGE_TEXTS } from "../../web/shared/change_texts.js";
import { LIST_TEXTS } from "../../web/shared/list_texts.js";
import { MONITORING } from "../../web/shared/monitoring_texts.js";
import { RECORD_TEXTS } from "../../web/shared/record_texts.js";
import { REFUSAL_TEXTS } from "../../web/shared/refusal_texts.js";
import { TABLE } from "../../web/shared/text_table.js";
import { WORK_TEXTS } from "../../web/shared/work_texts.js";

const places = (text) => text.split("{}").length;

test("each text is in English and in German", () => {
  const all = Object.entries({ ...WORK_TEXTS, ...TABLE, ...MONITORING, ...REFUSAL_TEXTS,
    ...CHANGE_TEXTS, ...LIST_TEXTS, ...RECORD_TEXTS });
  assert.ok(all.length > 300, `${all.length} texts`);
  for (const [name, texts] of all) {
    assert.equal(texts.length, 2, name);
    const [english, german] = texts;
    assert.ok(english && german, name);
    assert.equal(places(english), places(german), name);
  }
});
