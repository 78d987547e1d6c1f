// What was done to records, by whom, and why: the audit log from its end on, a row for each act.
import { h } from "preact";

import { call, query } from "../shared/api.js";
import { number } from "../shared/forms.js";
import { Listing } from "../shared/listing.jsx";
import { Time } from "../shared/parts.jsx";
import { Scroll } from "../shared/scroll.jsx";
import { has, text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";
import { actsOf } from "./acts.js";

const COLUMNS = ["when", "who", "action", "key", "reason_given", "result"];

export class Audit extends Listing {
  filter = Listing.filterOf(this.props.asked, { key: null, who: null });

  open = new Map(); // by the cursor of a page: acts of those before whose first line is still to come

  async load() {
    const { entries, ...page } = await call("GET",
      `/api/audit?${query({ ...this.filter, cursor: this.cursor })}`, undefined, this.calls.signal);
    const { acts, open } = actsOf(entries, this.open.get(this.cursor));
    this.open.set(page.cursor, page.cursor ? open : []);
    return { ...page, acts };
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
              {countOf(value.acts)}
              {value.kept === "memory" && ` ${text("lines_in_memory")}`}
              {value.unreadable > 0 && ` ${text("lines_unreadable", value.unreadable)}`}
            </p>
            <Acts acts={value.acts} />
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

function countOf({ length }) {
  if (!length) return text("acts_none");
  return text(length === 1 ? "acts_found_one" : "acts_found", number(length));
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

/** What became of it; some results are words of the program. */
function resultOf({ stage }) {
  return has(`stage_${stage}`) ? text(`stage_${stage}`) : <bdi lang="en">{stage}</bdi>;
}

function Details({ act }) {
  const facts = [["means", meansOf(act)], ["begun", act.begun_at && <Time at={act.begun_at} />],
    ["ended", act.stage !== "intended" && <Time at={act.at} />], ["record", act.record]];
  return (
    <details>
      <summary>{text("details")}</summary>
      <dl>
        {facts.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}><dt>{text(`audit_fact_${name}`)}</dt><dd><bdi>{value}</bdi></dd></div>
        ))}
      </dl>
    </details>
  );
}

function Acts({ acts }) {
  return (
    <Scroll label={text("audit")}>
      <table class="audit">
        <thead>
          <tr>{COLUMNS.map((name) => <th key={name} scope="col">{text(name)}</th>)}</tr>
        </thead>
        <tbody>
          {acts.map((one, i) => (
            <tr key={i}>
              <td><Time at={one.at} /></td>
              <td><bdi>{one.who}</bdi></td>
              <td>{action(one)}{one.about && <bdi> {one.about}</bdi>}</td>
              <td><KeyOf line={one} /></td>
              <td><bdi>{one.why}</bdi></td>
              <td>{resultOf(one)}<Details act={one} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
