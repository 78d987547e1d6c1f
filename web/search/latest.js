// Of the latest requests, the keys.

const MOST = 50;

/**
 * The last request of each key.
 * @param {object[]} requests as /api/recent has them, the oldest first
 * @returns {object[]} the newest first
 */
export function latestOf(requests) {
  const out = new Map();
  for (const one of [...requests].reverse()) {
    if (one.record && !out.has(one.record)) out.set(one.record, one);
  }
  return [...out.values()].slice(0, MOST);
}
