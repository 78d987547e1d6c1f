// What the requests of each route got since the start.
import { h } from "preact";

import { call } from "../shared/api.js";
import { duration, number } from "../shared/forms.js";
import { Reading } from "../shared/reading.jsx";
import { refusedOf } from "../shared/refusals.js";
import { text } from "../shared/texts.js";
import { Explain } from "../explain/explain.jsx";
import { Policies } from "./policies.jsx";
import { Refusals } from "./refusals.jsx";

export class Routes extends Reading {
  interval = 2000;

  state = { ...this.state, policies: [] };

  load() {
    return call("GET", "/api/overview?after=18446744073709551615", undefined, this.calls.signal);
  }

  render(_, { value, policies }) {
    if (!value) return this.notice();
    return (
      <div>
        {this.notice()}
        <p class="note">{text("counts_since_start")}</p>
        <div class="scroll" tabIndex={0} role="region" aria-label={text("routes")}>
          <table class="routes">
            <thead>
              <tr>
                <th scope="col">{text("route")}</th>
                {["refusals", "ran", "replayed", "unguarded", "time_both"].map((name) => (
                  <th key={name} scope="col" class="number">{text(name === "ran" || name === "replayed"
                    || name === "unguarded" ? `outcome_${name}` : name)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {value.routes.map(({ route, outcomes, times_us: times }) => (
                <tr key={route}>
                  <th scope="row"><bdi>{route}</bdi></th>
                  <td class={refusedOf(outcomes) ? "number refusing" : "number"}>
                    {number(refusedOf(outcomes))}
                  </td>
                  <td class="number">{number(outcomes.ran ?? 0)}</td>
                  <td class="number">{number((outcomes.replayed ?? 0) + (outcomes.waited ?? 0))}</td>
                  <td class="number">{number(outcomes.unguarded ?? 0)}</td>
                  <td class="number">
                    {times.request ? `${duration(times.request[0])} / ${duration(times.request[1])}`
                      : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <Refusals routes={value.routes} now={Date.parse(value.at)} policies={policies}
                  signedOut={this.props.signedOut} />
        <Policies read={(read) => this.setState({ policies: read })} signedOut={this.props.signedOut} />
        <Explain signedOut={this.props.signedOut} />
      </div>
    );
  }
}
