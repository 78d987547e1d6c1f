// The texts of the page, in the language that its reader chose.

import { CHANGE_TEXTS } from "./change_texts.js";
import { LIST_TEXTS } from "./list_texts.js";
import { MONITORING } from "./monitoring_texts.js";
import { RECORD_TEXTS } from "./record_texts.js";
import { REFUSAL_TEXTS } from "./refusal_texts.js";
import { TABLE } from "./text_table.js";

const TEXTS = { ...TABLE, ...MONITORING, ...REFUSAL_TEXTS, ...CHANGE_TEXTS, ...LIST_TEXTS,
  ...RECORD_TEXTS };

const LANGUAGES = ["en", "de"];
let chosen = read() ?? (navigator.language.startsWith("de") ? "de" : "en");

/** How numbers and times are written: as the reader's system does, if it has the same language. */
export function locale() {
  return navigator.language.startsWith(chosen) ? navigator.language : chosen;
}

function read() {
  try {
    const kept = localStorage.getItem("language");
    return LANGUAGES.includes(kept) ? kept : null;
  } catch {
    return null; // storage may be forbidden
  }
}

export function language() {
  return chosen;
}

export function setLanguage(wanted) {
  chosen = wanted;
  document.documentElement.lang = wanted;
  try {
    localStorage.setItem("language", wanted);
  } catch {
    // It holds until the page is closed.
  }
}

export function has(name) {
  return Object.hasOwn(TEXTS, name);
}

/** @param {string} name of the table; an unknown one is shown as it is @param {...any} values */
export function text(name, ...values) {
  let found = TEXTS[name]?.[LANGUAGES.indexOf(chosen)] ?? name;
  for (const value of values) found = found.replace("{}", () => String(value));
  return found;
}

document.documentElement.lang = chosen;
