// Ends the process in order: what runs is finished, and nothing new is taken.
import { Component, h } from "preact";

import { call, Refused } from "./api.js";
import { actFailure } from "./lost.js";
import { text } from "./texts.js";

export class Drain extends Component {
  state = { asked: false, begun: false, failure: null };

  /** `process` names the process: another one does not drain. */
  componentDidUpdate(before) {
    const { process } = this.props;
    if (this.dialog && !this.dialog.open) this.dialog.showModal();
    if (this.state.begun && before.process !== process) {
      this.setState({ begun: false, failure: null });
    }
  }

  async send(event) {
    event.preventDefault();
    const reason = new FormData(event.target).get("reason");
    try {
      await call("POST", "/api/drain", { reason });
      this.setState({ asked: false, begun: true, failure: null });
    } catch (failure) {
      if (!(failure instanceof Refused)) throw failure;
      if (failure.status === 401) this.props.signedOut();
      else this.setState({ failure: actFailure(failure) });
      this.props.look?.();
    }
  }

  render(_, { asked, begun, failure }) {
    return (
      <section aria-label={text("drain")}>
        {begun && <p role="status">{text("draining_now")}</p>}
        {!begun && (
          <button type="button" onClick={() => this.setState({ asked: true, failure: null })}>
            {text("drain")} …
          </button>
        )}
        {asked && (
          <dialog aria-labelledby="drain-title" ref={(dialog) => { this.dialog = dialog; }}
                  onClose={() => this.setState({ asked: false })}>
            <form onSubmit={(event) => this.send(event)}>
              <h2 id="drain-title">{text("drain")}</h2>
              <p class="danger">{text("danger_drain")}</p>
              <label>
                {text("reason")}
                <input name="reason" required maxLength={1000} autocomplete="off" autofocus />
              </label>
              {failure && <p class="failure" role="alert">{failure}</p>}
              <p class="acts">
                <button type="submit">{text("drain")}</button>
                <button type="button" onClick={() => this.dialog.close()}>{text("close")}</button>
              </p>
            </form>
          </dialog>
        )}
        {!asked && failure && <p class="failure" role="alert">{failure}</p>}
      </section>
    );
  }
}
