// A request as people paste it: a command of curl, or the text of HTTP.

/** The text is no request; the message is the name of a text that says why. */
export class NoRequest extends Error {}

// Of curl: options that have an argument which says nothing of the request.
const SKIPPED = new Set(["-o", "--output", "-m", "--max-time", "--connect-timeout", "-w",
  "--write-out", "--retry", "--retry-delay", "--retry-max-time", "--cacert", "--cert", "-E",
  "--key", "--resolve", "-x", "--proxy", "-D", "--dump-header", "-c", "--cookie-jar",
  "--unix-socket", "--interface", "--ciphers", "-T", "--upload-file", "--http3", "--max-redirs"]);
const DATA = new Set(["-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"]);

/** The words of a command, as a POSIX shell takes them apart. */
function wordsOf(command) {
  const words = [];
  const piece = /\s*((?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|['"])+)/gy;
  const text = command.replace(/\\\r?\n/g, " ").trimEnd();
  for (let end = 0; end < text.length; end = piece.lastIndex) {
    piece.lastIndex = end;
    const found = piece.exec(text);
    if (!found) break;
    const parts = found[1].match(/\$?'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^'"\\]|['"]/g);
    words.push(parts.map(unquoted).join(""));
  }
  return words;
}

function unquoted(part) {
  if (part === "'" || part === '"') throw new NoRequest("request_quote_open");
  if (part.startsWith("$'")) {
    return part.slice(2, -1).replace(/\\n/g, "\n").replace(/\\t/g, "\t");
  }
  if (part.startsWith("'")) return part.slice(1, -1);
  if (part.startsWith('"')) return part.slice(1, -1).replace(/\\(["\\$`])/g, "$1");
  return part.startsWith("\\") ? part.slice(1) : part;
}

/** "-XPOST" and "--request=POST" as two words. */
function split(word) {
  const long = /^(--[a-z-]+)=([\s\S]*)$/.exec(word);
  if (long) return [long[1], long[2]];
  const short = /^(-[XHduAbeom])([\s\S]+)$/.exec(word);
  return short ? [short[1], short[2]] : [word];
}

function basic(user) {
  const bytes = new TextEncoder().encode(user.includes(":") ? user : `${user}:`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

function header(line) {
  const colon = line.indexOf(":");
  if (colon <= 0) throw new NoRequest("request_header");
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

function readCurl(text) {
  const out = { method: "", url: "", headers: [] };
  const data = [];
  let json = false;
  const words = wordsOf(text).slice(1).flatMap(split);
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i];
    const value = () => {
      i += 1;
      if (i >= words.length) throw new NoRequest("request_argument");
      return words[i];
    };
    if (word === "-X" || word === "--request") out.method = value();
    else if (word === "-H" || word === "--header") out.headers.push(header(value()));
    else if (word === "-u" || word === "--user") {
      out.headers.push(["Authorization", basic(value())]);
    } else if (word === "-A" || word === "--user-agent") out.headers.push(["User-Agent", value()]);
    else if (word === "-b" || word === "--cookie") out.headers.push(["Cookie", value()]);
    else if (word === "-e" || word === "--referer") out.headers.push(["Referer", value()]);
    else if (word === "--url") out.url = value();
    else if (word === "-I" || word === "--head") out.method = "HEAD";
    else if (DATA.has(word)) {
      json ||= word === "--json";
      const piece = value();
      if (piece.startsWith("@") && word !== "--data-raw") throw new NoRequest("request_file");
      data.push(piece);
    } else if (SKIPPED.has(word)) value();
    else if (!word.startsWith("-")) out.url = word;
  }
  if (data.length) {
    out.body = data.join(json ? "" : "&");
    const type = json ? "application/json" : "application/x-www-form-urlencoded";
    if (!out.headers.some(([name]) => name.toLowerCase() === "content-type")) {
      out.headers.push(["Content-Type", type]);
    }
  }
  out.method ||= data.length ? "POST" : "GET";
  if (!out.url) throw new NoRequest("request_url");
  if (!/^(https?:\/)?\//.test(out.url)) out.url = `http://${out.url}`;
  return out;
}

function readHttp(text) {
  const [head, ...rest] = text.split(/\r?\n\r?\n/);
  const [first, ...lines] = head.split(/\r?\n/);
  const found = /^([A-Za-z]+) (\S+)(?: HTTP\/[0-9.]+)?$/.exec(first.trim());
  if (!found) throw new NoRequest("request_line");
  const out = { method: found[1], url: found[2], headers: lines.map(header) };
  if (rest.length) out.body = rest.join("\n\n").replace(/\n$/, "");
  return out;
}

/**
 * @param {string} text
 * @returns {{method: string, url: string, headers: string[][], body?: string}}
 */
export function readRequest(text) {
  const trimmed = text.replace(/^\s*(\$ )?/, "");
  if (!trimmed) throw new NoRequest("request_line");
  return /^curl\s/.test(trimmed) ? readCurl(trimmed) : readHttp(trimmed);
}
