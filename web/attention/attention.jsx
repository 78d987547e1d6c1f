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

  state = { ...this.state, chosen: new Set(), act: null, missing: null };

  async load() {
    let cursor = "";
    const records = [];
    do {
      const page = await call("GET", `/api/records?${query({ attention: "true", cursor })}`,
        undefined, this.calls.signal);
      records.push(...page.records);
      cursor = page.cursor;
    } while (cursor && records.length < MOST);
    return { records, more: Boolean(cursor) };
  }

  choose = (record) => {
    const chosen = new Set(this.state.chosen);
    if (!chosen.delete(record)) chosen.add(record);
    this.setState({ chosen });
  };

  chooseAll(records) {
    const chosen = new Set(this.state.chosen);
    const all = records.every((one) => chosen.has(one.record));
    for (const one of records) {
      if (all) chosen.delete(one.record);
      else chosen.add(one.record);
    }
    this.setState({ chosen });
  }

  /** Chooses the records whose keys stand in a list, a line each; says which are not here. */
  chooseListed(event) {
    event.preventDefault();
    const wanted = new Set(this.list.value.split("\n").map((line) => line.trim()).filter(Boolean));
    const chosen = new Set();
    for (const one of this.state.value.records) {
      if (wanted.has(one.key)) chosen.add(one.record);
    }
    const here = new Set(this.state.value.records.map((one) => one.key));
    this.setState({ chosen, missing: [...wanted].filter((key) => !here.has(key)) });
  }

  done = () => {
    this.setState({ act: null, chosen: new Set() });
    this.read();
  };

  render({ acts }, { value, chosen, act, missing }) {
    if (!value) return this.notice();
    const groups = Map.groupBy
      ? Map.groupBy(value.records, cause)
      : value.records.reduce((all, one) => all.set(cause(one), [...(all.get(cause(one)) ?? []),
        one]), new Map());
    const selected = value.records.filter((one) => chosen.has(one.record));
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
                <textarea rows={6} spellcheck={false} ref={(list) => { this.list = list; }} />
              </label>
              <button type="submit">{text("choose")}</button>
              <p role="status">
                {missing && text("chosen_of_list", selected.length)}
                {missing?.length > 0 && ` ${text("not_here", missing.length)} `}
                {missing?.slice(0, 20).map((key) => <span key={key}><bdi>{key}</bdi> </span>)}
              </p>
            </form>
          </details>
        )}
        {acts && (
          <p class="acts">
            {["complete", "release", "delete"].map((kind) => (
              <button key={kind} type="button" disabled={!selected.length} class={kind}
                      onClick={() => this.setState({ act: kind })}>
                {text(`act_${kind}`)} ({selected.length})
              </button>
            ))}
          </p>
        )}
        {act && <Act kind={act} records={selected} close={() => this.setState({ act: null })}
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
