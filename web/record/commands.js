// What stands in the page, as commands for a POSIX shell.
import { quoted } from "../shared/writing.js";
import { applies } from "./applying.js";

const HEADER = `sed -n '1s/^/Authorization: Bearer /p' "$TOKEN_FILE" | curl -H @- `;

/**
 * @param {object} record as the admin API shows it
 * @param {{origin: string, host: string}} place of the admin listener
 * @param {boolean} withToken whether it asks for one, the first line of the file $TOKEN_FILE
 * @returns {{show: string[], acts: string[]}} a record is named by its id, which is hex in any
 *   case, with the acts that can change it; a key stands in a URL, where each of its bytes can be
 *   written
 */
export function commandsOf(record, { origin, host }, withToken) {
  const curl = withToken ? HEADER : "curl ";
  const there = `--admin ${quoted(host)}${withToken ? ' --token-file "$TOKEN_FILE"' : ""}`;
  const id = quoted(record.record);
  const show = [`onceguard keys show ${id} ${there}`,
    `${curl}${quoted(`${origin}/api/records/${record.record}?body=no`)}`];
  // U+FFFD stands for bytes that are no text: which they were is not known here.
  if (record.key && !record.key.includes("\ufffd")) {
    const key = encodeURIComponent(record.key).replaceAll("'", "%27");
    show.push(`${curl}${quoted(`${origin}/api/records?key=${key}`)}`);
  }
  const acts = ["release", "complete"].filter((kind) => applies(kind, record)).map((kind) =>
    `onceguard keys ${kind} ${id} --reason "$REASON" ${there}`);
  return { show, acts };
}
