// How keys and words are written where their characters could mean something else.

// Control characters, those that turn a text's direction, and those that show nothing.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{115f}\u{1160}\u{3164}\u{ffa0}]/gu;

/** A key, so that two that differ look different: what is not seen stands there by its number. */
export function shown(key) {
  return key.replace(UNSEEN, (one) => (one < " "
    ? String.fromCodePoint(0x2400 + one.codePointAt(0))
    : `‹U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`));
}

/** For a POSIX shell. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
