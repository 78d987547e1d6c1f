// The same as commands, to be pasted into a shell.
import { Component, h } from "preact";

import { text } from "../shared/texts.js";
import { commandsOf } from "./commands.js";

/** An option stays whole where a line ends. */
class Command extends Component {
  state = { copied: false };

  /** What can't be copied stays chosen, for the reader to do it. */
  copy() {
    getSelection().selectAllChildren(this.line);
    // navigator.clipboard is only there with TLS, or on this machine.
    this.setState({ copied: document.execCommand("copy") });
  }

  render({ line }, { copied }) {
    return (
      <div class="command">
        <pre tabIndex={0} ref={(element) => { this.line = element; }}>
          {line.split(/(--[\w-]+)/).map((part, i) => (i % 2
            ? <span key={i} class="option">{part}</span> : part))}
        </pre>
        <button type="button" onClick={() => this.copy()}>{text("copy")}</button>
        <span role="status">{copied && text("copied")}</span>
      </div>
    );
  }
}

export function Commands({ record, acts, signedIn }) {
  const commands = commandsOf(record, location, signedIn);
  return (
    <section>
      <h2>{text("commands")}</h2>
      {signedIn && <p class="note">{text("commands_token")}</p>}
      {commands.show.map((one) => <Command key={one} line={one} />)}
      {acts && commands.acts.length > 0 && <p class="note">{text("commands_acts")}</p>}
      {acts && commands.acts.map((one) => <Command key={one} line={one} />)}
    </section>
  );
}
