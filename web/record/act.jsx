// Changes records: what is done, why, and what it may lead to, before it is done.
import { Component, h } from "preact";

import { keyName, Scope } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { sendAll } from "./acting.js";

/** `records` are as they were seen: what is read of them meanwhile must not get into it. */
export class Act extends Component {
  state = { results: null, failure: null, busy: false, dry: false, signedOut: false };

  componentDidMount() {
    this.dialog.showModal();
  }

  componentWillUnmount() {
    this.gone = true;
    this.dialog.close(); // the element may be used again, and must not be open then
  }

  async send(event) {
    event.preventDefault();
    const { kind, records } = this.props;
    const form = new FormData(this.form);
    const wanted = { reason: form.get("reason"), dry_run: event.submitter?.name === "dry" };
    if (form.get("force")) wanted.force = true;
    if (form.get("status")) wanted.status = Number(form.get("status"));
    if (form.get("body")) wanted.body = form.get("body");
    if (wanted.body && !wanted.status) {
      this.setState({ failure: text("status_missing") });
      this.form.elements.status.focus();
      return;
    }
    this.stopped = false;
    this.setState({ busy: true, failure: null });
    const { results, signedOut } = await sendAll(kind, records, wanted,
      () => !this.stopped && !this.gone);
    if (this.gone) return;
    const [first] = results;
    if (results.length === 1 && ["failed", "no_answer"].includes(first.outcome)) {
      this.setState({ busy: false, results: null,
        failure: first.detail || text(`result_${first.outcome}`) });
      return;
    }
    this.setState({ busy: false, results, dry: wanted.dry_run, signedOut });
  }

  closed() {
    const { results, busy, dry, signedOut } = this.state;
    if (this.gone) return;
    if (busy) this.dialog.showModal(); // it still has to say what became of them
    else if (signedOut) this.props.signedOut();
    else if (results && !dry) this.props.done(results);
    else this.props.close();
  }

  render({ kind, records }, { results, failure, busy, dry, signedOut }) {
    const finished = signedOut || (results && !dry);
    return (
      <dialog aria-labelledby="act-title"
              ref={(dialog) => { this.dialog = dialog ?? this.dialog; }}
              onCancel={(event) => busy && event.preventDefault()} onClose={() => this.closed()}>
        <form onSubmit={(event) => this.send(event)} ref={(form) => { this.form = form; }}>
          <h2 id="act-title">{text(`act_${kind}`)} ({records.length})</h2>
          <p class="danger">{text(`danger_${kind}`)}</p>
          <Chosen records={records} />
          {!finished && <Fields kind={kind} />}
          {failure && <p class="failure" role="alert">{failure}</p>}
          {signedOut && <p class="failure" role="alert">{text("signed_out_amid")}</p>}
          {results && <Results results={results} dry={dry} />}
          <p class="acts">
            {!finished && (
              <button type="submit" name="dry" disabled={busy}>{text("dry_run")}</button>
            )}
            {!finished && (
              <button type="submit" class={kind} disabled={busy}>{text(`do_${kind}`)}</button>
            )}
            <button type="button" onClick={() => this.endOrStop()}>
              {text(busy ? "stop" : "close")}
            </button>
          </p>
        </form>
      </dialog>
    );
  }

  endOrStop() {
    if (this.state.busy) this.stopped = true;
    else this.dialog.close();
  }
}

function Chosen({ records }) {
  return (
    <ul class="chosen" tabIndex={0} aria-label={text("records")}>
      {records.map((one) => (
        <li key={one.record}>
          <bdi>{keyName(one)}</bdi>{" "}
          <Scope record={one} />
          {one.attempt && `, ${text("attempt")} ${one.attempt}`}
        </li>
      ))}
    </ul>
  );
}

function Fields({ kind }) {
  return (
    <div>
      <label>
        {text("reason")}
        <input name="reason" required maxLength={1000} autocomplete="off" autofocus />
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
  );
}

function Results({ results, dry }) {
  return (
    <div role="status">
      <p>{dry ? text("would_be") : text("was_done")}</p>
      <ul>
        {results.map(({ record, outcome, detail }) => (
          <li key={record.record}>
            <bdi>{keyName(record)}</bdi>{" "}
            <Scope record={record} />: <b>{text(`result_${outcome}`)}</b>
            {detail && ` ${detail}`}
          </li>
        ))}
      </ul>
    </div>
  );
}
