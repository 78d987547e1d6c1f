// What the requests of each route got since the start.
import { h } from "preact";

import { call, NUMBERS_NOW } from "../shared/api.js";
import { duration, number } from "../shared/forms.js";
import { Reading } from "../shared/reading.jsx";
import { pressingOf, refusedOf } from "../shared/refusals.js";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";
import { Explain } from "../explain/explain.jsx";
import { Policies } from "./policies.jsx";
import { Refusals } from "./refusals.jsx";

export class Routes extends Reading {
  interval = 5000;

  state = { ...this.state, policies: [] };

  load() {
    return call("GET", NUMBERS_NOW, undefined, this.calls.signal);
  }

  render(_, { value, policies }) {
    if (!value) return this.notice();
    const pressing = new Set(pressingOf(value.routes, Date.parse(value.at))
      .map(({ route }) => route));
    return (
      <div>
        {this.notice()}
        <p class="note">{text("counts_since_start")}</p>
        <Scroll label={text("routes")}>
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
                  <td class={pressing.has(route) ? "number refusing" : "number"}>
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
        </Scroll>
        <Refusals routes={value.routes} now={Date.parse(value.at)} policies={policies}
                  signedOut={this.props.signedOut} />
        <Policies read={(read) => this.setState({ policies: read })} signedOut={this.props.signedOut} />
        <Explain signedOut={this.props.signedOut} />
      </div>
    );
  }
}
