// What would become of a request now: it is told apart as the gateway does it, and not sent.
import { Component, h } from "preact";

import { call, Refused } from "../shared/api.js";
import { bytes, span } from "../shared/forms.js";
import { scopeKind, State } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { NoRequest, readRequest } from "./request_text.js";

const EXAMPLE = `curl -X POST https://api.example.com/charges \\
  -H 'Idempotency-Key: order-17' -d amount=5`;

export class Explain extends Component {
  state = { reply: null, failure: null };

  async explain(event) {
    event.preventDefault();
    try {
      const reply = await call("POST", "/api/explain", readRequest(this.field.value));
      this.setState({ reply, failure: null });
    } catch (failure) {
      if (failure.status === 401) return this.props.signedOut();
      if (failure instanceof NoRequest) {
        return this.setState({ reply: null, failure: text(failure.message) });
      }
      if (!(failure instanceof Refused)) throw failure;
      return this.setState({ reply: null,
        failure: failure.status === 0 ? text("out_of_reach") : failure.message });
    }
    return undefined;
  }

  render(_, { reply, failure }) {
    return (
      <section>
        <h2>{text("explain")}</h2>
        <form onSubmit={(event) => this.explain(event)}>
          <label>
            {text("explain_paste")}
            <textarea rows={6} spellcheck={false} placeholder={EXAMPLE} required
                      ref={(field) => { this.field = field; }} />
          </label>
          <p><button type="submit">{text("explain_do")}</button></p>
        </form>
        {failure && <p class="failure" role="alert">{failure}</p>}
        <div role="status">{reply && <Reply reply={reply} />}</div>
      </section>
    );
  }
}

// The types of the refusals; a route may give them another status than the usual one.
const REFUSALS = { busy: "in-progress", mismatch: "key-reused", backoff: "backing-off",
  unknown: "outcome-unknown" };

/** What the client would get, in words; undefined: nobody knows. */
function answerOf({ verdict, status, problem, current }) {
  if (["run", "passes"].includes(verdict)) return text("by_the_service");
  if (verdict === "replay" && current?.status) {
    return text("the_stored", current.status, bytes(current.body_size ?? 0));
  }
  const type = verdict === "replay" ? "answer-not-kept" : problem ?? REFUSALS[verdict];
  return type && text("the_refusal", status ? `${status} ${type}` : type);
}

function Reply({ reply }) {
  const { verdict, retry_after_ms: wait, current } = reply;
  const facts = [
    ["why", reply.observed ? text("observes_alone") : reply.reason],
    ["would_answer", answerOf(reply)],
    ["route", reply.route],
    ["upstream", reply.upstream],
    ["key", reply.key],
    ["scope", reply.scope && `${reply.scope} (${scopeKind(reply.scope_kind)})`],
    ["fingerprint", reply.fingerprint && `${reply.fingerprint} (${reply.fingerprint_method})`],
    ["store", reply.store],
  ];
  const bad = ["mismatch", "unknown", "refused", "not_known"].includes(verdict);
  return (
    <div>
      <p class={`condition ${bad ? "bad" : "good"}`}>
        <b>{text(`verdict_${verdict}`)}</b>
        {wait && ` ${text("verdict_wait", span(wait))}`}
      </p>
      <dl class="facts">
        {facts.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}><dt>{text(name)}</dt><dd><bdi>{value}</bdi></dd></div>
        ))}
        {current && (
          <div>
            <dt>{text("its_record")}</dt>
            <dd><a href={`#/record/${current.record}`}><State record={current} /></a></dd>
          </div>
        )}
      </dl>
      {reply.warnings?.map((one) => <p key={one} class="danger">{one}</p>)}
    </div>
  );
}
