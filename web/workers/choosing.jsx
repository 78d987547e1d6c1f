// Messages or rows that a person chooses, and acts on: as they were when they were chosen.
import { h } from "preact";

import { Reading } from "../shared/reading.jsx";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";
import { LetterAct } from "./letter_act.jsx";

export class Choosing extends Reading {
  state = { ...this.state, chosen: new Map(), act: null };

  /** MESSAGES or ROWS; subclasses say it. */
  about = null;

  /** What an act leaves of the view until it is read again. */
  afterAct() {
    return {};
  }

  /** All of them, or none where all were chosen. */
  choose(listed) {
    const { id } = this.about;
    const chosen = new Map(this.state.chosen);
    const all = listed.every((one) => chosen.has(one[id]));
    for (const one of listed) {
      if (all) chosen.delete(one[id]);
      else chosen.set(one[id], one);
    }
    this.setState({ chosen });
  }

  close = () => this.setState({ act: null });

  done = () => {
    this.setState({ act: null, chosen: new Map(), ...this.afterAct() });
    this.read();
  };

  chooseAll(listed) {
    return (
      <button type="button" onClick={() => this.choose(listed)}>{text("choose_all")}</button>
    );
  }

  actButtons() {
    const { chosen } = this.state;
    return ["retry", "drop"].map((kind) => (
      <button key={kind} type="button" disabled={!chosen.size}
              onClick={() => this.setState({ act: { kind, letters: [...chosen.values()] } })}>
        {text(`act_${kind}`)} ({chosen.size})
      </button>
    ));
  }

  dialog() {
    const { act } = this.state;
    return act && (
      <LetterAct about={this.about} kind={act.kind} letters={act.letters} name={this.props.name}
                 close={this.close} done={this.done} signedOut={this.props.signedOut} />
    );
  }

  /** `columns`: a title, the cell of one, and its class each. Viewers choose nothing. */
  table(listed, label, columns) {
    const { id, nameOf } = this.about;
    const { acts } = this.props;
    return (
      <Scroll label={label}>
        <table>
          <thead>
            <tr>
              {acts && <th scope="col"><span class="hidden">{text("choose")}</span></th>}
              {columns.map(([title]) => <th key={title} scope="col">{text(title)}</th>)}
            </tr>
          </thead>
          <tbody>
            {listed.map((one) => (
              <tr key={one[id]}>
                {acts && (
                  <td>
                    <input type="checkbox" checked={this.state.chosen.has(one[id])}
                           aria-label={`${text("choose")} ${nameOf(one)}`}
                           onChange={() => this.choose([one])} />
                  </td>
                )}
                {columns.map(([title, cell, kind]) => (
                  <td key={title} class={kind} lang={title === "why" ? "en" : null}>{cell(one)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    );
  }
}
