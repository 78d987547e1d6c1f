// The page: who looks, which view, and what stands around every view.
import { Component, h, render } from "preact";

import { call, Refused } from "./shared/api.js";
import { inUtc, number, setUtc } from "./shared/forms.js";
import { isRefusal } from "./shared/lost.js";
import { language, setLanguage, text } from "./shared/texts.js";
import { Attention } from "./attention/attention.jsx";
import { Audit } from "./audit/audit.jsx";
import { Messages } from "./workers/messages.jsx";
import { Overview } from "./overview/overview.jsx";
import { forgetReasons } from "./record/reason.js";
import { RecordView } from "./record/record.jsx";
import { Routes } from "./routes/routes.jsx";
import { Search } from "./search/search.jsx";
import { SignIn } from "./sign_in/sign_in.jsx";
import { Store } from "./store/store.jsx";
import { Workers } from "./workers/workers.jsx";
import "./page.css";

const VIEWS = [
  { name: "overview", view: Overview },
  { name: "attention", view: Attention },
  { name: "search", view: Search },
  { name: "routes", view: Routes },
  { name: "stores", view: Store },
  { name: "audit", view: Audit },
];

// Of `onceguard consume`, which has records, too.
const CONSUMER_VIEWS = [
  { name: "workers", view: Workers },
  { name: "attention", view: Messages },
  { name: "search", view: Search },
  { name: "audit", view: Audit },
];

// Of a process that moves messages, and has no gateway.
const WORKER_VIEWS = [
  { name: "workers", view: Workers },
  { name: "audit", view: Audit },
];

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // the view says that there is no such thing
  }
}

/** What stands behind the "#/" of the address: a view's name, its argument, and what is asked. */
function place() {
  const whole = location.hash.replace(/^#\/?/, "");
  const [path, asked = ""] = whole.split(/\?(.*)/s, 2);
  const [name, argument] = path.split("/", 2);
  return { name, argument: argument && decoded(argument), asked };
}

class Page extends Component {
  constructor() {
    super();
    this.state = { ...place(), heading: null, visit: 0, open: 0, me: undefined, failure: null,
      trouble: null };
    this.go = () => this.setState(
      { ...place(), heading: null, visit: this.state.visit + 1, trouble: null },
      () => this.begin());
    this.unknown = (open) => { if (open !== this.state.open) this.setState({ open }); };
    this.headed = (heading) => {
      if (heading !== this.state.heading) this.setState({ heading });
    };
    this.signedOut = () => {
      forgetReasons();
      this.setState({ me: null, trouble: null });
    };
  }

  /** A view that was gone to begins at its heading, or in the field that it begins with. By a
   * finger, a keyboard would cover half of what it shows. */
  begin() {
    const field = matchMedia("(pointer: fine)").matches
      && this.main?.querySelector("input[data-begin]");
    (field || this.heading)?.focus();
  }

  componentDidMount() {
    addEventListener("hashchange", this.go);
    this.lookWhoIAm();
  }

  async lookWhoIAm() {
    try {
      this.setState({ me: await call("GET", "/api/sign-in"), failure: null });
    } catch (failure) {
      if (failure instanceof Refused && failure.status === 401) this.signedOut();
      else {
        this.setState({ me: null,
          failure: failure.status === 0 ? text("out_of_reach") : failure.message });
      }
    }
  }

  async lookIfSignedOut() {
    try {
      await call("GET", "/api/sign-in");
      this.setState({ trouble: text("still_signed_in", "") });
    } catch (failure) {
      if (failure.status === 401) this.signedOut();
    }
  }

  async signOut() {
    try {
      await call("DELETE", "/api/sign-in", {});
      this.signedOut();
    } catch (failure) {
      if (failure.status === 401) this.signedOut();
      else if (isRefusal(failure)) {
        this.setState({ trouble: text("still_signed_in", failure.message) });
      } else {
        this.setState({ trouble: text("sign_out_unknown") });
        await this.lookIfSignedOut();
      }
    }
  }

  changeLanguage(chosen) {
    setLanguage(chosen);
    this.setState({});
  }

  changeZone(utc) {
    setUtc(utc);
    this.setState({});
  }

  render(_, { me, name: wanted, argument, asked, heading, visit, failure, trouble, open }) {
    const views = { workers: WORKER_VIEWS, consumers: CONSUMER_VIEWS }[me?.serves] ?? VIEWS;
    const name = wanted || views[0].name;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    document.title = `${text(name)} · Onceguard`;
    if (me === undefined) {
      return <main><h1>Onceguard</h1><p class="waiting">{text("loading")}</p></main>;
    }
    if (me === null) {
      return <SignIn failure={failure} done={() => this.lookWhoIAm()}
                     speak={(chosen) => this.changeLanguage(chosen)} />;
    }
    const found = views.find((one) => one.name === name);
    const View = name === "record" && views !== WORKER_VIEWS ? RecordView : found?.view;
    return (
      <div class="page">
        <a class="skip" href="#content" onClick={(event) => this.skip(event)}>
          {text("skip")}
        </a>
        <header>
          <a class="brand" href="#/">Onceguard</a>
          <nav aria-label={text("views")}>
            {views.map((one) => (
              <a key={one.name} href={`#/${one.name}`}
                 aria-current={one.name === name ? "page" : undefined}>
                {text(one.name)}
                {one.name === "attention" && open > 0 && (
                  <span class="count"> {number(open)}</span>
                )}
              </a>
            ))}
          </nav>
          <div class="who">
            <select aria-label={text("language")} value={language()}
                    onChange={(event) => this.changeLanguage(event.target.value)}>
              <option value="en">English</option>
              <option value="de">Deutsch</option>
            </select>
            <span>{me.name} ({text(me.role)})</span>
            {me.signed_in && (
              <button type="button" onClick={() => this.signOut()}>{text("sign_out")}</button>
            )}
          </div>
        </header>
        <main id="content" tabIndex={-1} ref={(main) => { this.main = main; }}>
          <h1 tabIndex={-1} ref={(found) => { this.heading = found; }}>
            {heading ? <bdi class="key">{heading}</bdi> : text(name)}
          </h1>
          {trouble && <p class="failure" role="alert">{trouble}</p>}
          {View
            ? <View key={`${visit}/${language()}`} argument={argument}
                    asked={asked}
                    me={me} acts={me.role === "operator"} conspicuous={views === VIEWS}
                    signedOut={this.signedOut} unknown={this.unknown} headed={this.headed} />
            : <p>{text("no_such_view")}</p>}
        </main>
        <footer class="note">
          {zone === "UTC" ? text("zone_utc") : text("zone", zone)}{" "}
          {zone !== "UTC" && (
            <label>
              <input type="checkbox" checked={inUtc()}
                     onChange={(event) => this.changeZone(event.target.checked)} />{" "}
              {text("in_utc")}
            </label>
          )}
        </footer>
      </div>
    );
  }

  skip(event) {
    event.preventDefault();
    this.main.focus();
  }
}

document.body.replaceChildren(); // what stood there before the script was read
render(<Page />, document.body);
