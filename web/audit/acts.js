// The lines of the audit log as acts: one is written as intended before it is made, and once more
// with what became of it.

const SINGLE = new Set(["show"]); // has one line: it is written before the answer is shown

/**
 * @param {object[]} lines as /api/audit has them, the newest first
 * @param {object[]} newer acts of the pages before whose first line was not read there
 * @returns {{acts: object[], open: object[]}} `acts`: the newest first, each with `at` and `stage`
 *   of its result and `begun_at`, of the line before it; of one that has no result, both are those
 *   of that line. `open`: acts whose first line was not read yet
 */
export function actsOf(lines, newer = []) {
  const open = [...newer];
  const acts = [];
  for (const { at, stage, ...about } of lines) {
    const name = JSON.stringify(about);
    const i = stage === "intended" ? open.map((one) => one.name).lastIndexOf(name) : -1;
    if (i >= 0) {
      open.splice(i, 1)[0].act.begun_at = at;
      continue;
    }
    const act = { at, stage, ...about };
    acts.push(act);
    if (stage === "intended") act.begun_at = at;
    else if (!SINGLE.has(about.action)) open.push({ name, act });
  }
  return { acts, open };
}
