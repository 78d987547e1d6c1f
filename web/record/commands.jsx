// The same as commands, to be pasted into a shell.
import { h } from "preact";

import { text } from "../shared/texts.js";
import { commandsOf } from "./commands.js";

export function Commands({ record, acts, signedIn }) {
  const commands = commandsOf(record, location, signedIn);
  return (
    <section>
      <h3>{text("commands")}</h3>
      {signedIn && <p class="note">{text("commands_token")}</p>}
      {commands.show.map((one) => <pre key={one} tabIndex={0}>{one}</pre>)}
      {acts && <p class="note">{text("commands_acts")}</p>}
      {acts && commands.acts.map((one) => <pre key={one} tabIndex={0}>{one}</pre>)}
    </section>
  );
}
