// The core beside other implementations of RFC 8785 and RFC 8941, on seeded random input.
// CORE_ORACLE is the path of the program core_oracle; ORACLE_SEED chooses other input.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

import canonicalize from 'canonicalize';
import { canonicalize as jsonCanonicalize } from 'json-canonicalize';
import { DisplayString, parseItem } from 'structured-headers';

const program = process.env.CORE_ORACLE;
assert.ok(program, 'CORE_ORACLE must be the path of the program core_oracle');
const seed = Number(process.env.ORACLE_SEED ?? 1);

/** mulberry32: small, seeded, and the same everywhere. */
function source(state) {
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  const pick = (list) => list[below(list.length)];
  const times = (n, make) => Array.from({ length: n }, make);
  return { below, pick, times };
}

/** Asks the program; each answer is { text } or { error }. */
function ask(verb, inputs) {
  const lines = inputs.map((input) => verb + Buffer.from(input).toString('hex') + '\n');
  const run = spawnSync(program, { input: lines.join(''), maxBuffer: 1 << 30 });
  assert.equal(run.status, 0, String(run.error ?? run.stderr));
  const answers = run.stdout.toString().split('\n').slice(0, -1);
  assert.equal(answers.length, inputs.length);
  return answers.map((line) =>
    line.startsWith('!') ? { error: line.slice(1) } : { text: Buffer.from(line, 'hex').toString() },
  );
}

const show = (input) => `seed ${seed}: ${JSON.stringify(String(input))}`;

// ---- JSON ----

const pieces = [
  ...'abAz0 "\\/\b\t\n\f\r\0\x1f\x7f\u0080ä€\u2028\ud7ff\ue000\ufb33\uffff',
  ...'\u{10000}😀\u{10ffff}',
];

const bits = new DataView(new ArrayBuffer(8));
function doubleBytes(random) {
  bits.setUint32(0, random.below(2 ** 32));
  bits.setUint32(4, random.below(2 ** 32));
  return Buffer.from(bits.buffer.slice(0));
}

/** A number whose canonical form is one that is taken again: no integer beyond 2^53. */
function number(random) {
  const kinds = [
    () => random.below(1000) - 500,
    () => (random.below(2 ** 32) - 2 ** 31) * 2 ** random.below(22),
    () => random.below(1e9) / 10 ** random.below(12),
    () => doubleBytes(random).readDoubleBE(),
  ];
  const value = random.pick(kinds)();
  const large = Math.abs(value) > 2 ** 53 && Math.abs(value) < 1e21;
  return Number.isFinite(value) && !large ? value : 0.5;
}

const string = (random) => random.times(random.below(6), () => random.pick(pieces)).join('');

function value(random, depth) {
  const kind = random.below(depth > 0 ? 7 : 4);
  if (kind === 0) return random.pick([null, true, false]);
  if (kind <= 2) return number(random);
  if (kind === 3) return string(random);
  const items = random.times(random.below(6), () => value(random, depth - 1));
  if (kind === 4) return items;
  return Object.fromEntries(items.map((item) => [string(random), item]));
}

/** One of the many texts of a value. */
function written(random, from) {
  const space = () => random.pick(['', '', '', ' ', '\t', '\r\n']);
  const list = (open, items, close) =>
    open + (items.map((item) => space() + item + space()).join(',') || space()) + close;
  if (typeof from === 'number') return writtenNumber(random, from);
  if (typeof from === 'string') return writtenString(random, from);
  if (Array.isArray(from)) return list('[', from.map((item) => written(random, item)), ']');
  if (from === null || typeof from !== 'object') return String(from);
  const members = Object.entries(from).map(
    ([name, item]) => writtenString(random, name) + space() + ':' + space() + written(random, item),
  );
  for (let i = members.length - 1; i > 0; --i) {
    const j = random.below(i + 1);
    [members[i], members[j]] = [members[j], members[i]];
  }
  return list('{', members, '}');
}

function writtenNumber(random, from) {
  const plain = String(from);
  const styles = [plain, from.toExponential(), from.toExponential().replace('e+', 'E')];
  if (/^-?\d+$/.test(plain)) styles.push(plain + '.0', plain + 'e0', plain + '.000E-0');
  return random.pick(styles);
}

function writtenString(random, from) {
  const escaped = (unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0');
  const text = [...from].map((c) =>
    random.below(4) === 0 ? c.split('').map(escaped).join('') : JSON.stringify(c).slice(1, -1),
  );
  return `"${text.join('')}"`;
}

test('canonical JSON agrees with canonicalize and json-canonicalize', () => {
  const random = source(seed);
  const texts = random.times(20_000, () => written(random, value(random, 5)));
  ask('j', texts).forEach((answer, i) => {
    const parsed = JSON.parse(texts[i]);
    const expected = canonicalize(parsed);
    assert.equal(jsonCanonicalize(parsed), expected, show(texts[i]));
    assert.deepEqual(answer, { text: expected }, show(texts[i]));
  });
});

test('damaged texts are taken only where they are JSON, and refused for a reason', () => {
  const random = source(seed + 1);
  const allowed = /significant digits|range of a double|beyond 2\^53|occurs twice|lone surrogate/;
  const damage = (text) => {
    const at = random.below(text.length + 1);
    const insert = random.pick([...'{}[]",:\\-+.eE0159 u', '\\ud83d', 'null', '\x01', '']);
    return text.slice(0, at) + insert + text.slice(at + random.below(2));
  };
  // Damage between the halves of a surrogate pair can't be written in UTF-8 in the first place.
  const texts = random
    .times(20_000, () => damage(written(random, value(random, 3))))
    .filter((text) => text.isWellFormed());
  let taken = 0;
  ask('j', texts).forEach((answer, i) => {
    let parsed;
    try {
      parsed = JSON.parse(texts[i]);
    } catch {
      assert.ok(answer.error, show(texts[i]));
      return;
    }
    if (answer.error) {
      assert.match(answer.error, allowed, show(texts[i]));
    } else {
      ++taken;
      assert.equal(answer.text, canonicalize(parsed), show(texts[i]));
    }
  });
  assert.ok(taken > 1000 && taken < texts.length - 1000, `${taken} of ${texts.length} taken`);
});

test('doubles are written as JSON.stringify writes them', () => {
  const random = source(seed + 2);
  const tens = (power) => {
    const made = Buffer.alloc(8);
    made.writeDoubleBE(Number(`${random.below(2 ** 31)}e${power}`));
    return made;
  };
  const doubles = [
    ...random.times(50_000, () => doubleBytes(random)),
    ...random.times(50_000, () => tens(random.below(60) - 30)),
  ].filter((bytes) => Number.isFinite(bytes.readDoubleBE()));
  ask('n', doubles).forEach((answer, i) => {
    const expected = JSON.stringify(doubles[i].readDoubleBE());
    assert.deepEqual(answer, { text: expected }, show(doubles[i].toString('hex')));
  });
});

test('integers beyond 2^53 are refused in every notation, and no others', () => {
  const random = source(seed + 3);
  const integers = random.times(5_000, () => {
    const near = 2n ** 53n + BigInt(random.below(40) - 20);
    const far = BigInt(random.below(2 ** 32)) * BigInt(random.below(2 ** 32));
    return (random.below(2) ? 1n : -1n) * random.pick([near, far]);
  });
  const texts = integers.map((n) => String(n) + random.pick(['', '.0', 'e0']));
  ask('j', texts).forEach((answer, i) => {
    const magnitude = integers[i] < 0n ? -integers[i] : integers[i];
    if (magnitude <= 2n ** 53n) {
      assert.deepEqual(answer, { text: String(integers[i]) }, show(texts[i]));
    } else {
      assert.match(answer.error ?? '', /beyond 2\^53|significant digits/, show(texts[i]));
    }
  });
});

// ---- keys ----

const item = {
  string: (random) => `"${random.times(random.below(9), () => random.pick(characters)).join('')}"`,
  others: [
    ...['1', '-1', '0.5', '-12.125', '123456789012345', '123456789012.123', '?0', '?1'],
    ...['1234567890123456', '1234567890123.1', '1.', '1.2345', '-', '?2', '', '(1 2)', ' 1'],
    ...['token', '*to/k:en', ':YWJj:', ':YQ==:', ':YQ:', '::'],
    ...[':YQ=:', ':Y:', ':Y-J:', ':', '@1659578233', '%"x"'],
  ],
};
const characters = [...'abcXYZ019 ,;=:_-.*/', '\\"', '\\\\', '~', '!'];
const oddities = [...'abc01"\\;=,:*? -@%\t', '\x00', '\x7f', 'é', '""'];

function fieldValue(random) {
  const names = ['a', 'b', '*', 'a1_-.*', 'A', '1', '', 'version'];
  const any = () => (random.below(4) ? random.pick(item.others) : item.string(random));
  const value = () => (random.below(3) ? '=' + any() : '');
  const parameter = () => random.pick([';', '; ', ';  ', ' ;']) + random.pick(names) + value();
  const pad = () => ' '.repeat(random.below(3));
  const main = random.below(8) ? item.string(random) : random.pick(item.others);
  let text = pad() + main + random.times(random.below(3), parameter).join('') + pad();
  if (random.below(3) === 0) {
    const at = random.below(text.length + 1);
    text = text.slice(0, at) + random.pick(oddities) + text.slice(at + random.below(2));
  }
  return text;
}

/** What structured-headers says, as far as an RFC 8941 String of 1 to 255 bytes goes. */
function referenceKey(text) {
  try {
    const [key, parameters] = parseItem(text);
    const isRecent = (v) => v instanceof Date || v instanceof DisplayString;
    const recent = [...parameters.values()].some(isRecent);
    return typeof key === 'string' && key.length >= 1 && key.length <= 255 ? { key, recent } : {};
  } catch {
    return {};
  }
}

test('quoted keys agree with structured-headers', () => {
  const random = source(seed + 4);
  // Tabs at the ends are white space of the header line here; the reference wants them gone.
  const texts = random.times(50_000, () => fieldValue(random));
  let taken = 0;
  ask('s', texts).forEach((answer, i) => {
    const { key, recent } = referenceKey(texts[i].replace(/^[ \t]+|[ \t]+$/g, ''));
    // Dates and Display Strings came with RFC 9651; a later parameter may hide an earlier one.
    if (recent || (key !== undefined && answer.error && /=[@%]/.test(texts[i]))) {
      assert.match(answer.error ?? '', /value is malformed/, show(texts[i]));
      return;
    }
    if (key === undefined) {
      assert.ok(answer.error, show(texts[i]));
    } else {
      ++taken;
      assert.deepEqual(answer, { text: key }, show(texts[i]));
    }
  });
  assert.ok(taken > 5_000 && taken < texts.length - 5_000, `${taken} of ${texts.length} taken`);
});

test('lenient is strict and the bare values beside it', () => {
  const random = source(seed + 5);
  const bare = [...'abcXYZ019-._~:/+=@!$&\'()*%#^|'];
  const other = [...' ,;"\\<>?[]{}`\t\x00\x7fé'];
  const texts = random.times(20_000, () => {
    if (random.below(2)) return fieldValue(random);
    const length = 1 + random.below(random.below(20) ? 12 : 300);
    const text = random.times(length, () => random.pick(bare)).join('');
    return random.below(3) ? text : text + random.pick(other) + text;
  });
  const strict = ask('s', texts);
  ask('k', texts).forEach((answer, i) => {
    const trimmed = texts[i].replace(/^[ \t]+|[ \t]+$/g, '');
    const isBare = /^[A-Za-z0-9\-._~:\/+=@!$&'()*%#^|]{1,255}$/.test(trimmed);
    if (isBare) {
      assert.deepEqual(answer, { text: trimmed }, show(texts[i]));
    } else if (trimmed.startsWith('"')) {
      assert.deepEqual(answer, strict[i], show(texts[i]));
    } else {
      assert.ok(answer.error && strict[i].error, show(texts[i]));
    }
  });
});
