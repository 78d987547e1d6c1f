// Calls of the admin API, which is all that the page knows of the world.

/** The service refused a call, or was not there (status 0). */
export class Refused extends Error {
  /** @param {number} status @param {string} detail @param {object} [problem] */
  constructor(status, detail, problem = {}) {
    super(detail);
    this.status = status;
    this.problem = problem;
  }
}

/**
 * @param {"GET"|"POST"|"DELETE"} method
 * @param {string} path
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the answer's object; null: it has none
 */
export async function call(method, path, body, signal) {
  let response;
  let received;
  try {
    response = await fetch(path, {
      method,
      signal,
      credentials: "same-origin",
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body && JSON.stringify(body),
    });
    received = await response.text(); // the connection may end amid it
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Refused(0, failure.message);
  }
  let answer = null;
  try {
    answer = received ? JSON.parse(received) : null;
  } catch {
    throw new Refused(response.status, received.slice(0, 200));
  }
  if (!response.ok) throw new Refused(response.status, answer?.detail ?? "", answer ?? {});
  return answer;
}

/** What else is known; nothing, where the process has no such resource or log. */
export async function beside(path, signal) {
  try {
    return await call("GET", path, undefined, signal);
  } catch (failure) {
    if (failure instanceof Refused && (failure.status === 404 || failure.status === 503)) return {};
    throw failure;
  }
}

/** The query of a filter, without its empty members. */
export function query(members) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value !== "" && value !== undefined && value !== null) out.append(name, value);
  }
  return out.toString();
}
