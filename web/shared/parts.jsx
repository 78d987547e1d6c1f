// Small parts that every view uses.
import { h } from "preact";

import { inUtc, moment, number, span } from "./forms.js";
import { Scroll } from "./scroll.jsx";
import { has, text } from "./texts.js";
import { shown } from "./writing.js";

const MOST_KEYS = 20;

/** A moment in the reader's zone, in UTC on hover. `ago`: how long ago, unless UTC is wanted.
 * `exact`: with milliseconds. */
export function Time({ at, ago, exact }) {
  return (
    <time dateTime={at} title={`${new Date(at).toISOString()} (UTC)`}>
      {ago && !inUtc() ? text("ago", span(Date.now() - Date.parse(at)))
        : moment(at, exact ? "exact" : "short")}
    </time>
  );
}

export function State({ record }) {
  return (
    <span class={`state ${record.state}`}>
      {text(`state_${record.state}`)}
      {record.state === "unknown" && record.why && `: ${text(`why_${record.why}`)}`}
    </span>
  );
}

/** The key in words, also where markup is not possible. */
export function keyName({ key }) {
  return key === undefined || key === null ? `(${text("unreadable_key")})` : shown(key);
}

/** A key as it is: the direction of its letters stays within it. */
export function Key({ record }) {
  return (
    <a class="key" href={`#/record/${record.record}`}>
      <bdi>{keyName(record)}</bdi>
    </a>
  );
}

/** The keys of some records, of many the first. */
export function Keys({ records }) {
  return (
    <span>
      {records.slice(0, MOST_KEYS).map((one) => (
        <span key={one.record}><bdi class="key">{keyName(one)}</bdi> </span>
      ))}
      {records.length > MOST_KEYS && text("more", number(records.length - MOST_KEYS))}
    </span>
  );
}

/** Whose key it is, which may be that of others, too: where its digest begins, all on hover. */
export function Scope({ record }) {
  return record.scope
    ? <span class="scope" title={record.scope}><bdi>{scopeName(record)}</bdi></span>
    : null;
}

/** Of what a scope was made. */
export function scopeKind(kind) {
  return has(`scope_${kind}`) ? text(`scope_${kind}`) : kind;
}

function scopeName({ scope, scope_kind: kind }) {
  return scope ? `${kind ? `${scopeKind(kind)} ` : ""}${scope.slice(0, 12)}` : "";
}

/** `mayChoose`: which of them have a box; missing: all. `label`: which of several tables it is. */
export function RecordTable({ records, chosen, choose, mayChoose = () => true, label = "" }) {
  return (
    <Scroll label={[text("records"), label].filter(Boolean).join(": ")}>
      <table class="records">
        <thead>
          <tr>
            {choose && <th scope="col"><span class="hidden">{text("choose")}</span></th>}
            <th scope="col">{text("key")}</th>
            <th scope="col">{text("state")}</th>
            <th scope="col" class="large">{text("scope")}</th>
            <th scope="col" class="large">{text("route")}</th>
            <th scope="col">{text("claimed")}</th>
            <th scope="col" class="number">{text("attempts")}</th>
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={record.record}>
              {choose && (
                <td>
                  {mayChoose(record) && (
                    <input type="checkbox"
                           aria-label={`${text("choose")} ${keyName(record)} ${scopeName(record)}`}
                           checked={chosen.has(record.record)}
                           onChange={() => choose(record)} />
                  )}
                </td>
              )}
              <td>
                <Key record={record} />
                <small class="small"><Scope record={record} /></small>
              </td>
              <td>
                <State record={record} />
                <small class="small"><bdi>{record.method} {record.route}</bdi></small>
              </td>
              <td class="large"><Scope record={record} /></td>
              <td class="large"><bdi>{record.method} {record.route}</bdi></td>
              <td>{record.claimed_at && <Time at={record.claimed_at} ago />}</td>
              <td class="number">{record.attempt}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** How many records are in each state, as they were counted last. */
export function Counted({ records }) {
  return (
    <section>
      <h2>{text("records")}</h2>
      {records.by_state
        ? (
          <dl class="figures">
            {Object.entries(records.by_state).map(([state, count]) => (
              <div key={state}>
                <dt>
                  <span class={count ? `state ${state}` : "state"}>{text(`state_${state}`)}</span>
                </dt>
                <dd>
                  <a href={state === "unknown" || state === "unreadable" ? "#/attention"
                    : `#/search?state=${state}`}
                     aria-label={`${text(`state_${state}`)}: ${number(count)}`}>{number(count)}</a>
                </dd>
              </div>
            ))}
          </dl>
        )
        : <p>{text("not_counted")}</p>}
    </section>
  );
}
