// A view that reads from the API when it appears, and again and again while it is looked at.
import { Component, h } from "preact";

import { Refused } from "./api.js";
import { text } from "./texts.js";

const RETRY = 2000; // ms after a read that got no answer, or that something is away or busy

/** The dialog of an act says what it did; that the sign-in is over is said when it is closed. */
function isActing() {
  return document.querySelector("dialog[open]") !== null;
}

/** A page that nobody sees asks for nothing. */
function whenSeen(signal, work) {
  if (!document.hidden) return work();
  return document.addEventListener("visibilitychange", () => whenSeen(signal, work),
    { once: true, signal });
}

export class Reading extends Component {
  /** Milliseconds between two reads; 0: one read, and another only where that failed. */
  interval = 0;

  constructor(props) {
    super(props);
    this.state = { value: null, failure: null };
    this.reads = 0;
    this.calls = new AbortController();
    this.refresh = () => this.read();
  }

  /** What the view shows; subclasses say how it is read. */
  async load() {
    throw new Error("load() is the view's");
  }

  componentDidMount() {
    this.read();
  }

  componentWillUnmount() {
    this.calls.abort();
    clearTimeout(this.timer);
  }

  async read() {
    clearTimeout(this.timer);
    this.reads += 1;
    const turn = this.reads;
    let failed = false;
    try {
      const value = await this.load();
      if (turn !== this.reads) return; // a later read has overtaken it
      if (!this.calls.signal.aborted) this.setState({ value, failure: null });
    } catch (failure) {
      if (turn !== this.reads || failure.name === "AbortError" || this.calls.signal.aborted) return;
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401 && this.signedOut()) return;
      failed = [0, 401, 503].includes(failure.status);
      if (failure.status !== 401) this.setState({ failure });
    }
    const pause = this.interval || (failed ? RETRY : 0);
    if (pause && !this.calls.signal.aborted) {
      this.timer = setTimeout(() => whenSeen(this.calls.signal, this.refresh), pause);
    }
  }

  /** False: not now. The next read says it once the dialog is closed. */
  signedOut() {
    if (isActing()) return false;
    this.props.signedOut();
    return true;
  }

  /** What failed, or that nothing was read yet. */
  notice() {
    const { value, failure } = this.state;
    if (failure) {
      return (
        <p class="failure" role="alert">
          {failure.status === 0 ? text("out_of_reach") : failure.message}
        </p>
      );
    }
    return value === null ? <p class="waiting">{text("loading")}</p> : null;
  }
}
