// Which keys a line may mean that is nobody's key as it is written: a list was typed, or went
// through a table of numbers, or has more on its lines than the key.

const LEAST = 4; // letters and digits of a part that says something

/** Without what copying changes: case, quotes, spaces, hyphens, the zeros before a number. */
function plain(text) {
  return text.normalize("NFKC").toLowerCase().replace(/(^|\D)0+(?=\d)/gu, "$1")
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** A line or a key, as mayMean() compares it: a list may have thousands, and a store, too. */
export function comparable(text) {
  return { whole: text.trim(), letters: plain(text) };
}

/** Whether one letter was left out, added or replaced, or two stand in the other order. */
function isOneEdit(one, other) {
  if (Math.abs(one.length - other.length) > 1) return false;
  let begin = 0;
  while (begin < one.length && one[begin] === other[begin]) begin += 1;
  let [end, otherEnd] = [one.length, other.length];
  while (end > begin && otherEnd > begin && one[end - 1] === other[otherEnd - 1]) {
    end -= 1;
    otherEnd -= 1;
  }
  const [left, right] = [one.slice(begin, end), other.slice(begin, otherEnd)];
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}

function contains(whole, part) {
  return part.length >= LEAST && whole.includes(part);
}

/**
 * Whether a line of a list may mean a key. Rather too often than not.
 * @param {{whole: string, letters: string}} line as comparable() gives it
 * @param {{whole: string, letters: string}} key so, too
 */
export function mayMean(line, key) {
  const [one, other] = [line.letters, key.letters];
  if (!one || !other) return isOneEdit(line.whole, key.whole);
  return one === other || contains(one, other) || contains(other, one) || isOneEdit(one, other);
}
