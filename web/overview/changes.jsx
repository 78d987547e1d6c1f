// What changed in the last hour: reloads, outages, what people did, routes that began to refuse.
import { h } from "preact";

import { call } from "../shared/api.js";
import { AuditTail } from "../shared/audit_tail.js";
import { number, span } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { has, text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";
import { changesOf } from "./changes.js";

const FIRST = 5;
const LINES = 1000; // of the audit log: as many as its API gives at once; each act has two

/** `routes`: as the overview has them. */
export class Changes extends Reading {
  interval = 10_000;

  audit = new AuditTail({}, LINES);

  state = { ...this.state, all: false };

  async load() {
    const [log, audit] = await Promise.all([
      call("GET", "/api/changes", undefined, this.calls.signal),
      this.audit.read(this.calls.signal)]);
    return { ...log, ...audit };
  }

  render({ routes }, { value, failure, all }) {
    const changes = value
      && changesOf(value.changes, value.entries, routes, Date.parse(value.since), value.older);
    return (
      <section aria-label={text("changes")}>
        <h2>{text("changes")}</h2>
        {failure?.status > 0 && this.notice()}
        {value?.missing && <p class="note">{text("changes_without_acts", value.missing)}</p>}
        {changes?.length === 0 && <p>{text("changes_none")}</p>}
        {changes?.length > 0 && (
          <ol class="timeline changes">
            {(all ? changes : changes.slice(0, FIRST)).map((one) => (
              <Change key={`${one.at} ${one.kind} ${one.name} ${one.more.route ?? ""}`} {...one} />
            ))}
          </ol>
        )}
        {changes?.length > FIRST && !all && (
          <button type="button" onClick={() => this.setState({ all: true })}>
            {text("more", number(changes.length - FIRST))}
          </button>
        )}
      </section>
    );
  }
}

function Change({ at, kind, name, link, grade, more, all, atLeast }) {
  const words = wordsOf(kind, name, more, all.length, atLeast);
  return (
    <li class={grade}>
      <Time at={new Date(at).toISOString()} ago />{" "}
      {link ? <a href={link}><bdi>{words}</bdi></a> : <bdi>{words}</bdi>}
      <small><bdi>{noteOf(kind, all.length === 1 ? more
        : { ...more, ...(kind === "event" && { route: all.map((one) => one.route).join(", ") }) })}
      </bdi></small>
    </li>
  );
}

/** What changed, in words; an event without words is named as the log names it. */
function wordsOf(kind, name, more, count, atLeast) {
  if (kind === "refusals") return text("change_refusals", more.route, name);
  if (kind === "event") return has(`change_${name}`) ? text(`change_${name}`) : name;
  const one = more.key ? ` ${shown(more.key)}` : "";
  const many = number(count) + (atLeast ? "+" : "");
  const key = count > 1 || atLeast ? ` ${text("change_acts", many)}` : one;
  return text("change_act", more.who, text(`action_${name}`)) + key;
}

/** What else is known of it. */
function noteOf(kind, more) {
  if (kind === "refusals") return text(`refused_${more.problem}`);
  if (kind === "act") {
    return [more.about, more.why, more.stage !== "done" && text(`stage_${more.stage}`)]
      .filter(Boolean).join(" · ");
  }
  return Object.entries(more).map(([name, value]) => (name.endsWith("_ms")
    ? `${name.slice(0, -3)} ${span(value)}` : `${name}: ${value}`)).join(" · ");
}
