// The reason of the act before, which is offered for the next: what is done to many is mostly done
// for one reason.

let last = "";

export function reasonBefore() {
  return last;
}

/** What is only tried is not done. */
export function noteReason({ reason, dry_run: dry }) {
  if (!dry) last = reason;
}

/** It is of whoever was signed in. */
export function forgetReason() {
  last = "";
}

const LONGEST = 80; // letters that a button shows

export function inShort(reason) {
  const letters = [...reason];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : reason;
}
