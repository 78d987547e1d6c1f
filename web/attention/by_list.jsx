// Choosing by a list of keys: what its lines came to, and what they may mean.
import { Component, h } from "preact";

import { number } from "../shared/forms.js";
import { corrected } from "./key_list.js";
import { Key, Keys, RecordTable, Scope } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";

const SUGGESTIONS = 3; // of a line

/** The lines that were not found, and those of some records that they may mean. */
export function mayMeanAmong(near, records) {
  const meant = new Set(near.flatMap((line) => line.records).map((one) => one.record));
  return { lines: near.map(({ key }) => key), among: records.filter((one) => meant.has(one.record)) };
}

export class ByList extends Component {
  submit(event) {
    event.preventDefault();
    this.ask();
  }

  ask() {
    this.props.ask(this.list.value, this.scope.value.trim().toLowerCase());
  }

  /** What was not found was a record's key, a person says. */
  correct(away, record) {
    this.list.value = corrected(this.list.value, away, record);
    this.ask();
  }

  render({ open, listed, near, selected, chosen, choose, changed }) {
    return (
      <details class="by-list" open={open}>
        <summary>{text("choose_listed")}</summary>
        <form onSubmit={(event) => this.submit(event)} onInput={() => listed && changed()}>
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
            {listed?.settled.length > 0 && <Settled settled={listed.settled} />}
            {listed && near.length > 0 && (
              <NotFound near={near} correct={(away, one) => this.correct(away, one)} />
            )}
          </div>
        </form>
        {listed?.several.map(({ key, records }) => (
          <section key={key}>
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

function Settled({ settled }) {
  return (
    <details open={settled.length <= SUGGESTIONS}>
      <summary>{text("settled_already", number(settled.length))}</summary>
      <ul>
        {settled.map(({ key, records }) => (
          <li key={key}><bdi class="key">{shown(key)}</bdi>{": "}
            {records.map(({ state }) => text(`state_${state}`)).join(", ")}</li>
        ))}
      </ul>
    </details>
  );
}

/** Lines of no record, each with what it may mean. */
function NotFound({ near, correct }) {
  return (
    <div class="failure">
      {text("not_here", number(near.length))}
      <ul class="lines" tabIndex={0} aria-label={text("not_here", number(near.length))}>
        {near.map(({ key, records }) => (
          <li key={key}>
            <bdi class="key">{shown(key)}</bdi>
            {records.length > 0 && `: ${text("meant")} `}
            {records.slice(0, SUGGESTIONS).map((one) => (
              <span key={one.record}>
                <Key record={one} /> <Scope record={one} />?{" "}
                {corrected("", key, one) !== null && (
                  <button type="button" onClick={() => correct(key, one)}>
                    {text("meant_yes", shown(one.key))}
                  </button>
                )}{" "}
              </span>
            ))}
            {records.length > SUGGESTIONS && text("more", number(records.length - SUGGESTIONS))}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is not chosen with the rest, and why; and what a person has to say before it is. */
export function LeftOut({ rest: { records, near, others }, looked, look }) {
  const meant = [...new Set(near.flatMap((line) => line.records))];
  return (
    <div>
      {meant.length > 0 && (
        <p class="danger">{text("left_out_meant", number(meant.length))} <Keys records={meant} /></p>
      )}
      {others.length > 0 && (
        <p class="danger">
          {text("left_out_others", number(others.length))} <Keys records={others} />
        </p>
      )}
      {near.length > 0 && records.length > 0 && (
        <label class="check">
          <input type="checkbox" checked={looked}
                 onChange={(event) => look(event.target.checked)} />{" "}
          {text("looked", number(near.length), number(records.length))}
        </label>
      )}
    </div>
  );
}
