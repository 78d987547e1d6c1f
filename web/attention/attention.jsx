// What needs a person, in groups of one cause.
import { h } from "preact";

import { call, query, Refused } from "../shared/api.js";
import { Act } from "../record/act.jsx";
import { applies } from "../record/applying.js";
import { Conspicuous } from "./conspicuous.jsx";
import { choiceOf, readLines } from "./key_list.js";
import { number } from "../shared/forms.js";
import { RecordTable } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";

const MOST = 1000; // records that are read; of more, that there are more

/** A name for what the records of a group have in common. */
function cause(record) {
  return record.state === "unknown" ? `unknown/${record.why}` : record.state;
}

/** Whether two readings are of one attempt, whose lease nobody has renewed in between. */
function isSame(one, other) {
  return one !== undefined && one.token === other.token && one.revision === other.revision;
}

export class Attention extends Reading {
  interval = 5000;

  // `rest` has those that needed a person when a list was read, and did not stand in it.
  // `chosen` has the records by their id as they were when they were chosen: an act is for these.
  state = { ...this.state, chosen: new Map(), act: null, listed: null, rest: [] };

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
    const { value, chosen } = this.state;
    const now = new Map(value.records.map((one) => [one.record, one]));
    const same = (one) => (now.has(one.record) ? isSame(one, now.get(one.record)) : value.more);
    const all = [...chosen.values()];
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

  /** Of those that did not stand in the list, those that are as they were then. */
  restNow() {
    const { value, rest } = this.state;
    const now = new Map(value.records.map((one) => [one.record, one]));
    return rest.filter((one) => (now.has(one.record) ? isSame(one, now.get(one.record))
      : value.more));
  }

  async chooseListed(event) {
    event.preventDefault();
    const wanted = readLines(this.list.value, this.scope.value.trim().toLowerCase());
    this.setState({ listed: null });
    try {
      const pages = [];
      for await (const page of this.pages()) pages.push(page);
      const { chosen, ...listed } = await choiceOf(wanted, pages, this.calls.signal);
      const doubtful = new Set(listed.several.flatMap(({ records }) => records
        .map((one) => one.record)));
      // A line that was not found may be of one that can't be read, or that ends as no line does.
      const rest = pages.flatMap(({ records }) => records)
        .filter((one) => one.state !== "unreadable" && !/[,;]$/.test(one.key)
          && !chosen.has(one.record) && !doubtful.has(one.record));
      this.setState({ chosen, listed, rest });
    } catch (failure) {
      if (failure.name === "AbortError" || this.calls.signal.aborted) return;
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) this.signedOut();
      else this.setState({ failure });
    }
  }

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

  render({ acts }, { value, act, listed }) {
    if (!value) return this.notice();
    const groups = Map.groupBy
      ? Map.groupBy(value.records, cause)
      : value.records.reduce((all, one) => all.set(cause(one), [...(all.get(cause(one)) ?? []),
        one]), new Map());
    const { selected, changed } = this.sortChosen();
    const chosen = new Set(selected.map((one) => one.record));
    return (
      <div>
        {this.notice()}
        <p role="status">
          {value.records.length
            ? text("attention_count", number(value.records.length), value.more ? "+" : "")
            : text("attention_none")}
        </p>
        {acts && this.renderList(listed, selected, chosen)}
        {changed.length > 0 && !act && (
          <p class="failure" role="alert">
            {text("changed_since", changed.length)} <Keys keys={changed.map((one) => one.key)} />
          </p>
        )}
        {acts && this.renderActs(selected)}
        {act && <Act kind={act.kind} records={act.records} close={this.close} done={this.done}
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

  renderActs(selected) {
    const rest = this.restNow();
    return (
      <p class="acts">
        {["complete", "release", "delete"].map((kind) => {
          const records = selected.filter((one) => applies(kind, one));
          return (
            <button key={kind} type="button" disabled={!records.length} class={kind}
                    onClick={() => this.setState({ act: { kind, records } })}>
              {text(`act_${kind}`)} ({records.length})
            </button>
          );
        })}
        {rest.length > 0 && (
          <button type="button" onClick={() => this.setState({
            chosen: new Map(rest.map((one) => [one.record, one])) })}>
            {text("choose_rest", rest.length)}
          </button>
        )}
      </p>
    );
  }

  renderList(listed, selected, chosen) {
    return (
      <details>
        <summary>{text("choose_listed")}</summary>
        <form onSubmit={(event) => this.chooseListed(event)}>
          <label>
            {text("keys_listed")}
            <textarea rows={6} spellcheck={false} ref={(list) => { this.list = list; }} />
          </label>
          <label>
            {text("scope_listed")}
            <input autocomplete="off" spellcheck={false} ref={(scope) => { this.scope = scope; }} />
          </label>
          <button type="submit">{text("choose")}</button>
          <div role="status">
            {listed && <p>{text("chosen_of_list", selected.length)}</p>}
            {listed?.settled.length > 0 && (
              <div>
                {text("settled_already", listed.settled.length)}
                <ul>
                  {listed.settled.map(({ key, states }) => (
                    <li key={key}><bdi class="key">{shown(key)}</bdi>{": "}
                      {states.map((state) => text(`state_${state}`)).join(", ")}</li>
                  ))}
                </ul>
              </div>
            )}
            {listed?.away.length > 0 && (
              <div>
                {text("not_here", listed.away.length)}
                <ul>
                  {listed.away.map((key) => <li key={key}><bdi class="key">{shown(key)}</bdi></li>)}
                </ul>
              </div>
            )}
          </div>
        </form>
        {listed?.several.length > 0 && (
          <div>
            {listed.several.map(({ key, records }) => (
              <section key={key}>
                <p class="failure" role="alert">
                  <bdi>{key}</bdi>: {text("several_scopes", new Set(records.map(
                    (one) => one.scope)).size)}
                </p>
                <RecordTable records={records} chosen={chosen} choose={this.choose}
                             mayChoose={(one) => one.attention} label={key} />
              </section>
            ))}
          </div>
        )}
      </details>
    );
  }
}

function Keys({ keys }) {
  return (
    <span>
      {keys.slice(0, 20).map((key) => <span key={key}><bdi>{shown(key)}</bdi> </span>)}
      {keys.length > 20 && text("more", keys.length - 20)}
    </span>
  );
}
