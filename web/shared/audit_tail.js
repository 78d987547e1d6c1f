// The latest lines of the audit log: after the first look, only those that are new are read.
import { beside, query } from "./api.js";

/**
 * The lines that are known now.
 * @param {{entries: object[], older: boolean, newest: string}} known
 * @param {object} page as /api/audit has it
 * @param {number} most lines that are kept
 */
export function withNewer(known, page, most) {
  // Where there are more new ones than a page has, those that are known are too old.
  const follows = page.follows && !page.cursor;
  const all = follows ? [...page.entries, ...known.entries] : page.entries;
  return { entries: all.slice(0, most), newest: page.newest,
    older: all.length > most || (follows ? known.older : Boolean(page.cursor)) };
}

const NOTHING = { entries: [], older: false, newest: "" };

export class AuditTail {
  known = NOTHING;

  /** @param {object} filter as that of /api/audit @param {number} most lines that are kept */
  constructor(filter, most) {
    this.filter = filter;
    this.most = most;
  }

  /** `entries`: the newest first; `older`: whether there are more; `missing`: as beside(). */
  async read(signal) {
    const { known } = this; // two reads may overlap
    const page = await beside(`/api/audit?${query({ ...this.filter, limit: this.most,
      after: known.newest })}`, signal);
    this.known = page.missing ? NOTHING : withNewer(known, page, this.most);
    return { ...this.known, missing: page.missing };
  }
}
