// Sends an act for each of some records, and says what became of each.
import { call, Refused } from "../shared/api.js";
import { isRefusal } from "../shared/lost.js";

function outcomeOf(failure, dry) {
  if (failure.status === 401) return { outcome: "not_tried", signedOut: true };
  if (failure.problem.outcome) {
    return { outcome: failure.problem.outcome, detail: failure.message };
  }
  if (isRefusal(failure)) return { outcome: "failed", detail: failure.message };
  const gone = failure.status === 0;
  return {
    outcome: dry ? "no_answer" : "unknown",
    detail: gone ? "" : failure.message,
    stops: gone,
  };
}

/** What has no token is named by no attempt: it must still be as unreadable as it was. */
async function isAsSeen(record) {
  if (record.token) return true;
  return (await call("GET", `/api/records/${record.record}?body=no`)).state === record.state;
}

async function send(kind, record, wanted) {
  const body = { ...wanted };
  if (record.token) body.token = record.token;
  // Of a lease that was seen to run it is known that it is renewed, and force is in spite of that.
  const renewed = wanted.force && record.lease_left_ms > 0;
  if (record.revision !== undefined && !renewed) body.revision = record.revision;
  if (kind === "delete" && record.state !== "completed") body.keep_completed = true;
  let sent = false;
  try {
    if (!(await isAsSeen(record))) return { outcome: "changed" };
    sent = true;
    const answer = await call("POST", `/api/records/${record.record}/${kind}`, body);
    if (answer?.act === kind && answer.dry_run === wanted.dry_run) return { outcome: "done" };
    return outcomeOf(new Refused(0, ""), wanted.dry_run);
  } catch (failure) {
    if (!(failure instanceof Refused)) throw failure;
    return outcomeOf(failure, wanted.dry_run || !sent);
  }
}

/**
 * One after another, each for the attempt that `records` names. After an answer that was lost, or
 * when the sign-in is over, the others are not tried.
 * @param {"complete"|"release"|"delete"} kind
 * @param {object[]} records as they were seen
 * @param {object} wanted the members of the act, without those of a record
 * @param {() => boolean} goesOn asked before each
 */
export async function sendAll(kind, records, wanted, goesOn) {
  const results = [];
  let over = false;
  let signedOut = false;
  for (const record of records) {
    over = over || !goesOn();
    const one = over ? { outcome: "not_tried" } : await send(kind, record, wanted);
    signedOut = signedOut || Boolean(one.signedOut);
    over = over || signedOut || Boolean(one.stops);
    results.push({ record, outcome: one.outcome, detail: one.detail });
  }
  return { results, signedOut };
}
