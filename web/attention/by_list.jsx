// Choosing by a list of keys: what its lines came to, and what they may mean.
import { Component, h } from "preact";

import { number } from "../shared/forms.js";
import { corrected, isDone, nameOf } from "./key_list.js";
import { doubtfulOf } from "./list_acts.js";
import { Key, Keys, RecordTable, Scope } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";

const SUGGESTIONS = 3; // of a line

export class ByList extends Component {
  submit(event) {
    event.preventDefault();
    this.ask();
  }

  scopeOfAll() {
    return this.scope.value.trim().toLowerCase();
  }

  ask() {
    this.props.ask(this.list.value, this.scopeOfAll());
  }

  /** The button goes with what the list came to; the cursor stays with the list. */
  correct(line, record) {
    this.list.value = corrected(this.list.value, line, record, this.scopeOfAll());
    this.list.focus();
    this.ask();
  }

  render({ open, listed, near, selected, chosen, choose, changed }) {
    return (
      <details class="by-list" open={open}>
        <summary>{text("choose_listed")}</summary>
        <form onSubmit={(event) => this.submit(event)} onInput={changed}>
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
            {listed && <Found listed={listed} selected={selected} />}
          </div>
        </form>
        {listed && this.renderNear(near)}
        {listed?.several.map(({ key, scope, records }) => (
          <section key={nameOf({ key, scope })}>
            <p class="failure" role="alert">
              <bdi>{shown(key)}</bdi>: {text("several_scopes", new Set(records.map(
                (one) => one.scope)).size)}
            </p>
            <RecordTable records={records} chosen={chosen} choose={choose}
                         mayChoose={(one) => one.attention} label={key} />
          </section>
        ))}
      </details>
    );
  }

  /** Lines that chose nothing, by why, each with what else it may mean. */
  renderNear(near) {
    const away = near.filter(({ records }) => !records.length);
    const undone = near.filter((line) => line.records.length && !line.isOpen && !isDone(line));
    const close = near.filter((line) => line.means.length && (line.isOpen || isDone(line)));
    const done = near.filter((line) => !line.means.length && isDone(line));
    const found = [[away, "not_here"], [undone, "not_completed"], [close, "lines_close"]];
    const listOf = (some, why) => (
      <ul class="lines" tabIndex={0} aria-label={text(why, number(some.length))}>
        {some.map((line) => (
          <Line key={nameOf(line)} line={line} correct={(one) => this.correct(line, one)} />
        ))}
      </ul>
    );
    return (
      <div>
        {found.filter(([some]) => some.length).map(([some, why]) => (
          <div key={why} class="failure">{text(why, number(some.length))}{listOf(some, why)}</div>
        ))}
        {done.length > 0 && (
          <details open={done.length <= SUGGESTIONS}>
            <summary>{text("settled_already", number(done.length))}</summary>
            {listOf(done, "settled_already")}
          </details>
        )}
      </div>
    );
  }
}

/** Like "26 lines: 24 found, 2 not found. 24 chosen." */
function Found({ listed: { lines, repeated, away }, selected }) {
  const parts = [text("lines_here", number(lines - away.length)),
    away.length > 0 && text("lines_away", number(away.length))].filter(Boolean);
  return (
    <p>
      <b>{text(lines === 1 ? "lines_one" : "lines_all", number(lines))}{" "}{parts.join(", ")}.</b>
      {" "}<span>{text("chosen_of_list", number(selected.length))}</span>
      {repeated.length > 0 && (
        <span class="gap"> {text("lines_repeated", number(repeated.length))}{" "}
          {repeated.slice(0, SUGGESTIONS).map((one) => (
            <span key={one}><bdi class="key">{shown(one)}</bdi> </span>
          ))}
          {repeated.length > SUGGESTIONS && text("more", number(repeated.length - SUGGESTIONS))}
        </span>
      )}
    </p>
  );
}

/** A line that chose nothing: its records' states, if it has records, and what it may mean. */
function Line({ line, correct }) {
  const { key, records, means } = line;
  return (
    <li>
      <bdi class="key">{shown(key)}</bdi>
      {records.length > 0 && `: ${records.map(({ state }) => text(`state_${state}`)).join(", ")}`}
      {means.length > 0 && `${records.length ? ";" : ":"} ${text("meant")} `}
      {means.slice(0, SUGGESTIONS).map((one) => (
        <span key={one.record}>
          <Key record={one} /> <Scope record={one} />?{" "}
          {corrected("", line, one, "") !== null && (
            <button type="button" onClick={() => correct(one)}>
              {text("meant_yes", shown(one.key))}
            </button>
          )}{" "}
        </span>
      ))}
      {means.length > SUGGESTIONS && text("more", number(means.length - SUGGESTIONS))}
    </li>
  );
}

/** What is not chosen with the rest, and why; and what a person has to say before it is. */
export function LeftOut({ rest: { records, near, meant, others }, looked, look }) {
  const doubtful = doubtfulOf(near);
  return (
    <div>
      {meant.length > 0 && (
        <p class="danger">
          {text("left_out_meant", number(meant.length))} <Keys records={meant} />
        </p>
      )}
      {others.length > 0 && (
        <p class="danger">
          {text("left_out_others", number(others.length))} <Keys records={others} />
        </p>
      )}
      {doubtful.length > 0 && records.length > 0 && (
        <label class="check">
          <input type="checkbox" checked={looked}
                 onChange={(event) => look(event.target.checked)} />{" "}
          {text("looked", number(doubtful.length), number(records.length))}
        </label>
      )}
    </div>
  );
}
