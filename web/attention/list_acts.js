// What an act may be for that follows a list, and what of a list still counts when it was changed.
import { applies } from "../record/applying.js";

/** As long as no list was read. `listed` has what the list came to, and `rest` those that it does
 * not name, as restOf() gives them; `ofList` those that it names, by their ids, and whether it
 * chose them by itself. `looked`: of its doubtful lines a person says that they mean none of the
 * rest. */
export const NO_LIST = { listed: null, rest: null, ofList: null, looked: false };

/** What changes when a list is changed: nothing is chosen by what it came to; null: nothing. */
export function withoutList({ rest }) {
  return rest ? { ...NO_LIST, chosen: new Map() } : null;
}

/** What changes when a list was read. */
export function withList({ chosen, ...choice }, rest) {
  const several = choice.several.flatMap(({ records }) => records);
  const ofList = new Map([...several.map(({ record }) => [record, false]),
    ...[...chosen.keys()].map((record) => [record, true])]);
  return { chosen, rest, ofList, looked: false, listed: choice };
}

/** Of several readings the last counts, and none that began before stop(). */
export class Turn {
  now = 0;

  stop() {
    this.now += 1;
  }

  /** What `work` comes to; null: it counts no more. */
  async of(work) {
    this.stop();
    const mine = this.now;
    try {
      const value = await work();
      return mine === this.now ? value : null;
    } catch (failure) {
      if (mine === this.now) throw failure;
      return null;
    }
  }
}

/** Whether two readings are of one attempt, whose lease nobody has renewed in between. */
export function isSame(one, other) {
  return one !== undefined && one.token === other.token && one.revision === other.revision;
}

/** Whether a record is as it was, by what was read since; of more than that, nobody knows. */
export function isAsRead({ records, more }) {
  const now = new Map(records.map((one) => [one.record, one]));
  return (one) => (now.has(one.record) ? isSame(one, now.get(one.record)) : more);
}

/** What a list does not name, as it is now; null: no list was read. */
export function restNow(rest, value) {
  if (!rest) return null;
  const same = isAsRead(value);
  return { ...rest, records: rest.records.filter(same), others: rest.others.filter(same),
    meant: rest.meant.filter(same),
    near: rest.near.map((line) => ({ ...line, means: line.means.filter(same) })) };
}

/** The lines of a list at which a person has to look. */
export function doubtfulOf(near) {
  return near.filter(({ doubtful }) => doubtful);
}

/** Those lines, and those of some records that they may mean. */
export function doubtsAmong(near, records) {
  const lines = doubtfulOf(near);
  const meant = new Set(lines.flatMap(({ means }) => means).map(({ record }) => record));
  return { lines: lines.map(({ key }) => key),
    among: records.filter(({ record }) => meant.has(record)) };
}

/**
 * After an act on all that a list chose: the opposite act for what it does not name. After an act
 * on a part of it or on anything else, and while a line is doubtful, there is none.
 * @param {{kind: string, records: object[]}} act that was done
 * @param {{rest: object, ofList: Map<string, boolean>, looked: boolean}} state `rest` as restNow()
 *   gives it
 */
export function nextAct({ kind, records }, { rest, ofList, looked }) {
  const next = { complete: "release", release: "complete" }[kind];
  if (!next || !rest || (doubtfulOf(rest.near).length > 0 && !looked)) return null;
  const acted = new Set(records.map(({ record }) => record));
  const isWhole = [...acted].every((id) => ofList.has(id))
    && [...ofList].every(([id, byItself]) => !byItself || acted.has(id));
  const others = rest.records.filter((one) => applies(next, one));
  return isWhole && others.length > 0
    ? { kind: next, records: others, unmatched: doubtsAmong(rest.near, others) } : null;
}
