// What became of a key and of its requests, as the names of texts with their values. An attempt is
// a lease: it need not have reached the service, and a person may have settled what nobody knows.

/** The sentences about a record. */
export function sentencesOf({ state, attempt, by_operator: byOperator, lease_left_ms: left }) {
  const once = attempt === 1 && !byOperator && ["ran_once"];
  const ran = attempt > 1 ? ["attempts_began", attempt] : once;
  const person = byOperator && ["key_by_person"];
  return {
    completed: [ran, person],
    unknown: [["key_unknown"]],
    released: [["key_released"], person],
    failed: [["key_failed"]],
    probing: [["key_probing"]],
    // Of a lease that ended before the dispatch, nothing was sent.
    started: [[left > 0 ? "key_running" : "key_unsent"]],
    in_progress: [[left > 0 ? "key_running" : "key_overdue"]],
  }[state]?.filter(Boolean) ?? [];
}

/** Whether nothing came of a request that began: no byte left, as its connection was refused. The
 * time at which it was to be sent is known all the same. */
export function isUnsent({ settled, upstream_status: answered }) {
  return settled === "release" && !answered;
}

/** What a request got. */
export function requestWords(request) {
  const { outcome, upstream_status: answered } = request;
  if (outcome === "ran") {
    if (answered) return ["request_ran", answered];
    if (request.settled === "complete") return ["request_completed"]; // its answer was not kept
    return [isUnsent(request) ? "request_unsent" : "request_ran_unanswered"];
  }
  if (outcome === "replayed" || outcome === "waited") return ["request_repeat"];
  return [outcome === "mismatch" || outcome === "busy" ? `event_${outcome}` : `outcome_${outcome}`];
}
