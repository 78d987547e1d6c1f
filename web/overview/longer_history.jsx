// What the requests of days got: from Prometheus, which the server asks.
import { h } from "preact";

import { call, query } from "../shared/api.js";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { Charts } from "./charts.jsx";

export class LongerHistory extends Reading {
  interval = 30_000;

  load() {
    return call("GET", `/api/history?${query({ span: this.props.span })}`, undefined,
      this.calls.signal);
  }

  render({ span }, { value }) {
    return (
      <div>
        {this.notice()}
        {value && (
          <Charts history={value.history} interval={value.interval_ms}
                  label={text(`span_${span}`)} />
        )}
      </div>
    );
  }
}
