// What requests get that are refused, by the names of the outcomes.
export const REFUSALS = ["busy", "mismatch", "backoff", "unknown", "not_kept", "refused",
  "store_failed"];

// After as long without one, the next is a beginning again (`began_at` of the admin API).
const ONGOING = 600_000; // ms
const ORDINARY = new Set(["in-progress", "backing-off"]); // a client repeats, and is told to wait

/**
 * The refusals of all routes: those that go on first, then by their number.
 * @param {object[]} routes as the overview has them
 * @param {number} now milliseconds since 1970
 */
export function refusalsOf(routes, now) {
  return routes.flatMap(({ route, refusals }) => refusals.map((one) => ({ route, ...one,
    goesOn: now - Date.parse(one.last_at) < ONGOING, ordinary: ORDINARY.has(one.problem) })))
    .sort((one, other) => other.goesOn - one.goesOn || one.ordinary - other.ordinary
      || other.count - one.count);
}

/** Those of which a person should know: they go on, and a client that waits does not end them. */
export function pressingOf(routes, now) {
  return refusalsOf(routes, now).filter((one) => one.goesOn && !one.ordinary);
}

/** How many were refused. @param {Record<string, number>} outcomes */
export function refusedOf(outcomes) {
  return REFUSALS.reduce((sum, one) => sum + (outcomes[one] ?? 0), 0);
}
