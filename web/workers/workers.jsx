// Consumers and relays: what waits, what they came to, and whether they work.
import { Component, h } from "preact";

import { call, Refused } from "../shared/api.js";
import { Drain } from "../shared/drain.jsx";
import { number } from "../shared/forms.js";
import { actFailure, isRefusal } from "../shared/lost.js";
import { Reading } from "../shared/reading.jsx";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";
import { DeadRows } from "./dead_rows.jsx";
import { workerPath } from "./worker_path.js";

export class Workers extends Reading {
  interval = 2000;

  load() {
    return call("GET", "/api/workers", undefined, this.calls.signal);
  }

  render({ acts }, { value }) {
    if (!value) return this.notice();
    return (
      <div>
        {this.notice()}
        {value.workers.map((one) => (
          <Worker key={one.name} {...one} acts={acts} done={this.refresh}
                  signedOut={this.props.signedOut} />
        ))}
        {acts && <Drain process={value.begun_at} look={this.refresh}
                        signedOut={this.props.signedOut} />}
      </div>
    );
  }
}

class Worker extends Component {
  state = { failure: null, asked: false };

  async change(event) {
    event.preventDefault();
    const act = this.props.paused ? "resume" : "pause";
    const reason = new FormData(event.target).get("reason");
    try {
      await call("POST", workerPath(this.props.name, act), { reason });
      this.setState({ failure: null, asked: false });
    } catch (failure) {
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) {
        this.props.signedOut();
        return;
      }
      this.setState({ failure: actFailure(failure), asked: isRefusal(failure) });
    }
    this.props.done();
  }

  render({ name, paused, reasons, numbers, acts, signedOut }, { failure, asked }) {
    const dead = numbers.find((one) => one.name === "onceguard_outbox_dead")?.value;
    const act = paused ? "resume" : "pause";
    const bad = paused || reasons.length > 0;
    return (
      <section aria-label={name}>
        <h2><bdi>{name}</bdi></h2>
        <p class={`condition ${bad ? "bad" : "good"}`} role="status">
          <b>{text(paused ? "worker_paused" : (bad && "worker_fails") || "worker_works")}</b>
          {!paused && reasons.map((one) => (
            <span key={one.reason}> {text(`worker_${one.reason}`)} {one.why}</span>
          ))}
        </p>
        {dead !== undefined && <DeadRows name={name} count={dead} acts={acts}
                                         signedOut={signedOut} />}
        {acts && !asked && (
          <button type="button" onClick={() => this.setState({ asked: true })}>
            {text(`worker_${act}`)}
          </button>
        )}
        {acts && asked && (
          <form onSubmit={(event) => this.change(event)}>
            <p class="danger">{text(`danger_${act}`)}</p>
            <label>
              {text("reason")}
              <input name="reason" required maxLength={1000} autocomplete="off" />
            </label>
            <p class="acts">
              <button type="submit">{text(`worker_${act}`)}</button>
              <button type="button" onClick={() => this.setState({ asked: false })}>
                {text("close")}
              </button>
            </p>
          </form>
        )}
        {failure && <p class="failure" role="alert">{failure}</p>}
        <Scroll label={`${text("numbers")} ${name}`}>
          <table>
            <tbody>
              {numbers.map((one) => (
                <tr key={one.name + one.outcome}>
                  <th scope="row" lang="en">{one.meaning} {one.outcome && <b>{one.outcome}</b>}</th>
                  <td class="number">{number(one.value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </section>
    );
  }
}
