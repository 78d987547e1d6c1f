// Dead letters and unknown messages of a consumer: what happened, what to find out, the acts.
import { h } from "preact";

import { call } from "../shared/api.js";
import { bytes } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";
import { LetterAct } from "./letter_act.jsx";

/** Each look takes the messages from the broker and gives them back: so none without being asked. */
export class Letters extends Reading {
  state = { ...this.state, chosen: new Map(), act: null };

  load() {
    return call("GET", `/api/workers/${encodeURIComponent(this.props.name)}/messages`, undefined,
      this.calls.signal);
  }

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
    this.setState({ act: null, chosen: new Map(), value: null });
    this.read();
  };

  groups() {
    const out = new Map();
    for (const one of this.state.value.messages) {
      out.set(one.state, [...(out.get(one.state) ?? []), one]);
    }
    return [...out];
  }

  render({ name, acts, signedOut }, { value, failure, chosen, act }) {
    if (!value) {
      return failure ? this.notice() : <p class="waiting">{text("letters_looking")}</p>;
    }
    return (
      <section aria-label={text("letters", name)}>
        {this.notice()}
        <h2>{text("letters", "")}<bdi>{name}</bdi></h2>
        {value.faults.map((one) => <p key={one} class="failure" role="alert" lang="en">{one}</p>)}
        <p role="status">
          {!value.messages.length && !value.faults.length && text("letters_none")}{" "}
          {value.more && text("letters_more")}{" "}
          {text("letters_looked")} <Time at={value.looked_at} ago />
        </p>
        <p class="acts">
          <button type="button" onClick={this.refresh}>{text("letters_look")}</button>
          {acts && ["retry", "drop"].map((kind) => (
            <button key={kind} type="button" disabled={!chosen.size}
                    onClick={() => this.setState({ act: { kind, letters: [...chosen.values()] } })}>
              {text(`act_${kind}`)} ({chosen.size})
            </button>
          ))}
        </p>
        {act && <LetterAct kind={act.kind} letters={act.letters} name={name} close={this.close}
                           done={this.done} signedOut={signedOut} />}
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
