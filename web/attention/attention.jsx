// What needs a person, in groups of one cause.
import { h } from "preact";

import { call, query, Refused } from "../shared/api.js";
import { Act } from "../record/act.jsx";
import { applies } from "../record/applying.js";
import { Conspicuous } from "./conspicuous.jsx";
import { ByList, LeftOut } from "./by_list.jsx";
import { choiceOf, readLines, repeatedLines, restOf } from "./key_list.js";
import { doubtfulOf, doubtsAmong, isAsRead, isSame, nextAct, NO_LIST, restNow, Turn, withList,
  withoutList } from "./list_acts.js";
import { number } from "../shared/forms.js";
import { Keys, RecordTable } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";

const MOST = 1000; // records that are read; of more, that there are more

/** A name for what the records of a group have in common. */
function cause(record) {
  return record.state === "unknown" ? `unknown/${record.why}` : record.state;
}

export class Attention extends Reading {
  interval = 5000;

  // `chosen` has the records by their id as they were when they were chosen: an act is for these.
  state = { ...this.state, chosen: new Map(), act: null, ...NO_LIST };

  lists = new Turn();

  async* pages() {
    let cursor = "";
    do {
      const page = await call("GET", `/api/records?${query({ attention: "true", cursor })}`,
        undefined, this.calls.signal);
      yield page;
      cursor = page.cursor;
    } while (cursor);
  }

  async load() {
    const records = [];
    for await (const page of this.pages()) {
      records.push(...page.records);
      if (page.cursor && records.length >= MOST) return { records, more: true };
    }
    this.props.unknown?.(records.length);
    return { records, more: false };
  }

  /** Those of the chosen that are as they were then, and those that are not. */
  sortChosen() {
    const same = isAsRead(this.state.value);
    const all = [...this.state.chosen.values()];
    return { selected: all.filter(same), changed: all.filter((one) => !same(one)) };
  }

  choose = (record) => {
    const chosen = new Map(this.state.chosen);
    if (isSame(chosen.get(record.record), record)) chosen.delete(record.record);
    else chosen.set(record.record, record);
    this.setState({ chosen });
  };

  chooseAll(records) {
    const chosen = new Map(this.state.chosen);
    const all = records.every((one) => isSame(chosen.get(one.record), one));
    for (const one of records) {
      if (all) chosen.delete(one.record);
      else chosen.set(one.record, one);
    }
    this.setState({ chosen });
  }

  async readList(list, scope) {
    const wanted = readLines(list, scope);
    const pages = [];
    for await (const page of this.pages()) pages.push(page);
    const choice = await choiceOf(wanted, pages, this.calls.signal);
    return withList({ ...choice, lines: wanted.length, repeated: repeatedLines(list) },
      restOf(wanted, pages, choice));
  }

  async chooseListed(list, scope) {
    this.forgetList();
    try {
      const found = await this.lists.of(() => this.readList(list, scope));
      if (found) this.setState(found);
    } catch (failure) {
      if (failure.name === "AbortError" || this.calls.signal.aborted) return;
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) this.signedOut();
      else this.setState({ failure });
    }
  }

  /** What a list came to counts for the list as it was read, also when it is read just now. */
  forgetList = () => {
    this.lists.stop();
    const change = withoutList(this.state);
    if (change) this.setState(change); // not with each letter of a list
  };

  chooseRest = (records) => this.setState({
    chosen: new Map(records.map((one) => [one.record, one])) });

  /** What a list comes to that is read just now is not for an act of before. */
  open(act) {
    this.lists.stop();
    this.setState({ act });
  }

  goOn = (act) => {
    this.setState({ act, listed: null });
    this.chooseRest(act.records);
    this.read();
  };

  close = () => {
    this.setState({ act: null });
    this.read();
  };

  /** What was not tried stays chosen. */
  done = (results) => {
    const rest = results.filter((one) => one.outcome === "not_tried");
    this.setState({ act: null, listed: null,
      chosen: new Map(rest.map(({ record }) => [record.record, record])) });
    this.read();
  };

  render({ acts }, { value, act, listed, looked, ofList }) {
    if (!value) return this.notice();
    this.listOpen ??= value.records.length > 1; // as seen first: it does not close by itself
    const groups = Map.groupBy
      ? Map.groupBy(value.records, cause)
      : value.records.reduce((all, one) => all.set(cause(one), [...(all.get(cause(one)) ?? []),
        one]), new Map());
    const { selected, changed } = this.sortChosen();
    const chosen = new Set(selected.map((one) => one.record));
    const rest = restNow(this.state.rest, value);
    return (
      <div>
        {this.notice()}
        <p role="status">
          {value.records.length
            ? text("attention_count", number(value.records.length), value.more ? "+" : "")
            : text("attention_none")}
        </p>
        {acts && (
          <ByList open={this.listOpen} listed={listed} near={rest?.near ?? []} selected={selected}
                  chosen={chosen} choose={this.choose} changed={this.forgetList}
                  ask={(list, scope) => this.chooseListed(list, scope)} />
        )}
        {changed.length > 0 && !act && (
          <p class="failure" role="alert">
            {text("changed_since", changed.length)} <Keys records={changed} />
          </p>
        )}
        {acts && rest && <LeftOut rest={rest} looked={looked}
                                  look={(done) => this.setState({ looked: done })} />}
        {acts && this.renderActs(selected, rest)}
        {act && <Act key={act.kind} {...act} next={nextAct(act, { rest, ofList, looked })}
                     goOn={this.goOn} close={this.close} done={this.done}
                     signedOut={this.props.signedOut} />}
        {this.props.conspicuous && <Conspicuous signedOut={this.props.signedOut} />}
        {[...groups].map(([name, records]) => (
          <section key={name}>
            <h2>
              {text(`cause_${name.replace("/", "_")}`)} ({records.length})
            </h2>
            <p>{text(`find_out_${name.replace("/", "_")}`)}</p>
            {acts && (
              <button type="button" onClick={() => this.chooseAll(records)}>
                {text("choose_all")}
              </button>
            )}
            <RecordTable records={records} chosen={chosen} choose={acts ? this.choose : null}
                         label={text(`cause_${name.replace("/", "_")}`)} />
          </section>
        ))}
      </div>
    );
  }

  renderActs(selected, rest) {
    return (
      <p class="acts">
        {["complete", "release", "delete"].map((kind) => {
          const records = selected.filter((one) => applies(kind, one));
          const unmatched = rest && doubtsAmong(rest.near, records);
          return (
            <button key={kind} type="button" disabled={!records.length} class={kind}
                    onClick={() => this.open({ kind, records, unmatched })}>
              {text(`do_${kind}`, records.length)}
            </button>
          );
        })}
        {rest?.records.length > 0 && (
          <button type="button" disabled={doubtfulOf(rest.near).length > 0 && !this.state.looked}
                  onClick={() => this.chooseRest(rest.records)}>
            {text("choose_rest", rest.records.length)}
          </button>
        )}
      </p>
    );
  }
}
