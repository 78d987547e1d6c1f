// Of an outbox: the rows that its destination refused too often, and the acts on them.
import { h } from "preact";

import { call } from "../shared/api.js";
import { bytes, number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";
import { LetterAct, ROWS } from "./letter_act.jsx";
import { workerPath } from "./worker_path.js";

/** The rows as they were when they were chosen: an act is for these. */
export class DeadRows extends Reading {
  interval = 5000;

  state = { ...this.state, chosen: new Map(), act: null };

  async load() {
    if (!this.props.count && !this.state.act) return { rows: [], more: false };
    return call("GET", workerPath(this.props.name, "rows"), undefined, this.calls.signal);
  }

  signedOut() {
    if (!this.state.act) super.signedOut(); // the dialog says what it did, and then this
  }

  choose(rows) {
    const chosen = new Map(this.state.chosen);
    const all = rows.every((one) => chosen.has(one.row));
    for (const one of rows) {
      if (all) chosen.delete(one.row);
      else chosen.set(one.row, one);
    }
    this.setState({ chosen });
  }

  close = () => this.setState({ act: null });

  done = () => {
    this.setState({ act: null, chosen: new Map() });
    this.read();
  };

  render({ name, count, acts, signedOut }, { value, chosen, act }) {
    if (!count && !act) return null; // a dialog stays until its results were read
    return (
      <div>
        <p class="failure">{text("outbox_dead", number(count))} {text("find_outbox_dead")}</p>
        {this.notice()}
        {acts && value && (
          <p class="acts">
            <button type="button" onClick={() => this.choose(value.rows)}>
              {text("choose_all")}
            </button>
            {["retry", "drop"].map((kind) => (
              <button key={kind} type="button" disabled={!chosen.size}
                      onClick={() => this.setState({ act: { kind, rows: [...chosen.values()] } })}>
                {text(`act_${kind}`)} ({chosen.size})
              </button>
            ))}
          </p>
        )}
        {act && <LetterAct about={ROWS} kind={act.kind} letters={act.rows} name={name}
                           close={this.close} done={this.done} signedOut={signedOut} />}
        {value?.more && <p>{text("letters_more")}</p>}
        {value && (
          <RowTable rows={value.rows} chosen={chosen} label={text("outbox_rows", name)}
                    choose={acts ? (one) => this.choose([one]) : null} />
        )}
      </div>
    );
  }
}

function RowTable({ rows, chosen, choose, label }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {choose && <th scope="col"><span class="hidden">{text("choose")}</span></th>}
            <th scope="col">{text("message")}</th>
            <th scope="col">{text("order_key")}</th>
            <th scope="col">{text("since")}</th>
            <th scope="col">{text("refusals")}</th>
            <th scope="col">{text("why")}</th>
            <th scope="col">{text("body")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.row}>
              {choose && (
                <td>
                  <input type="checkbox" checked={chosen.has(one.row)}
                         aria-label={`${text("choose")} ${shown(one.message_id)}`}
                         onChange={() => choose(one)} />
                </td>
              )}
              <td><bdi class="key">{shown(one.message_id)}</bdi></td>
              <td><bdi>{one.order_key && shown(one.order_key)}</bdi></td>
              <td>{one.since && <Time at={one.since} ago />}</td>
              <td class="number">{number(one.failures)}</td>
              <td lang="en"><bdi>{one.reason}</bdi></td>
              <td class="number">{bytes(one.payload_size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
