// The keys that were asked for last: no store lists its newest records first without reading all of
// them, but the process has its latest requests.
import { h } from "preact";

import { call } from "../shared/api.js";
import { number } from "../shared/forms.js";
import { Key, Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";
import { latestOf } from "./latest.js";

const MOST = 2000; // requests that are read: as many as its API gives at once

export class Latest extends Reading {
  async load() {
    const { requests } = await call("GET", `/api/recent?limit=${MOST}`, undefined,
      this.calls.signal);
    return latestOf(requests);
  }

  render(_, { value }) {
    if (!value) return this.notice();
    return (
      <section>
        <h2>{text("latest_keys")}</h2>
        {this.notice()}
        <p class="note" role="status">{text("latest_keys_note", number(value.length))}</p>
        <button type="button" onClick={this.refresh}>{text("read_again")}</button>
        <Scroll label={text("latest_keys")}>
          <table>
            <thead>
              <tr>
                {["key", "got", "route", "when"].map((name) => (
                  <th key={name} scope="col">{text(name)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {value.map((one) => (
                <tr key={one.record}>
                  <td><Key record={one} /></td>
                  <td>{text(`outcome_${one.outcome}`)}</td>
                  <td><bdi>{one.method} {one.route}</bdi></td>
                  <td><Time at={one.at} ago /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </section>
    );
  }
}
