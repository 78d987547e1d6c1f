// Which acts a record can take, and what is to be thought of before one.

const UNSETTLED = new Set(["started", "in_progress", "probing", "unknown"]);
const LONGEST_RUN = 3_600_000; // ms; the upstream's timeout is not known here

/** Whether an act can change the record at all. */
export function applies(kind, record) {
  if (record.state === "completed") {
    // One whose answer was not kept takes an answer.
    return kind === "delete" || (kind === "complete" && record.status === undefined);
  }
  return !(record.state === "released" && kind === "release");
}

/** Whether its work may go on, so that an act is refused without `force`; what can't be read is so
 * in any case. */
export function mayStillRun(kind, record) {
  if (record.state === "unreadable") return true;
  if (!UNSETTLED.has(record.state)) return false;
  if (record.lease_left_ms > 0) return true;
  const answered = record.why === "upstream_status" && record.attempt === 1;
  return kind !== "complete" && !answered && !(-record.lease_left_ms > LONGEST_RUN);
}
