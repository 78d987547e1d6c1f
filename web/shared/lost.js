// What an act says of itself when its answer is a refusal, or was lost.
import { text } from "./texts.js";

/** Whether an answer says for certain that nothing was done. */
export function isRefusal({ status, problem }) {
  if (status >= 400 && status < 500) return true;
  // Of the 5xx, those of the process itself say what they did; a proxy's say nothing.
  return status >= 500 && problem.status === status && problem.effect !== "unknown";
}

/** For people: of a failure of an act, which may have been carried out. Look again after it. */
export function actFailure(failure) {
  if (isRefusal(failure)) return failure.message || text("result_no_answer");
  // Without an answer, the message is the browser's own and says nothing.
  return [text("act_unknown"), failure.status > 0 ? failure.message : ""].filter(Boolean).join(" ");
}
