// The reason of the act before, which is offered for the next one of its kind: what is done to many
// is mostly done for one reason. What took effect and what did not have different ones.

const last = new Map(); // by the kind of act

/** Empty: there was none. */
export function reasonBefore(kind) {
  return last.get(kind) ?? "";
}

/** What is only tried is not done. */
export function noteReason(kind, { reason, dry_run: dry }) {
  if (!dry) last.set(kind, reason);
}

/** They are of whoever was signed in. */
export function forgetReasons() {
  last.clear();
}

const LONGEST = 80; // letters that a button shows

export function inShort(reason) {
  const letters = [...reason];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : reason;
}
