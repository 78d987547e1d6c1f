// Records by what is known of them.
import { h } from "preact";

import { call, query } from "../shared/api.js";
import { Listing } from "../shared/listing.jsx";
import { RecordTable } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";

const STATES = ["started", "in_progress", "probing", "completed", "failed", "released", "unknown"];
const FIELDS = ["key", "text", "scope", "route", "method", "older", "younger"];
const NAMES = Object.fromEntries(FIELDS.map((name) => [name, null]));
const PATIENCE = 5000; // ms for which a search goes on by itself

export class Search extends Listing {
  filter = Listing.filterOf(this.props.asked, { ...NAMES, state: STATES });

  componentDidMount() {
    this.form.reset(); // a browser may put back what was typed in another search
    this.form.elements.state.value = this.filter.state ?? ""; // which a reset takes for "any"
    super.componentDidMount();
  }

  /** A page may be empty before the last: it is a piece of the store. */
  async load() {
    const wanted = this.filter;
    const until = Date.now() + PATIENCE;
    let page = { records: [], cursor: this.cursor };
    do {
      page = await call("GET", `/api/records?${query({ ...wanted, cursor: page.cursor })}`,
        undefined, this.calls.signal);
    } while (!page.records.length && page.cursor && wanted === this.filter && Date.now() < until);
    // What was typed since is read by itself, perhaps already.
    if (wanted !== this.filter && this.state.value) return this.state.value;
    return { records: page.records, cursor: page.cursor };
  }

  /** What was typed as a whole key is looked for within keys. */
  askForPart() {
    const { key, text: part } = this.form.elements;
    part.value = key.value;
    key.value = "";
    this.change("key", "");
    this.change("text", part.value);
    part.focus();
  }

  render(_, { value }) {
    return (
      <div>
        <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}
              ref={(form) => { this.form = form ?? this.form; }}>
          {FIELDS.map((name) => (
            <label key={name}>
              {text(`filter_${name}`)}
              <input type={name === "key" ? "search" : "text"} name={name} autocomplete="off"
                     data-begin={name === "key" ? "" : undefined} spellcheck={false} placeholder={text(`example_${name}`)}
                     defaultValue={this.filter[name] ?? ""}
                     onInput={(event) => this.change(name, event.target.value)} />
            </label>
          ))}
          <label>
            {text("state")}
            <select name="state" onChange={(event) => this.change("state", event.target.value)}>
              <option value="">{text("any")}</option>
              {STATES.map((state) => (
                <option key={state} value={state}>{text(`state_${state}`)}</option>
              ))}
            </select>
          </label>
        </form>
        {this.notice()}
        {value && (
          <div>
            <p role="status">
              {value.records.length ? text(value.records.length === 1 ? "found_one" : "found",
                value.records.length) : !this.state.failure && text("found_none")}{" "}
              {!value.records.length && !value.cursor && this.filter.key && !this.filter.text && (
                <button type="button" onClick={() => this.askForPart()}>
                  {text("search_part")}
                </button>
              )}
            </p>
            <RecordTable records={value.records} />
            <p class="pages">
              {this.turns("back", "further")}
            </p>
          </div>
        )}
      </div>
    );
  }
}
