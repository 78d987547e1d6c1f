// A list that is read page by page, and filtered as one types.
import { h } from "preact";

import { query } from "./api.js";
import { Reading } from "./reading.jsx";
import { text } from "./texts.js";

const PAUSE = 250; // ms after the last key that was pressed

/** `load` reads the page at `cursor` of what fits `filter`. */
export class Listing extends Reading {
  filter = {};

  cursor = "";

  before = [];

  componentWillUnmount() {
    super.componentWillUnmount();
    clearTimeout(this.typing);
  }

  /**
   * What is asked for stands in the address, so that Back, a reload and a link bring it again. Only
   * what the form shows counts.
   * @param {Record<string, string[] | null>} known the fields of the form, with their values; null: any
   */
  static filterOf(argument, known) {
    return Object.fromEntries([...new URLSearchParams(argument ?? "")]
      .filter(([name, value]) => Object.hasOwn(known, name)
        && (known[name] === null || known[name].includes(value))));
  }

  change(name, value) {
    this.filter = { ...this.filter, [name]: value.trim() };
    const view = location.hash.replace(/^#\/?/, "").split(/[/?]/, 1)[0];
    const asked = query(this.filter);
    history.replaceState(null, "", `#/${view}${asked && `?${asked}`}`);
    this.cursor = "";
    this.before = [];
    clearTimeout(this.typing);
    this.typing = setTimeout(this.refresh, PAUSE);
  }

  turn(cursor, before) {
    this.cursor = cursor;
    this.before = before;
    this.read();
  }

  /** The buttons of the page before and of the next one, by the names of their texts. */
  turns(back, further) {
    const { cursor } = this.state.value;
    return [
      <button type="button" disabled={!this.before.length}
              onClick={() => this.turn(this.before.at(-1), this.before.slice(0, -1))}>
        {text(back)}
      </button>,
      <button type="button" disabled={!cursor}
              onClick={() => this.turn(cursor, [...this.before, this.cursor])}>
        {text(further)}
      </button>,
    ];
  }
}
