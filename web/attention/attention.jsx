// What needs a person, in groups of one cause.
import { h } from "preact";

import { call, query } from "../shared/api.js";
import { Act } from "../record/act.jsx";
import { number } from "../shared/forms.js";
import { RecordTable } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";

const MOST = 1000; // records that are read; of more, that there are more

/** A name for what the records of a group have in common. */
function cause(record) {
  return record.state === "unknown" ? `unknown/${record.why}` : record.state;
}

export class Attention extends Reading {
  interval = 5000;

  // Chosen are the attempts that were seen when they were chosen, by the records' ids.
  state = { ...this.state, chosen: new Map(), act: null, listed: null };

  async load() {
    const read = await this.pages({}, MOST);
    this.forget(read.records, read.more);
    return read;
  }

  /** What needs a person and fits, from as many pages as it takes. */
  async pages(filter, most) {
    let cursor = "";
    const records = [];
    do {
      const page = await call("GET",
        `/api/records?${query({ attention: "true", ...filter, cursor })}`, undefined,
        this.calls.signal);
      records.push(...page.records);
      cursor = page.cursor;
    } while (cursor && records.length < most);
    return { records, more: Boolean(cursor) };
  }

  /** Those that were listed, and are not any more, were settled by somebody else. */
  forget(records, more) {
    const here = new Set(records.map((one) => one.record));
    const left = [...this.state.chosen].filter(([id]) => more || here.has(id));
    if (left.length < this.state.chosen.size) this.setState({ chosen: new Map(left) });
  }

  choose = (record) => {
    const chosen = new Map(this.state.chosen);
    if (!chosen.delete(record.record)) chosen.set(record.record, record);
    this.setState({ chosen });
  };

  chooseAll(records) {
    const chosen = new Map(this.state.chosen);
    const all = records.every((one) => chosen.has(one.record));
    for (const one of records) {
      if (all) chosen.delete(one.record);
      else if (!chosen.has(one.record)) chosen.set(one.record, one);
    }
    this.setState({ chosen });
  }

  /** What needs a person with this key, also beyond those that were read. */
  async recordsOf(key, { records, more }) {
    const here = records.filter((one) => one.key === key);
    if (!more) return here;
    const read = await this.pages({ key }, MOST);
    return read.records.filter((one) => one.key === key);
  }

  /**
   * Chooses the records whose keys stand in a list, a line each; says which are not here, and which
   * stand under several scopes, of which the line has to name one.
   */
  async chooseListed(event) {
    event.preventDefault();
    const lines = new Set(this.list.value.split("\n").map((line) => line.trim()).filter(Boolean));
    const chosen = new Map();
    const listed = { missing: [], several: [] };
    try {
      for (const line of lines) {
        const [key, scope = ""] = line.split("\t").map((part) => part.trim());
        const found = (await this.recordsOf(key, this.state.value))
          .filter((one) => one.scope?.startsWith(scope.toLowerCase()));
        if (found.length > 1) listed.several.push(line);
        else if (found.length === 0) listed.missing.push(line);
        else chosen.set(found[0].record, found[0]);
      }
    } catch (failure) {
      if (failure.status === 401) return this.props.signedOut();
      if (this.calls.signal.aborted) return undefined;
      return this.setState({ failure });
    }
    return this.setState({ chosen, listed });
  }

  done = () => {
    this.setState({ act: null, listed: null, chosen: new Map() });
    this.read();
  };

  render({ acts }, { value, chosen, act, listed }) {
    if (!value) return this.notice();
    const groups = Map.groupBy
      ? Map.groupBy(value.records, cause)
      : value.records.reduce((all, one) => all.set(cause(one), [...(all.get(cause(one)) ?? []),
        one]), new Map());
    const selected = [...chosen.values()];
    return (
      <div>
        {this.notice()}
        <p role="status">
          {value.records.length
            ? text("attention_count", number(value.records.length), value.more ? "+" : "")
            : text("attention_none")}
        </p>
        {acts && (
          <details>
            <summary>{text("choose_listed")}</summary>
            <form onSubmit={(event) => this.chooseListed(event)}>
              <label>
                {text("keys_listed")}
                <small> {text("scope_in_list")}</small>
                <textarea rows={6} spellcheck={false} ref={(list) => { this.list = list; }} />
              </label>
              <button type="submit">{text("choose")}</button>
              <p role="status">
                {listed && text("chosen_of_list", selected.length)}
                <Lines title="not_here" lines={listed?.missing} />
                <Lines title="several_scopes" lines={listed?.several} />
              </p>
            </form>
          </details>
        )}
        {acts && (
          <p class="acts">
            {["complete", "release", "delete"].map((kind) => (
              <button key={kind} type="button" disabled={!selected.length} class={kind}
                      onClick={() => this.setState({ act: { kind, records: selected } })}>
                {text(`act_${kind}`)} ({selected.length})
              </button>
            ))}
          </p>
        )}
        {act && <Act {...act} close={() => this.setState({ act: null })}
                     done={this.done} signedOut={this.props.signedOut} />}
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
            <RecordTable records={records} chosen={chosen} choose={acts ? this.choose : null} />
          </section>
        ))}
      </div>
    );
  }
}

function Lines({ title, lines = [] }) {
  return lines.length > 0 && (
    <span>
      {` ${text(title, lines.length)} `}
      {lines.slice(0, 20).map((line) => <span key={line}><bdi>{line}</bdi> </span>)}
    </span>
  );
}
