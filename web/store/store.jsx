// The store: where it is, how it is, and what it counts.
import { h } from "preact";

import { call } from "../shared/api.js";
import { bytes, duration, number, span } from "../shared/forms.js";
import { Counted, Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";

const TRAITS = ["durable", "shared", "transactional"];

export class Store extends Reading {
  interval = 5000;

  load() {
    return call("GET", "/api/store", undefined, this.calls.signal);
  }

  render(_, { value }) {
    if (!value) return this.notice();
    const size = value.numbers.find((one) => one.name === "onceguard_store_size_bytes");
    const facts = [
      ["location", value.location],
      ["accelerator", value.accelerator],
      ["answers_in", value.answers_in_us !== undefined && duration(value.answers_in_us)],
      ["traits", TRAITS.filter((name) => value[name]).map((name) => text(`trait_${name}`))
        .join(", ") || text("none")],
      ["size", size && bytes(size.value)],
      ["last_sweep", value.health.swept_at
        ? <Time at={value.health.swept_at} ago /> : text("not_swept")],
      ["witness", value.witness ? <Witness file={value.witness} /> : text("no_witness")],
    ];
    return (
      <div>
        {this.notice()}
        <Health store={value} />
        <dl class="facts">
          {facts.filter(([, fact]) => fact).map(([name, fact]) => (
            <div key={name}><dt>{text(name)}</dt><dd><bdi>{fact}</bdi></dd></div>
          ))}
        </dl>
        <Counted records={value.records} />
        <Numbers numbers={value.numbers} />
      </div>
    );
  }
}

/** By this file, a process that is started anew notices that the store lost its memory. */
function Witness({ file }) {
  return (
    <span>
      {file.path}, {text(file.written_at ? "written" : "witness_not_there")}{" "}
      {file.written_at && <Time at={file.written_at} ago />}
    </span>
  );
}

function Health({ store: { kind, health, does_not_answer: fault } }) {
  const troubles = [fault, health.why, health.forgot && text("store_forgot"),
    health.refuses_for_ms > 0 && text("store_refuses", span(health.refuses_for_ms))]
    .filter(Boolean);
  const well = health.up && troubles.length === 0;
  return (
    <div class={`condition ${well ? "good" : "bad"}`} role="status">
      <b>{text(well ? "store_well" : "store_not_well")}</b> {kind}
      {health.failing_since && <span> <Time at={health.failing_since} ago /></span>}
      {troubles.length > 0 && <ul>{[...new Set(troubles)].map((one) => <li key={one}>{one}</li>)}
      </ul>}
    </div>
  );
}

function Numbers({ numbers }) {
  return (
    <section>
      <h2>{text("numbers")}</h2>
      <Scroll label={text("numbers")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{text("metric")}</th>
              <th scope="col" class="number">{text("value")}</th>
              <th scope="col">{text("meaning")}</th>
            </tr>
          </thead>
          <tbody>
            {numbers.map((one) => (
              <tr key={one.name}>
                <th scope="row"><code>{one.name}</code></th>
                <td class="number">{number(one.value)}</td>
                <td lang="en">{one.meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
