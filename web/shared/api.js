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

/** The numbers of the process as they are now, without the history of them. */
export const NUMBERS_NOW = "/api/overview?after=18446744073709551615";

const RARELY = 60_000; // ms
const away = new Map(); // by its path: until when it is not asked for again, and why

/**
 * What else is known. Where the process has no such resource, or a log that can't be read, only
 * `missing`, which says why; and it is asked for rarely then, whatever the query.
 */
export async function beside(path, signal) {
  const [name] = path.split("?", 1);
  const known = away.get(name);
  if (known && Date.now() < known.until) return { missing: known.why };
  try {
    const answer = await call("GET", path, undefined, signal);
    away.delete(name);
    return answer;
  } catch (failure) {
    if (!(failure instanceof Refused && [404, 503].includes(failure.status))) throw failure;
    away.set(name, { until: Date.now() + RARELY, why: failure.message });
    return { missing: failure.message };
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
