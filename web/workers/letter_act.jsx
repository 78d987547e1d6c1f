// Sends messages or rows again, or drops them: why, and what it may lead to, before it is done.
import { Component, h } from "preact";

import { call, Refused } from "../shared/api.js";
import { actFailure, isRefusal } from "../shared/lost.js";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";
import { workerPath } from "./worker_path.js";

/** What an act is about: `member` of the call, with these facts of each, named by `id`. */
export const MESSAGES = {
  member: "messages",
  id: "message",
  facts: ["message", "state", "token", "revision"],
  danger: "danger",
  nameOf: (one) => (one.key ? shown(one.key) : text("no_id")),
};
export const ROWS = {
  member: "rows",
  id: "row",
  facts: ["row", "seen"],
  danger: "danger_row",
  nameOf: (one) => shown(one.message_id ?? ""),
};

/** `letters` are as they were seen: one that has changed since stays as it is. */
export class LetterAct extends Component {
  state = { results: null, faults: [], failure: null, busy: false, dry: false, signedOut: false };

  componentDidMount() {
    this.dialog.showModal();
  }

  componentWillUnmount() {
    this.gone = true;
    this.dialog.close(); // the element may be used again, and must not be open then
  }

  async send(event) {
    event.preventDefault();
    const { kind, letters, name, about } = this.props;
    const dry = event.submitter?.name === "dry";
    const reason = new FormData(this.form).get("reason");
    const seen = letters.map((one) => Object.fromEntries(
      about.facts.map((fact) => [fact, one[fact]])));
    this.setState({ busy: true, failure: null });
    try {
      const answer = await call("POST", workerPath(name, `${about.member}/${kind}`),
        { reason, [about.member]: seen, dry_run: dry });
      if (answer?.act !== kind || answer.dry_run !== dry) throw new Refused(0, "");
      if (!this.gone) {
        this.setState({ busy: false, dry, results: answer[about.member], faults: answer.faults });
      }
    } catch (failure) {
      if (!(failure instanceof Refused)) throw failure;
      if (this.gone) return;
      const said = dry && !isRefusal(failure) ? text("result_no_answer") : actFailure(failure);
      this.setState({ busy: false, signedOut: failure.status === 401, failure:
        failure.status === 401 ? text("signed_out_amid") : said });
    }
  }

  closed() {
    const { busy, signedOut, results, dry, failure } = this.state;
    if (this.gone) return;
    if (busy) this.dialog.showModal(); // it still has to say what became of them
    else if (signedOut) this.props.signedOut();
    else if ((results && !dry) || failure) this.props.done();
    else this.props.close();
  }

  nameOf(result) {
    const { about, letters } = this.props;
    return about.nameOf(letters.find((one) => one[about.id] === result[about.id]) ?? {});
  }

  render({ kind, letters, about }, { results, faults, failure, busy, dry, signedOut }) {
    const finished = signedOut || (results && !dry);
    return (
      <dialog aria-labelledby="letter-act-title"
              ref={(dialog) => { this.dialog = dialog ?? this.dialog; }}
              onCancel={(event) => busy && event.preventDefault()} onClose={() => this.closed()}>
        <form onSubmit={(event) => this.send(event)} ref={(form) => { this.form = form; }}>
          <h2 id="letter-act-title">{text(`act_${kind}`)} ({letters.length})</h2>
          <p class="danger">{text(`${about.danger}_${kind}`)}</p>
          <ul class="chosen" tabIndex={0} aria-label={text("message")}>
            {letters.map((one) => (
              <li key={one[about.id]}><bdi>{about.nameOf(one)}</bdi>
                {one.not_again && kind === "retry" && <span lang="en">: {one.not_again}</span>}
              </li>
            ))}
          </ul>
          {!finished && (
            <label>
              {text("reason")}
              <input name="reason" required maxLength={1000} autocomplete="off" autofocus />
            </label>
          )}
          {failure && <p class="failure" role="alert">{failure}</p>}
          {faults.map((one) => <p key={one} class="failure" role="alert" lang="en">{one}</p>)}
          {results && (
            <div role="status">
              <p>{dry ? text("would_be") : text("was_done")}</p>
              <ul>
                {results.map((one) => (
                  <li key={one[about.id]}>
                    <bdi>{this.nameOf(one)}</bdi>: <b>{text(`result_${one.outcome}`)}</b>
                    {one.detail && <span lang="en"> {one.detail}</span>}
                  </li>
                ))}
              </ul>
            </div>
          )}
          <p class="acts">
            {!finished && (
              <button type="submit" name="dry" disabled={busy}>{text("dry_run")}</button>
            )}
            {!finished && (
              <button type="submit" disabled={busy}>{text(`act_${kind}`)}</button>
            )}
            <button type="button" disabled={busy} onClick={() => this.dialog.close()}>
              {text("close")}
            </button>
          </p>
        </form>
      </dialog>
    );
  }
}
