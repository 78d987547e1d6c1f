// The texts of consumers and relays, of what needs attention besides records, and of a drain.

export const WORK_TEXTS = {
  workers: ["Workers", "Arbeiter"],
  worker_works: ["It works.", "Er arbeitet."],
  worker_paused: ["Paused: it takes no messages.", "Angehalten: er nimmt keine Nachrichten."],
  worker_fails: ["It does not work.", "Er arbeitet nicht."],
  "worker_store-away": ["The store is away.", "Der Speicher ist weg."],
  "worker_broker-away": ["The queue is away.", "Die Warteschlange ist weg."],
  "worker_outbox-away": ["The outbox is away.", "Die Outbox ist weg."],
  "worker_destination-away": ["The destination is away.", "Das Ziel ist weg."],
  worker_pause: ["Pause", "Anhalten"],
  worker_resume: ["Resume", "Fortsetzen"],
  danger_pause: ["What runs is finished, and what waits stays at the broker or in the outbox until "
    + "it is resumed, or the process starts anew.",
  "Was läuft, wird beendet; was wartet, bleibt liegen, bis er fortgesetzt wird oder der Prozess "
    + "neu beginnt."],
  danger_resume: ["It takes messages again.", "Er nimmt wieder Nachrichten."],
  action_pause: ["paused", "angehalten"],
  action_resume: ["resumed", "fortgesetzt"],
  state_working: ["working", "arbeitend"],
  state_dead: ["dead", "tot"],
  state_handled: ["handled", "behandelt"],
  state_dropped: ["dropped", "weggenommen"],
  state_waiting: ["waiting", "wartend"],
  state_draining: ["draining", "leert sich"],
  state_paused: ["paused", "angehalten"],

  drain: ["Drain", "Leeren und beenden"],
  danger_drain: ["No new work is taken, what runs is finished, and then the process ends. Unless "
    + "something starts it again, nothing works here until a person does.",
  "Neue Arbeit wird nicht angenommen; was läuft, wird beendet; dann endet der Prozess. Wenn ihn "
    + "nichts wieder startet, arbeitet hier nichts mehr, bis es ein Mensch tut."],
  draining_now: ["It drains: what runs is finished, and then the process ends.",
    "Er leert sich: was läuft, wird beendet, dann endet der Prozess."],
  action_drain: ["drained", "geleert"],
  action_retry: ["sent again", "noch einmal gesendet"],
  action_drop: ["dropped", "weggenommen"],

  several_scopes: ["this key exists under {} scopes: name the scope, or choose the record.",
    "diesen Schlüssel gibt es in {} Bereichen: nennen Sie ihn, oder wählen Sie den Eintrag."],
  clusters: ["Refused again and again", "Immer wieder abgelehnt"],
  find_out_clusters: ["A key came with another content than at first, several times; or one caller "
    + "was refused so with many keys. Look what the client makes its keys of, and what changes in "
    + "its requests: a time, a random value, an order of members. Nothing ran.",
  "Ein Schlüssel kam mehrmals mit anderem Inhalt als zuerst, oder ein Aufrufer wurde so mit vielen "
    + "Schlüsseln abgelehnt. Sehen Sie nach, woraus der Client seine Schlüssel macht und was sich "
    + "in seinen Anfragen ändert: eine Zeit, ein Zufallswert, eine Reihenfolge. Nichts lief."],
  refused_since: ["{} refused, the first", "{} abgelehnt, zuerst"],
  two_scopes: ["The same key under two scopes", "Derselbe Schlüssel in zwei Bereichen"],
  find_out_two_scopes: ["The same request came under another scope, and ran there, too. Is it one "
    + "caller with a new credential? Then it took effect twice: see the records, and set a scope "
    + "that stays the same.",
  "Dieselbe Anfrage kam in einem anderen Bereich und lief auch dort. Ist es ein Aufrufer mit neuen "
    + "Zugangsdaten? Dann wirkte sie zweimal: sehen Sie die Einträge an und setzen Sie einen "
    + "Bereich, der gleich bleibt."],
  scope_was: ["under {}, then under {}", "in {}, dann in {}"],
  times: ["{} times,", "{}-mal,"],

  letters: ["Messages that need a person: {}", "Zu klärende Nachrichten: {}"],
  letters_none: ["No message lies among the dead letters.", "Keine Nachricht liegt im Abfall."],
  letters_look: ["Look again", "Neu nachsehen"],
  letters_look_first: ["Look", "Nachsehen"],
  letters_counted: ["This broker can't be browsed: a look takes each message and gives it back, "
    + "and uses up one of the deliveries that the broker allows. So only operators look, and it "
    + "stands in the audit log.",
  "Dieser Broker lässt sich nicht durchsehen: Nachsehen nimmt jede Nachricht und gibt sie zurück, "
    + "und verbraucht eine der Zustellungen, die der Broker erlaubt. Darum sehen nur Operatoren "
    + "nach, und es steht im Audit."],
  letters_not_looked: ["Nobody has looked since the process began.",
    "Seit der Prozess begann, hat niemand nachgesehen."],
  action_look: ["looked at the dead letters", "im Abfall nachgesehen"],
  letters_more: ["There are more than these.", "Es gibt mehr als diese."],
  letters_looked: ["Looked", "Nachgesehen"],
  letters_looking: ["The broker is asked …", "Der Broker wird gefragt …"],
  message: ["Message", "Nachricht"],
  since: ["Since", "Seit"],
  no_id: ["(no id)", "(keine Kennung)"],
  letter_unknown: ["Unknown whether they took effect", "Unbekannt, ob sie wirkten"],
  letter_dead: ["Dead: they did not take effect", "Tot: sie wirkten nicht"],
  letter_handled: ["Handled by now", "Inzwischen behandelt"],
  letter_reused: ["With the id of another message", "Mit der Kennung einer anderen"],
  letter_running: ["An attempt may be running", "Ein Versuch läuft vielleicht"],
  letter_waiting: ["Waiting for the next attempt", "Warten auf den nächsten Versuch"],
  letter_free: ["No record, or released", "Kein Eintrag, oder freigegeben"],
  letter_keyless: ["Without an id", "Ohne Kennung"],
  letter_unreadable: ["Their record is unreadable", "Ihr Eintrag ist unlesbar"],
  find_letter_unknown: ["Find out where the effect would be whether it happened. It did: complete "
    + "the record, and drop the message. It did not: send it again.",
  "Sehen Sie dort nach, wo die Wirkung wäre. Es geschah: den Eintrag abschließen, die Nachricht "
    + "wegnehmen. Es geschah nicht: noch einmal senden."],
  find_letter_dead: ["See the reason, mend its cause, and send them again.",
    "Sehen Sie den Grund an, beheben Sie ihn, und senden Sie sie noch einmal."],
  find_letter_handled: ["Drop them, or send them again: nothing runs then.",
    "Nehmen Sie sie weg, oder senden Sie sie noch einmal: dann läuft nichts."],
  find_letter_reused: ["Let the sender send them with ids of their own, and drop these.",
    "Der Absender soll sie mit eigenen Kennungen senden; nehmen Sie diese weg."],
  find_letter_running: ["Look again when the lease is over.",
    "Sehen Sie nach der Lease wieder nach."],
  find_letter_waiting: ["Look again after the back-off.",
    "Sehen Sie nach der Wartezeit wieder nach."],
  find_letter_free: ["Sent again, they run.", "Noch einmal gesendet, laufen sie."],
  find_letter_keyless: ["Let the sender send them with an id, and drop these.",
    "Der Absender soll sie mit Kennung senden; nehmen Sie diese weg."],
  find_letter_unreadable: ["End the record by its id first.",
    "Beenden Sie erst den Eintrag über seine Nummer."],
  act_retry: ["Send again", "Noch einmal senden"],
  act_drop: ["Drop", "Wegnehmen"],
  danger_retry: ["It will run again: its key is freed, and the message is handed over now. If it "
    + "did take effect, it takes effect twice.",
  "Sie läuft noch einmal: ihr Schlüssel wird frei, und sie wird jetzt übergeben. Wenn sie doch "
    + "wirkte, wirkt sie zweimal."],
  danger_drop: ["The message and its payload are gone for good. Its record stays.",
    "Die Nachricht und ihr Inhalt sind für immer weg. Ihr Eintrag bleibt."],
  outbox_dead: ["{} rows are dead, and are not sent any more.",
    "{} Zeilen sind tot und werden nicht mehr gesendet."],
  find_outbox_dead: ["See the reason, mend its cause, and send them again.",
    "Sehen Sie den Grund an, beheben Sie ihn, und senden Sie sie noch einmal."],
  outbox_rows: ["Dead rows of {}", "Tote Zeilen von {}"],
  order_key: ["Order key", "Reihenfolge"],
  refusals: ["Refusals", "Ablehnungen"],
  danger_row_retry: ["The relay sends it again, with the same id. If the destination had taken it "
    + "all the same, a receiver that does not know its ids has it twice. Later ones of its order "
    + "key may have left meanwhile.",
  "Der Relay sendet sie noch einmal, mit derselben Kennung. Wenn das Ziel sie doch genommen hatte, "
    + "hat ein Empfänger, der seine Kennungen nicht kennt, sie zweimal. Spätere derselben "
    + "Reihenfolge sind vielleicht schon fort."],
  danger_row_drop: ["The row and its payload are gone for good, and are never sent.",
    "Die Zeile und ihr Inhalt sind für immer weg und werden nie gesendet."],
};
