// What was done to records, by whom, and why: the audit log from its end on.
import { h } from "preact";

import { call, query } from "../shared/api.js";
import { Listing } from "../shared/listing.jsx";
import { Time } from "../shared/parts.jsx";
import { has, text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";

const COLUMNS = ["when", "who", "action", "key", "reason_given", "result"];

export class Audit extends Listing {
  filter = Listing.filterOf(this.props.asked, { key: null, who: null });

  load() {
    return call("GET", `/api/audit?${query({ ...this.filter, cursor: this.cursor })}`, undefined,
      this.calls.signal);
  }

  render(_, { value }) {
    return (
      <div>
        <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
          {["key", "who"].map((name) => (
            <label key={name}>
              {text(name === "key" ? "filter_text" : name)}
              <input type="search" name={name} autocomplete="off" spellcheck={false}
                     defaultValue={this.filter[name] ?? ""}
                     onInput={(event) => this.change(name, event.target.value)} />
            </label>
          ))}
        </form>
        {this.notice()}
        {value && (
          <div>
            <p role="status">
              {text(value.entries.length ? "lines_found" : "lines_none", value.entries.length)}
              {value.kept === "memory" && ` ${text("lines_in_memory")}`}
              {value.unreadable > 0 && ` ${text("lines_unreadable", value.unreadable)}`}
            </p>
            <Lines entries={value.entries} />
            <p class="pages">
              <button type="button" onClick={this.refresh}>{text("read_again")}</button>
              {this.turns("newer", "older")}
            </p>
          </div>
        )}
      </div>
    );
  }
}

/** The act's name, and from which state to which. */
function action({ action: name, from, to }) {
  const states = from && to && from !== to
    ? ` (${text(`state_${from}`)} → ${text(`state_${to}`)})` : "";
  return text(`action_${name}`) + states;
}

/** The line has the beginning of a record's id alone: its key leads there by a search. */
function KeyOf({ line: { record, key } }) {
  return record && key
    ? <a class="key" href={`#/search?key=${encodeURIComponent(key)}`}><bdi>{shown(key)}</bdi></a>
    : <bdi class="key">{key ? shown(key) : record}</bdi>;
}

/** By which way it was done; a command stands there as it is. */
function meansOf({ means }) {
  return has(`means_${means}`) ? text(`means_${means}`) : means;
}

function Lines({ entries }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={text("audit")}>
      <table class="audit">
        <thead>
          <tr>{COLUMNS.map((name) => <th key={name} scope="col">{text(name)}</th>)}</tr>
        </thead>
        <tbody>
          {entries.map((one, i) => (
            <tr key={i}>
              <td><Time at={one.at} /></td>
              <td><bdi>{one.who}</bdi> <span class="large">({meansOf(one)})</span></td>
              <td>{action(one)}{one.about && <bdi> {one.about}</bdi>}</td>
              <td><KeyOf line={one} /></td>
              <td><bdi>{one.why}</bdi></td>
              <td>{text(`stage_${one.stage}`)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
