// What no record says alone: refusals of another content that come in clusters, and keys that came
// under two scopes. Of the latest requests, which the process keeps.
import { h } from "preact";

import { call, query } from "../shared/api.js";
import { number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { Reading } from "../shared/reading.jsx";
import { text } from "../shared/texts.js";

const LEAST = 3; // refusals that make a cluster
const LONGEST_SEARCH = 5000; // ms

function groupsBy(items, name) {
  const out = new Map();
  for (const one of items) {
    const key = name(one);
    if (key !== undefined) out.set(key, [...(out.get(key) ?? []), one]);
  }
  return [...out.values()];
}

/**
 * Keys that were refused often; and callers whose refusals are spread over keys.
 * @param {object[]} mismatches the oldest first
 */
export function clustersOf(mismatches) {
  const large = (group) => group.length >= LEAST;
  const keys = groupsBy(mismatches, (one) => one.record).filter(large);
  const inKeys = new Set(keys.flat());
  const rest = mismatches.filter((one) => !inKeys.has(one));
  const callers = groupsBy(rest, (one) => one.client && `${one.client} ${one.route}`).filter(large);
  return [...keys.map((all) => ({ of: "key", all })),
    ...callers.map((all) => ({ of: "caller", all }))];
}

/** The newest event of each record, with how many there were. */
function strangersOf(events) {
  return groupsBy(events, (one) => one.fields.record).map((all) => ({
    first: all[0], last: all.at(-1), count: all.length }));
}

export class Conspicuous extends Reading {
  interval = 10_000;

  async load() {
    const recent = await call("GET", `/api/recent?${query({ outcome: "mismatch",
      event: "other-scope", limit: 500 })}`, undefined, this.calls.signal);
    return { clusters: clustersOf(recent.requests), strangers: strangersOf(recent.events) };
  }

  render(_, { value }) {
    if (!value) return this.notice();
    const { clusters, strangers } = value;
    return (
      <div>
        {this.notice()}
        {clusters.length > 0 && (
          <section aria-label={text("clusters")}>
            <h2>{text("clusters")} ({clusters.length})</h2>
            <p>{text("find_out_clusters")}</p>
            <ul>
              {clusters.map(({ of, all }) => (
                <li key={of + all[0].number}>
                  {of === "key"
                    ? <a class="key" href={`#/record/${all[0].record}`}><bdi>{all[0].key}</bdi></a>
                    : <bdi>{all[0].client}</bdi>}{" "}
                  <bdi>{all[0].method} {all[0].route}</bdi>:{" "}
                  {text("refused_since", number(all.length))} <Time at={all[0].at} ago />
                </li>
              ))}
            </ul>
          </section>
        )}
        {strangers.length > 0 && (
          <section aria-label={text("two_scopes")}>
            <h2>{text("two_scopes")} ({strangers.length})</h2>
            <p>{text("find_out_two_scopes")}</p>
            <ul>
              {strangers.map(({ first, last, count }) => (
                <Stranger key={first.fields.record} first={first} last={last} count={count}
                          signedOut={this.props.signedOut} />
              ))}
            </ul>
          </section>
        )}
      </div>
    );
  }
}

/** An event has the beginnings of digests alone: the records are read when they are asked for. */
class Stranger extends Reading {
  async load() {
    const { last } = this.props;
    const own = await this.find({ scope: last.fields.scope, limit: 100 },
      (one) => one.record.startsWith(last.fields.record));
    if (!own) return [];
    const all = [];
    await this.find({ key: own.key }, (one) => { all.push(one); });
    return all;
  }

  /** The first record that fits, from all pages, as far as they can be read in a while. */
  async find(filter, fits) {
    const until = Date.now() + LONGEST_SEARCH;
    let cursor = "";
    do {
      const page = await call("GET", `/api/records?${query({ ...filter, cursor })}`, undefined,
        this.calls.signal);
      const found = page.records.find(fits);
      if (found) return found;
      cursor = page.cursor;
    } while (cursor && Date.now() < until);
    return null;
  }

  render({ first, last, count }, { value, failure }) {
    return (
      <li>
        <bdi>{last.fields.route}</bdi>: {text("scope_was", last.fields.before, last.fields.scope)}{" "}
        {count > 1 && text("times", number(count))} <Time at={first.at} ago />
        {failure && ` ${failure.status === 0 ? text("out_of_reach") : failure.message}`}
        {value && value.map((one) => (
          <span key={one.record}>
            {" "}<a class="key" href={`#/record/${one.record}`}><bdi>{one.key}</bdi></a>{" "}
            ({one.scope.slice(0, 12)}, {text(`state_${one.state}`)})
          </span>
        ))}
      </li>
    );
  }
}
