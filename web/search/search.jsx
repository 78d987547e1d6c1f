// Records by what is known of them.
import { h } from "preact";

import { beside, call, NUMBERS_NOW, query } from "../shared/api.js";
import { number, span } from "../shared/forms.js";
import { Listing } from "../shared/listing.jsx";
import { RecordTable } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { Latest } from "./latest.jsx";

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

  async load() {
    const wanted = this.filter;
    const [page, counted] = await Promise.all([this.piece(wanted), this.counted(wanted)]);
    // What was typed since is read by itself, perhaps already.
    if (wanted !== this.filter && this.state.value) return this.state.value;
    return { records: page.records, cursor: page.cursor, counted };
  }

  /** A page may be empty before the last: it is a piece of the store. */
  async piece(wanted) {
    const until = Date.now() + PATIENCE;
    let page = { records: [], cursor: this.cursor };
    do {
      page = await call("GET", `/api/records?${query({ ...wanted, cursor: page.cursor })}`,
        undefined, this.calls.signal);
    } while (!page.records.length && page.cursor && wanted === this.filter && Date.now() < until);
    return page;
  }

  /** How many there are in all, where the last count of the process says so: nothing else knows it
   * without reading the whole store. */
  async counted({ state, ...others }) {
    if (Object.values(others).some(Boolean)) return null;
    const { records } = await beside(NUMBERS_NOW, this.calls.signal);
    const { by_state: counts, counted_at: at } = records ?? {};
    if (!counts) return null;
    const count = state ? counts[state] : Object.values(counts).reduce((sum, one) => sum + one, 0);
    return { count, at };
  }

  /** How many are here, in which order, and how many there are. */
  found() {
    const { records: { length }, cursor, counted } = this.state.value;
    if (!length) return this.state.failure ? "" : text("found_none");
    if (!cursor && !this.before.length) {
      return text(length === 1 ? "found_one" : "found_all", number(length));
    }
    const here = text(length === 1 ? "found_here_one" : "found_here", number(length));
    if (!counted) return here;
    return `${here} ${text("found_counted", number(counted.count),
      span(Date.now() - Date.parse(counted.at)))}`;
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

  render({ conspicuous: hasRequests }, { value, latest }) {
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
        {hasRequests && !latest && (
          <p>
            <button type="button" onClick={() => this.setState({ latest: true })}>
              {text("latest_keys")}
            </button>
          </p>
        )}
        {latest && <Latest signedOut={this.props.signedOut} />}
        {this.notice()}
        {value && (
          <div>
            <p role="status">
              {this.found()}{" "}
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
