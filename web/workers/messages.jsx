// What needs a person at consumers: messages, and records.
import { h } from "preact";

import { Attention } from "../attention/attention.jsx";
import { call } from "../shared/api.js";
import { Reading } from "../shared/reading.jsx";
import { Letters } from "./letters.jsx";

export class Messages extends Reading {
  async load() {
    const { workers } = await call("GET", "/api/workers", undefined, this.calls.signal);
    return [...new Set(workers.map((one) => one.name))];
  }

  render(props, { value }) {
    if (!value) return this.notice();
    return (
      <div>
        {value.map((name) => <Letters key={name} name={name} {...props} />)}
        <Attention {...props} />
      </div>
    );
  }
}
