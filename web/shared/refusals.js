// What requests get that are refused, by the names of the outcomes.
export const REFUSALS = ["busy", "mismatch", "backoff", "unknown", "not_kept", "refused",
  "store_failed"];

/** How many were refused. @param {Record<string, number>} outcomes */
export function refusedOf(outcomes) {
  return REFUSALS.reduce((sum, one) => sum + (outcomes[one] ?? 0), 0);
}
