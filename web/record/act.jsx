// Changes records: what is done, why, and what it may lead to, before it is done.
import { Component, h } from "preact";

import { call } from "../shared/api.js";
import { Scope } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";

/**
 * What a call that failed came to. Who was not heard, or answers through a proxy that knows nothing,
 * may have done it.
 */
function outcomeOf({ status, problem }, dry) {
  if (problem.outcome) return problem.outcome;
  const unheard = status === 0 || (status >= 500 && !problem.status);
  return !dry && (unheard || problem.effect === "unknown") ? "unknown" : "failed";
}

/** On the records as they were when it was opened: none of a later attempt is changed. */
export class Act extends Component {
  state = { results: null, failure: null, busy: false, dry: false };

  componentDidMount() {
    this.dialog.showModal();
  }

  async send(event) {
    event.preventDefault();
    const dry = event.submitter?.name === "dry";
    const form = new FormData(this.form);
    if (form.get("body") && !form.get("status")) {
      return this.setState({ failure: text("status_needed") });
    }
    this.setState({ busy: true, failure: null });
    const results = [];
    for (const record of this.props.records) {
      const body = { reason: form.get("reason"), dry_run: dry };
      if (record.token) body.token = record.token;
      if (form.get("force")) body.force = true;
      if (this.props.kind === "complete" && form.get("status")) {
        body.status = Number(form.get("status"));
        if (form.get("body")) body.body = form.get("body");
      }
      try {
        const answer = await call("POST", `/api/records/${record.record}/${this.props.kind}`, body);
        results.push({ record, outcome: answer?.outcome ?? "done" });
      } catch (failure) {
        if (failure.status === 401) return this.props.signedOut();
        const outcome = outcomeOf(failure, dry);
        if (outcome === "failed" && this.props.records.length === 1) {
          return this.setState({ busy: false, failure: failure.message });
        }
        results.push({ record, outcome, detail: failure.message });
      }
    }
    return this.setState({ busy: false, results, dry });
  }

  render({ kind, records, close, done }, { results, failure, busy, dry }) {
    const finished = results && !dry;
    return (
      <dialog aria-labelledby="act-title" ref={(dialog) => { this.dialog = dialog; }}
              onClose={() => (finished ? done() : close())}>
        <form onSubmit={(event) => this.send(event)} ref={(form) => { this.form = form; }}>
          <h2 id="act-title">{text(`act_${kind}`)} ({records.length})</h2>
          <p class="danger">{text(`danger_${kind}`)}</p>
          <ul class="chosen">
            {records.slice(0, 20).map((one) => (
              <li key={one.record}><bdi>{one.key}</bdi> <Scope record={one} /></li>
            ))}
            {records.length > 20 && <li>{text("more", records.length - 20)}</li>}
          </ul>
          {!finished && (
            <div>
              <label>
                {text("reason")}
                <input name="reason" required maxLength={1000} autocomplete="off" />
              </label>
              {kind === "complete" && (
                <fieldset>
                  <legend>{text("answer_known")}</legend>
                  <label>{text("status")}<input name="status" inputMode="numeric"
                                                pattern="[2-5][0-9][0-9]" size={3} /></label>
                  <label>{text("body")}<textarea name="body" rows={3} /></label>
                </fieldset>
              )}
              <label class="check">
                <input type="checkbox" name="force" /> {text("force")}
              </label>
            </div>
          )}
          {failure && <p class="failure" role="alert">{failure}</p>}
          {results && (
            <div role="status">
              <p>{dry ? text("would_be") : text("was_done")}</p>
              <ul>
                {results.map((one) => (
                  <li key={one.record.record}>
                    <bdi>{one.record.key}</bdi>: <b>{text(`result_${one.outcome}`)}</b>
                    {one.detail && ` ${one.detail}`}
                  </li>
                ))}
              </ul>
            </div>
          )}
          <p class="acts">
            {!finished && <button type="submit" name="dry" disabled={busy}>{text("dry_run")}</button>}
            {!finished && (
              <button type="submit" class={kind} disabled={busy}>{text(`do_${kind}`)}</button>
            )}
            <button type="button" onClick={() => this.dialog.close()}>{text("close")}</button>
          </p>
        </form>
      </dialog>
    );
  }
}
