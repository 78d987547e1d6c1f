// Dead letters and unknown messages of a consumer: what happened, what to find out, the acts.
import { h } from "preact";

import { call, Refused } from "../shared/api.js";
import { bytes } from "../shared/forms.js";
import { actFailure } from "../shared/lost.js";
import { Time } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { Choosing } from "./choosing.jsx";
import { MESSAGES } from "./letter_act.jsx";
import { workerPath } from "./worker_path.js";

const COLUMNS = [
  ["message", (one) => (one.record
    ? <a class="key" href={`#/record/${one.record}`}><bdi>{MESSAGES.nameOf(one)}</bdi></a>
    : <bdi>{MESSAGES.nameOf(one)}</bdi>)],
  ["since", (one) => one.since && <Time at={one.since} ago />],
  ["why", (one) => <bdi>{one.reason}</bdi>],
  ["body", (one) => bytes(one.payload_size), "number"],
];

/**
 * Each look takes the messages from the broker and gives them back: so none without being asked.
 * Where the broker counts that, a look is an act, and what is read is the last one.
 */
export class Letters extends Choosing {
  state = { ...this.state, looking: false, trouble: null };

  about = MESSAGES;

  afterAct() {
    return { value: null, trouble: null };
  }

  load() {
    return call("GET", workerPath(this.props.name, "messages"), undefined, this.calls.signal);
  }

  look = async () => {
    this.setState({ looking: true, trouble: null });
    try {
      const value = await call("POST", workerPath(this.props.name, "messages/look"), {});
      if (!this.calls.signal.aborted) this.setState({ value, looking: false });
    } catch (failure) {
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) this.props.signedOut();
      else this.setState({ looking: false, trouble: actFailure(failure) });
    }
  };

  groups() {
    const out = new Map();
    for (const one of this.state.value.messages) {
      out.set(one.state, [...(out.get(one.state) ?? []), one]);
    }
    return [...out];
  }

  render({ name, acts }, { value, failure, looking, trouble }) {
    if (!value || looking) {
      return failure ? this.notice() : <p class="waiting">{text("letters_looking")}</p>;
    }
    const looked = Boolean(value.looked_at);
    return (
      <section aria-label={text("letters", name)}>
        {this.notice()}
        <h2>{text("letters", "")}<bdi>{name}</bdi></h2>
        {value.faults.map((one) => <p key={one} class="failure" role="alert" lang="en">{one}</p>)}
        {trouble && <p class="failure" role="alert">{trouble}</p>}
        {value.counted && <p class="danger">{text("letters_counted")}</p>}
        <p role="status">
          {looked && !value.messages.length && !value.faults.length && text("letters_none")}{" "}
          {value.more && text("letters_more")}{" "}
          {looked
            ? <span>{text("letters_looked")} <Time at={value.looked_at} ago /></span>
            : text("letters_not_looked")}
        </p>
        <p class="acts">
          {(acts || !value.counted) && (
            <button type="button" onClick={value.counted ? this.look : this.refresh}>
              {text(looked ? "letters_look" : "letters_look_first")}
            </button>
          )}
          {acts && this.actButtons()}
        </p>
        {this.dialog()}
        {this.groups().map(([state, letters]) => (
          <section key={state}>
            <h3>{text(`letter_${state}`)} ({letters.length})</h3>
            <p>{text(`find_letter_${state}`)}</p>
            {acts && this.chooseAll(letters)}
            {this.table(letters, text(`letter_${state}`), COLUMNS)}
          </section>
        ))}
      </section>
    );
  }
}
