// Of an outbox: the rows that its destination refused too often, and the acts on them.
import { h } from "preact";

import { call } from "../shared/api.js";
import { bytes, number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";
import { Choosing } from "./choosing.jsx";
import { ROWS } from "./letter_act.jsx";
import { workerPath } from "./worker_path.js";

const COLUMNS = [
  ["message", (one) => <bdi class="key">{ROWS.nameOf(one)}</bdi>],
  ["order_key", (one) => <bdi>{one.order_key && shown(one.order_key)}</bdi>],
  ["since", (one) => one.since && <Time at={one.since} ago />],
  ["refusals", (one) => number(one.failures), "number"],
  ["why", (one) => <bdi>{one.reason}</bdi>],
  ["body", (one) => bytes(one.payload_size), "number"],
];

export class DeadRows extends Choosing {
  interval = 5000;

  about = ROWS;

  async load() {
    if (!this.props.count && !this.state.act) return { rows: [], more: false };
    return call("GET", workerPath(this.props.name, "rows"), undefined, this.calls.signal);
  }

  render({ name, count, acts }, { value, act }) {
    if (!count && !act) return null; // a dialog stays until its results were read
    return (
      <div>
        <p class="failure">{text("outbox_dead", number(count))} {text("find_outbox_dead")}</p>
        {this.notice()}
        {acts && value && <p class="acts">{this.chooseAll(value.rows)}{this.actButtons()}</p>}
        {this.dialog()}
        {value?.more && <p>{text("letters_more")}</p>}
        {value && this.table(value.rows, text("outbox_rows", name), COLUMNS)}
      </div>
    );
  }
}
