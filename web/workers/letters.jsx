// Dead letters and unknown messages of a consumer: what happened, what to find out, the acts.
import { h } from "preact";

import { call, Refused } from "../shared/api.js";
import { bytes } from "../shared/forms.js";
import { actFailure } from "../shared/lost.js";
import { Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { LetterAct, MESSAGES } from "./letter_act.jsx";
import { workerPath } from "./worker_path.js";

/**
 * Each look takes the messages from the broker and gives them back: so none without being asked.
 * Where the broker counts that, a look is an act, and what is read is the last one.
 */
export class Letters extends Reading {
  state = { ...this.state, chosen: new Map(), act: null, looking: false, trouble: null };

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
      if (failure.status === 401) this.signedOut();
      else this.setState({ looking: false, trouble: actFailure(failure) });
    }
  };

  choose(letters) {
    const chosen = new Map(this.state.chosen);
    const all = letters.every((one) => chosen.has(one.message));
    for (const one of letters) {
      if (all) chosen.delete(one.message);
      else chosen.set(one.message, one);
    }
    this.setState({ chosen });
  }

  close = () => this.setState({ act: null });

  done = () => {
    this.setState({ act: null, chosen: new Map(), value: null, trouble: null });
    this.read();
  };

  groups() {
    const out = new Map();
    for (const one of this.state.value.messages) {
      out.set(one.state, [...(out.get(one.state) ?? []), one]);
    }
    return [...out];
  }

  render({ name, acts, signedOut }, { value, failure, chosen, act, looking, trouble }) {
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
          {acts && ["retry", "drop"].map((kind) => (
            <button key={kind} type="button" disabled={!chosen.size}
                    onClick={() => this.setState({ act: { kind, letters: [...chosen.values()] } })}>
              {text(`act_${kind}`)} ({chosen.size})
            </button>
          ))}
        </p>
        {act && <LetterAct about={MESSAGES} kind={act.kind} letters={act.letters} name={name}
                           close={this.close} done={this.done} signedOut={signedOut} />}
        {this.groups().map(([state, letters]) => (
          <section key={state}>
            <h3>{text(`letter_${state}`)} ({letters.length})</h3>
            <p>{text(`find_letter_${state}`)}</p>
            {acts && (
              <button type="button" onClick={() => this.choose(letters)}>
                {text("choose_all")}
              </button>
            )}
            <LetterTable letters={letters} chosen={chosen} state={state}
                         choose={acts ? (one) => this.choose([one]) : null} />
          </section>
        ))}
      </section>
    );
  }
}

function LetterTable({ letters, chosen, choose, state }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={text(`letter_${state}`)}>
      <table>
        <thead>
          <tr>
            {choose && <th scope="col"><span class="hidden">{text("choose")}</span></th>}
            <th scope="col">{text("message")}</th>
            <th scope="col">{text("since")}</th>
            <th scope="col">{text("why")}</th>
            <th scope="col">{text("body")}</th>
          </tr>
        </thead>
        <tbody>
          {letters.map((one) => (
            <tr key={one.message}>
              {choose && (
                <td>
                  <input type="checkbox" checked={chosen.has(one.message)}
                         aria-label={`${text("choose")} ${one.key ?? text("no_id")}`}
                         onChange={() => choose(one)} />
                </td>
              )}
              <td>
                {one.record
                  ? <a class="key" href={`#/record/${one.record}`}><bdi>{one.key}</bdi></a>
                  : <bdi>{one.key ?? text("no_id")}</bdi>}
              </td>
              <td>{one.since && <Time at={one.since} ago />}</td>
              <td lang="en"><bdi>{one.reason}</bdi></td>
              <td class="number">{bytes(one.payload_size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
