// One key: its life, its answer, and what can be done.
import { h } from "preact";

import { call } from "../shared/api.js";
import { AuditTail } from "../shared/audit_tail.js";
import { bytes, span } from "../shared/forms.js";
import { keyName, Scope, scopeKind, State } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { has, text } from "../shared/texts.js";
import { Act } from "./act.jsx";
import { applies } from "./applying.js";
import { Commands } from "./commands.jsx";
import { readLife, Timeline } from "./timeline.jsx";
import { Verdict } from "./verdict.jsx";

const ACTS = 50; // lines of the audit log

export class RecordView extends Reading {
  interval = 3000;

  audit = new AuditTail({ record: this.props.argument.toLowerCase() }, ACTS);

  state = { ...this.state, act: null, answer: null };

  async load() {
    const record = await readLife(this.props.argument, this.audit, this.calls.signal);
    this.props.headed(keyName(record));
    return record;
  }

  async showAnswer() {
    try {
      const answer = await call("GET",
        `/api/records/${encodeURIComponent(this.props.argument)}?body=yes`);
      this.setState({ answer });
    } catch (failure) {
      this.setState({ failure });
    }
  }

  close = () => {
    this.setState({ act: null });
    this.read();
  };

  done = () => {
    this.setState({ act: null, answer: null });
    this.read();
  };

  render({ acts, me }, { value, act, answer }) {
    if (!value) return this.notice();
    return (
      <article>
        {this.notice()}
        <p><State record={value} /></p>
        {value.state === "unreadable" && <p>{value.why}</p>}
        {value.requests && <Verdict record={value} />}
        {acts && (
          <p class="acts">
            {["complete", "release", "delete"].filter((kind) => applies(kind, value)).map((kind) => (
              <button key={kind} type="button" class={kind}
                      onClick={() => this.setState({ act: { kind, records: [value] } })}>
                {text(`act_${kind}`)}
              </button>
            ))}
          </p>
        )}
        {act && <Act kind={act.kind} records={act.records} close={this.close} done={this.done}
                     signedOut={this.props.signedOut} />}
        {value.state !== "unreadable" && <Facts facts={factsOf(value)} />}
        {value.timeline && <Timeline record={value} traceUrl={me.trace_url} />}
        {value.state === "completed" && value.status !== undefined && (
          <section>
            <h2>{text("answer")}</h2>
            <p>{text("answer_is", value.status, bytes(value.body_size))}</p>
            {answer?.token === value.token
              ? <Answer answer={answer} />
              : <button type="button" onClick={() => this.showAnswer()}>{text("show")}</button>}
          </section>
        )}
        {value.state === "completed" && value.status === undefined && (
          <section><h2>{text("answer")}</h2><p>{text("no_answer_kept")}</p></section>
        )}
        {value.state !== "unreadable" && (
          <details>
            <summary>{text("record_more")}</summary>
            <Facts facts={detailsOf(value)} />
          </details>
        )}
        <Commands record={value} acts={acts} signedIn={me.signed_in} />
      </article>
    );
  }
}

function factsOf(record) {
  const kept = record.retention_left_ms > 0 && [span(record.retention_left_ms),
    has(`kept_${record.state}`) && text(`kept_${record.state}`)].filter(Boolean).join(", ");
  return [
    ["route", `${record.method} ${record.route}`],
    ["path", record.path],
    ["scope", record.scope && <Scope record={record} />],
    ["attempt", record.attempt],
    ["incident", record.incident],
    ["lease_left", record.lease_left_ms > 0 && span(record.lease_left_ms)],
    ["kept_for", kept],
    ["settled_by", (record.by_operator && text("operator"))
      || (record.by_application && text("application"))],
    ["maybe_repeated", record.maybe_repeated && text("yes")],
  ];
}

/** What programs compare, in full. */
function detailsOf(record) {
  return [
    ["scope", record.scope],
    ["scope_kind", record.scope_kind && scopeKind(record.scope_kind)],
    // After a release there is none.
    ["fingerprint", !/^0*$/.test(record.fingerprint)
      && `${record.fingerprint_method} ${record.fingerprint}`],
    ["fencing_token", record.token],
  ];
}

function Facts({ facts }) {
  return (
    <dl class="facts">
      {facts.filter(([, value]) => value).map(([name, value]) => (
        <div key={name}><dt>{text(name)}</dt><dd><bdi>{value}</bdi></dd></div>
      ))}
    </dl>
  );
}

function Answer({ answer }) {
  return (
    <div>
      <dl class="facts">
        {answer.headers?.map(([name, value], i) => (
          <div key={i}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>
        ))}
      </dl>
      <pre tabIndex={0}><bdi>{answer.body ?? answer.body_base64 ?? ""}</bdi></pre>
    </div>
  );
}
