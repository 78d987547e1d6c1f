// The policy of each route as it is in force, and where each value comes from.
import { Component, h } from "preact";

import { call, Refused } from "../shared/api.js";
import { Scroll } from "../shared/scroll.jsx";
import { text } from "../shared/texts.js";

/** `read` gets them, too. */
export class Policies extends Component {
  state = { routes: [], failure: null };

  async componentDidMount() {
    try {
      const read = await call("GET", "/api/routes");
      this.setState(read);
      this.props.read(read.routes);
    } catch (failure) {
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) this.props.signedOut();
      else this.setState({ failure: failure.message });
    }
  }

  render(_, { routes, failure }) {
    return (
      <section>
        <h2>{text("policies")}</h2>
        {failure && <p class="failure" role="alert">{failure}</p>}
        {routes.map((one) => <Policy key={one.route + one.methods} {...one} />)}
      </section>
    );
  }
}

function Policy({ route, methods, upstream, policy }) {
  const set = policy.filter((one) => one.table || one.position);
  const rest = policy.filter((one) => !one.table && !one.position);
  return (
    <details>
      <summary>
        <bdi>{[methods.join(", "), route].join(" ").trim()}</bdi> → <bdi>{upstream}</bdi>{" "}
        ({text("values_set", set.length)})
      </summary>
      <Scroll label={`${text("policies")} ${route}`}>
        <table>
          <thead>
            <tr>
              {["option", "value", "comes_from"].map((name) => (
                <th key={name} scope="col">{text(name)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {[...set, ...rest].map((one) => (
              <tr key={one.option}>
                <th scope="row"><code>{one.option}</code></th>
                <td><code>{one.value}</code></td>
                <td>
                  {[one.table, one.position].filter(Boolean).join(", ") || text("default_value")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
