// Changes records: what is done, why, and what it may lead to, before it is done.
import { Component, h } from "preact";

import { number } from "../shared/forms.js";
import { keyName, Keys, Scope } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";
import { sendAll } from "./acting.js";
import { mayStillRun } from "./applying.js";
import { inShort, noteReason, reasonBefore } from "./reason.js";

const LINES = 10; // that are doubtful, of which the dialog has the first

/** `records` are as they were seen: what is read of them meanwhile must not get into it.
 * `unmatched`: of the list by which they were chosen, if there was one.
 * `next`: the act that is to follow, if there is one. */
export class Act extends Component {
  state = { results: null, failure: null, busy: false, dry: false, signedOut: false,
    status: "", body: "" };

  reasonBefore = reasonBefore(this.props.kind);

  /** What is still to be done: of an act, those that may still run, which can be forced. */
  left() {
    const { results, dry } = this.state;
    return results && !dry
      ? results.filter((one) => one.outcome === "running").map((one) => one.record)
      : this.props.records;
  }

  componentDidMount() {
    this.form.reset(); // a browser may put back what was typed in another dialog
    this.dialog.showModal();
  }

  componentWillUnmount() {
    this.gone = true;
    this.dialog.close(); // the element may be used again, and must not be open then
  }

  async send(event) {
    event.preventDefault();
    const { kind } = this.props;
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
    noteReason(kind, wanted);
    this.setState({ busy: true, failure: null });
    const { results, signedOut } = await sendAll(kind, this.left(), wanted,
      () => !this.stopped && !this.gone);
    if (this.gone) return;
    const before = this.state.dry ? null : this.state.results;
    const [first] = results;
    if (results.length === 1 && ["failed", "no_answer"].includes(first.outcome)) {
      this.setState({ busy: false, results: before,
        failure: first.detail || text(`result_${first.outcome}`) });
      return;
    }
    // Of those that were sent once more, what they came to now.
    const joined = before?.map((one) => results.find(({ record }) => record === one.record) ?? one);
    this.setState({ busy: false, results: joined ?? results, dry: wanted.dry_run, signedOut });
  }

  closed() {
    const { results, busy, dry, signedOut } = this.state;
    if (this.gone) return;
    if (busy) this.dialog.showModal(); // it still has to say what became of them
    else if (signedOut) this.props.signedOut();
    else if (results && !dry) this.props.done(results);
    else this.props.close();
  }

  render({ kind, records, unmatched, next }, { results, failure, busy, dry, signedOut, status, body }) {
    const left = this.left();
    const acted = results && !dry;
    const finished = signedOut || !left.length;
    const forcible = records.some((one) => mayStillRun(kind, one))
      || results?.some((one) => one.outcome === "running");
    return (
      <dialog aria-labelledby="act-title"
              ref={(dialog) => { this.dialog = dialog ?? this.dialog; }}
              onCancel={(event) => busy && event.preventDefault()} onClose={() => this.closed()}>
        <form onSubmit={(event) => this.send(event)} ref={(form) => { this.form = form; }}>
          <h2 id="act-title">{text(`act_${kind}`)} ({left.length || records.length})</h2>
          <Danger kind={kind} records={records} />
          {!finished && unmatched?.lines.length > 0 && <Unmatched kind={kind} {...unmatched} />}
          {results ? <Results kind={kind} results={results} dry={dry} />
            : <Chosen records={records} />}
          {!finished && (
            <Fields kind={kind} count={left.length} before={results ? "" : this.reasonBefore}
                    forcible={forcible} status={status} body={body}
                    typed={(event) => this.setState({ [event.target.name]: event.target.value })} />
          )}
          {failure && <p class="failure" role="alert">{failure}</p>}
          {signedOut && <p class="failure" role="alert">{text("signed_out_amid")}</p>}
          <p class="acts">
            {!finished && !acted && (
              <button type="submit" name="dry" disabled={busy}>{text("dry_run")}</button>
            )}
            {!finished && (
              <button type="submit" class={kind} disabled={busy}>
                {text(`do_${kind}`, left.length)}
              </button>
            )}
            {acted && next && results.every((one) => one.outcome === "done") && (
              <button type="button" class={next.kind} onClick={() => this.props.goOn(next)}>
                {text(`next_${next.kind}`, next.records.length)}
              </button>
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

/** What it leads to; of a completed record what its clients were told. */
function Danger({ kind, records }) {
  const answered = records.filter((one) => one.state === "completed");
  return (
    <div class="danger">
      <p>{text(`danger_${kind}`)}</p>
      {kind === "delete" && answered.length > 0 && (
        <p class="failure">
          {answered.length === 1 && answered[0].status
            ? text("danger_delete_answered", answered[0].status)
            : text("danger_delete_completed", answered.length)}
        </p>
      )}
    </div>
  );
}

/** The doubtful lines of a list, and what of the chosen they may mean. */
function Unmatched({ kind, lines, among }) {
  return (
    <div class="failure" role="alert">
      <p>
        {text("unmatched", number(lines.length))}{" "}
        {lines.slice(0, LINES).map((line) => (
          <span key={line}><bdi class="key">{shown(line)}</bdi> </span>
        ))}
        {lines.length > LINES && text("more", number(lines.length - LINES))}
      </p>
      <p>{text(`unmatched_${kind}`)}</p>
      {among.length > 0 && <p><b>{text("unmatched_among")}</b> <Keys records={among} /></p>}
    </div>
  );
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

function Fields({ kind, count, before, forcible, status, body, typed }) {
  const again = ({ currentTarget }) => { // the click may be on what is in the button
    const { reason } = currentTarget.form.elements;
    reason.value = before;
    reason.focus();
  };
  return (
    <div>
      <label>
        {text("reason")}
        <input name="reason" required maxLength={1000} autocomplete="off" autofocus />
      </label>
      {before && (
        <button type="button" class="again" onClick={again}>
          {text("reason_again")} <bdi>{shown(inShort(before))}</bdi>
        </button>
      )}
      {kind === "complete" && (
        <fieldset>
          <legend>{text("answer_known")}</legend>
          {count > 1 && <p><b>{text("answer_of_all", number(count))}</b></p>}
          <label>{text("status")}<input name="status" inputMode="numeric" autocomplete="off"
                                        pattern="[2-5][0-9][0-9]" size={3} onInput={typed} /></label>
          <label>{text("body")}<textarea name="body" rows={3} autocomplete="off"
                                         onInput={typed} /></label>
          <p>{repeatsGet(status, body)}</p>
        </fieldset>
      )}
      {forcible && (
        <label class="check">
          <input type="checkbox" name="force" /> {text("force")}
          <small>{text(`force_${kind}`)}</small>
        </label>
      )}
    </div>
  );
}

/** What clients get from then on, in words. */
function repeatsGet(status, body) {
  if (!status) return text("repeats_get_none");
  return text(body ? "repeats_get_body" : "repeats_get_status", status);
}

function Results({ kind, results, dry }) {
  const count = results.filter((one) => one.outcome === "done").length;
  const unknown = results.filter((one) => one.outcome === "unknown").length;
  const said = (outcome) => (outcome === "done"
    ? text(`${dry ? "would" : "did"}_${kind}`) : text(`result_${outcome}`));
  return (
    <div role="status">
      <p>
        {dry ? text("nothing_changed") : text("was_done")}{" "}
        <b>{text(`${dry ? "sum_would" : "sum_did"}_${kind}`, count,
          results.length - count - unknown)} {unknown > 0 && text("sum_unknown", unknown)}</b>
      </p>
      <ul class="chosen" tabIndex={0} aria-label={text("result")}>
        {results.map(({ record, outcome, detail }) => (
          <li key={record.record}>
            <bdi>{keyName(record)}</bdi>{" "}
            <Scope record={record} />: {dry ? said(outcome) : <b>{said(outcome)}</b>}
            {detail && ` ${detail}`}
          </li>
        ))}
      </ul>
    </div>
  );
}
