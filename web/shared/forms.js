// Numbers and times as people read them.
import { locale } from "./texts.js";

// Two digits of the hour, as the other forms have them, of 24 in each language.
const FORMS = {
  short: { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" },
  clock: { timeStyle: "medium", hourCycle: "h23" },
  exact: { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
    second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" },
};

let utc = false;

/** Whether times stand in UTC; otherwise, in the reader's zone. */
export function inUtc() {
  return utc;
}

export function setUtc(wanted) {
  utc = wanted;
}

// A new one costs more than all that is written with one, and a chart writes a thousand times.
const formatters = new Map();

function formatterOf(form) {
  const name = `${locale()} ${form} ${utc}`;
  if (!formatters.has(name)) {
    const zone = utc ? { timeZone: "UTC" } : {};
    formatters.set(name, new Intl.DateTimeFormat(locale(), { ...FORMS[form], ...zone }));
  }
  return formatters.get(name);
}

/** @param {number|string} at @param {"short"|"clock"|"exact"} form */
export function moment(at, form) {
  return formatterOf(form).format(new Date(at)) + (utc ? " UTC" : "");
}

/** @param {number} value */
export function number(value) {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: 1 }).format(value);
}

/** @param {number} us microseconds */
export function duration(us) {
  if (us < 1000) return `${number(us)} µs`;
  if (us < 1e6) return `${number(us / 1000)} ms`;
  return span(us / 1000);
}

/** @param {number} ms milliseconds, in its two largest units */
export function span(ms) {
  const parts = [];
  let rest = Math.max(0, Math.floor(ms / 1000));
  for (const [unit, seconds] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

/** @param {number} size bytes */
export function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  for (; size >= 1024 && power < units.length - 1; power += 1) size /= 1024;
  return `${number(size)} ${units[power]}`;
}
