// What became of a key, in a word: whether it ran, and what each request got.
import { h } from "preact";

import { number } from "../shared/forms.js";
import { Time } from "../shared/parts.jsx";
import { text } from "../shared/texts.js";
import { Counts } from "./timeline.jsx";
import { requestWords, sentencesOf } from "./verdict_words.js";

const [FIRST, LAST] = [5, 3]; // of many requests, those that are shown

/** What a request got, with the status of its answer. */
function wordsOf(request) {
  const [name, ...values] = requestWords(request);
  const got = request.outcome !== "ran" && request.status ? ` (${request.status})` : "";
  return text(name, ...values) + got;
}

export function Verdict({ record }) {
  const { requests, counts, since } = record;
  const many = requests.length > FIRST + LAST;
  const numbered = requests.map((one, i) => ({ ...one, place: i + 1 }));
  const shown = many ? [...numbered.slice(0, FIRST), ...numbered.slice(-LAST)] : numbered;
  return (
    <section aria-label={text("key_requests")}>
      <p class="verdict">
        {sentencesOf(record).map(([name, ...values]) => text(name, ...values)).join(" ")}
      </p>
      {counts && <Counts counts={counts} since={since} />}
      {requests.length > 0 && (
        <ol class="requests">
          {shown.map((one) => (
            <li key={one.place} value={one.place} class={one.outcome === "ran" ? "ran" : ""}>
              {wordsOf(one)} <small><Time at={new Date(one.begin).toISOString()} exact /></small>
            </li>
          ))}
        </ol>
      )}
      {many && <p class="note">{text("more", number(requests.length - FIRST - LAST))}</p>}
    </section>
  );
}
