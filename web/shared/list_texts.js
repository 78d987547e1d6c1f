// The texts of a choice by a list: in English, in German.

export const LIST_TEXTS = {
  choose_listed: ["Choose by a list", "Nach einer Liste wählen"],
  keys_listed: ["Keys, one a line (or key, tab, the beginning of its scope)",
    "Schlüssel, einer je Zeile (oder Schlüssel, Tabulator, Anfang seines Bereichs)"],
  scope_listed: ["Scope of all of them, or where it begins (if it is known)",
    "Bereich von allen, oder wie er beginnt (wenn er bekannt ist)"],
  lines_one: ["{} line:", "{} Zeile:"],
  lines_all: ["{} lines:", "{} Zeilen:"],
  lines_here: ["{} found", "{} gefunden"],
  lines_away: ["{} not found", "{} nicht gefunden"],
  lines_repeated: ["Listed more than once: {}.", "Mehr als einmal in der Liste: {}."],
  chosen_of_list: ["{} chosen.", "{} gewählt."],
  not_here: ["Not found: {}.", "Nicht gefunden: {}."],
  meant: ["did you mean", "meinten Sie"],
  meant_yes: ["Yes, {}", "Ja, {}"],
  not_completed: ["Found, not completed, and nobody is needed now: {}.",
    "Gefunden, nicht abgeschlossen und jetzt nicht zu klären: {}."],
  lines_close: ["Found, and close to another key: {}.",
    "Gefunden, und nahe an einem anderen Schlüssel: {}."],
  settled_already: ["These need nobody any more: {}.", "Diese sind nicht mehr zu klären: {}."],
  choose_rest: ["Choose those that were not in the list ({})",
    "Die wählen, die nicht in der Liste standen ({})"],
  left_out_meant: ["Left out of those that were not in the list, as lines that were not found may "
    + "mean them ({}):",
  "Von denen, die nicht in der Liste standen, ausgenommen, weil nicht gefundene Zeilen sie meinen "
    + "können ({}):"],
  left_out_others: ["Left out of those that were not in the list, as they are of another route or "
    + "scope than its keys, have a key that no line can name, or are too many to be compared ({}):",
  "Von denen, die nicht in der Liste standen, ausgenommen, weil Route oder Bereich andere als die "
    + "ihrer Schlüssel sind, keine Zeile ihren Schlüssel nennen kann oder es zu viele zum "
    + "Vergleichen sind ({}):"],
  looked: ["Doubtful lines (not found, not completed, or close to another key): {}. I know what "
    + "they are, and none of them means one of the other {}.",
  "Zweifelhafte Zeilen (nicht gefunden, nicht abgeschlossen oder nahe an einem anderen "
    + "Schlüssel): {}. Ich weiß, was sie sind, und keine meint eine der anderen {}."],
  unmatched: ["Doubtful lines of the list (not found, not completed, or close to another key): {}.",
    "Zweifelhafte Zeilen der Liste (nicht gefunden, nicht abgeschlossen oder nahe an einem anderen "
    + "Schlüssel): {}."],
  unmatched_complete: ["What they mean is not completed with these.",
    "Was sie meinen, wird hiermit nicht abgeschlossen."],
  unmatched_release: ["If one of them means one of these, it happens twice.",
    "Wenn eine von ihnen eine von diesen meint, wirkt sie zweimal."],
  unmatched_delete: ["If one of them means one of these, it happens twice.",
    "Wenn eine von ihnen eine von diesen meint, wirkt sie zweimal."],
  unmatched_among: ["They may mean these, which you chose:",
    "Sie können diese meinen, die Sie wählten:"],
};
