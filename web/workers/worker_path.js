// The address of a worker in the API, whatever it is called.
import { query } from "../shared/api.js";

/** A browser takes `.` and `..` out of a path, however they are escaped. */
export function workerPath(name, rest) {
  return name === "." || name === ".."
    ? `/api/workers/-/${rest}?${query({ worker: name })}`
    : `/api/workers/${encodeURIComponent(name)}/${rest}`;
}
