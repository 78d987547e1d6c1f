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

  state = { ...this.state, chosen: new Set(), act: null };

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

  done = () => {
    this.setState({ act: null, chosen: new Set() });
    this.read();
  };

  render({ acts }, { value, chosen, act }) {
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
