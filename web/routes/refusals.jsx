// Why requests of each route were refused, and the latest of them.
import { Component, h } from "preact";

import { call, query, Refused } from "../shared/api.js";
import { number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { REFUSALS, refusalsOf } from "../shared/refusals.js";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";
import { shown } from "../shared/writing.js";

const LATEST = 20;

/** `routes`: as the overview has them, at the time `now`; `policies`: as /api/routes has them. */
export function Refusals({ routes, now, policies, signedOut }) {
  const all = refusalsOf(routes, now);
  const refusing = [...new Set(all.map(({ route }) => route))];
  return (
    <section aria-label={text("why_refused")}>
      <h2>{text("why_refused")}</h2>
      {!refusing.length && <p>{text("nothing_refused")}</p>}
      {refusing.map((route) => (
        <Route key={route} route={route} refusals={all.filter((one) => one.route === route)}
               policies={policies.filter((one) => one.route === route)}
               signedOut={signedOut} />
      ))}
    </section>
  );
}

/** What a client has to send whose key is missing, and where that is configured. */
function Remedy({ policies }) {
  // Of several policies of a path, that of the methods for which a key is required.
  const optionsOf = ({ policy }) => new Map(policy.map((one) => [one.option, one]));
  const options = policies.map(optionsOf).find((one) => one.get("required")?.value === "true");
  if (!options) return null;
  const names = (options.get("key")?.value ?? "").match(/[^"[\], ]+/g) ?? [];
  if (!names.length) return null;
  const headers = names.filter((one) => !one.includes(":") && one !== "content");
  const required = options.get("required");
  const set = [required.table, required.position].filter(Boolean).join(", ");
  return (
    <span>
      {" "}<b>{headers.length ? text("send_header", headers.join(" / "))
        : text("send_key_at", names.join(" / "))}</b>
      {set && ` (required = true: ${set})`}
    </span>
  );
}

class Route extends Component {
  state = { latest: null, failure: null };

  async look() {
    const { route } = this.props;
    const wanted = new URLSearchParams(query({ route, limit: 500 }));
    for (const one of REFUSALS) wanted.append("outcome", one);
    try {
      const { requests } = await call("GET", `/api/recent?${wanted}`);
      this.setState({ latest: requests.reverse().slice(0, LATEST), failure: null });
    } catch (failure) {
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) this.props.signedOut();
      else this.setState({ failure: failure.message || text("out_of_reach") });
    }
  }

  render({ route, refusals, policies }, { latest, failure }) {
    return (
      <section aria-label={route}>
        <h3><bdi>{route}</bdi></h3>
        <ul>
          {refusals.map((one) => (
            <li key={one.problem} class={one.goesOn && !one.ordinary ? "refusing" : ""}>
              {number(one.count)} <b lang="en">{one.problem}</b> ({one.status}){" "}
              {text("since_start")}, {text("the_last")} <Time at={one.last_at} ago />{": "}
              {text(`refused_${one.problem}`)}
              {one.problem === "key-missing" && <Remedy policies={policies} />}
            </li>
          ))}
        </ul>
        <button type="button" onClick={() => this.look()}>{text("latest_refused")}</button>
        {failure && <p class="failure" role="alert">{failure}</p>}
        {latest && <Latest route={route} requests={latest} />}
      </section>
    );
  }
}

function Latest({ route, requests }) {
  if (!requests.length) return <p role="status">{text("refused_long_ago")}</p>;
  return (
    <Scroll label={`${text("latest_refused")}: ${route}`}>
      <table>
        <thead>
          <tr>
            {["when", "problem", "key", "path", "client"].map((name) => (
              <th key={name} scope="col">{text(name)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {requests.map((one) => (
            <tr key={one.number}>
              <td><Time at={one.at} ago /></td>
              <td lang="en">{one.status} {one.problem}</td>
              <td>{one.record && one.key
                ? <a class="key" href={`#/record/${one.record}`}><bdi>{shown(one.key)}</bdi></a>
                : one.key && <bdi class="key">{shown(one.key)}</bdi>}</td>
              <td><bdi>{one.method} {one.path}</bdi></td>
              <td><bdi>{one.client}</bdi></td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
