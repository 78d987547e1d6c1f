// The same as commands, to be pasted into a shell.
import { h } from "preact";

import { text } from "../shared/texts.js";
import { commandsOf } from "./commands.js";

/** An option stays whole where a line ends. */
function Command({ line }) {
  return (
    <pre tabIndex={0}>
      {line.split(/(--[\w-]+)/).map((part, i) => (i % 2 ? <span key={i} class="option">{part}</span>
        : part))}
    </pre>
  );
}

export function Commands({ record, acts, signedIn }) {
  const commands = commandsOf(record, location, signedIn);
  return (
    <section>
      <h3>{text("commands")}</h3>
      {signedIn && <p class="note">{text("commands_token")}</p>}
      {commands.show.map((one) => <Command key={one} line={one} />)}
      {acts && <p class="note">{text("commands_acts")}</p>}
      {acts && commands.acts.map((one) => <Command key={one} line={one} />)}
    </section>
  );
}
