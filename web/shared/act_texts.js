// The texts of the acts on records: in English, in German.

export const ACT_TEXTS = {
  act_complete: ["Complete: it took effect", "Abschließen: es wirkte"],
  act_release: ["Release: it did not take effect", "Freigeben: es wirkte nicht"],
  act_delete: ["Delete: forget it", "Löschen: vergessen"],
  do_complete: ["Complete ({}): it took effect", "Abschließen ({}): es wirkte"],
  do_release: ["Release ({}): it did not take effect", "Freigeben ({}): es wirkte nicht"],
  do_delete: ["Delete ({}): forget it", "Löschen ({}): vergessen"],
  danger_complete: ["It counts as done, and nothing runs for the key again.",
    "Es gilt als getan, und für den Schlüssel läuft nichts mehr."],
  danger_release: ["The key is free: the next request with it runs the operation again. If the "
    + "effect did happen, it happens twice.",
  "Der Schlüssel ist frei: die nächste Anfrage führt die Operation wieder aus. Wenn sie doch "
    + "wirkte, wirkt sie zweimal."],
  danger_delete: ["The record and its answer are gone: the next request runs the operation again.",
    "Eintrag und Antwort sind weg: die nächste Anfrage führt die Operation wieder aus."],
  danger_delete_answered: ["It took effect, and was answered with {}. If the client asks again, it "
    + "takes effect a second time: a customer would be charged twice. Do it only after the effect "
    + "was reversed.",
  "Es wirkte und wurde mit {} beantwortet. Fragt der Client wieder, wirkt es ein zweites Mal: ein "
    + "Kunde würde zweimal belastet. Tun Sie es nur, wenn die Wirkung rückgängig gemacht ist."],
  danger_delete_completed: ["{} of them took effect. If their clients ask again, they take effect "
    + "a second time. Do it only after the effect was reversed.",
  "{} von ihnen wirkten. Fragen ihre Clients wieder, wirken sie ein zweites Mal. Tun Sie es nur, "
    + "wenn die Wirkung rückgängig gemacht ist."],

  reason_again: ["The reason of before:", "Der Grund von vorhin:"],
  next_complete: ["Go on: complete the other {} …", "Weiter: die anderen {} abschließen …"],
  next_release: ["Go on: release the other {} …", "Weiter: die anderen {} freigeben …"],
  answer_of_all: ["All {} get this same answer. Leave it empty if their answers differ.",
    "Alle {} bekommen dieselbe Antwort. Lassen Sie es leer, wenn ihre Antworten sich "
    + "unterscheiden."],
  answer_known: ["The answer, if it is known", "Die Antwort, wenn sie bekannt ist"],
  status_missing: ["A body needs its status.", "Ein Inhalt braucht seinen Status."],
  repeats_get_none: ["Without a status, each repeat is told that it took effect, and that the "
    + "answer is not kept: 409, answer-not-kept.",
  "Ohne Status erfährt jede Wiederholung, dass es wirkte und die Antwort nicht aufbewahrt ist: "
    + "409, answer-not-kept."],
  repeats_get_status: ["Each repeat gets the status {}, without a body.",
    "Jede Wiederholung bekommt den Status {}, ohne Inhalt."],
  repeats_get_body: ["Each repeat gets the status {} with this body.",
    "Jede Wiederholung bekommt den Status {} mit diesem Inhalt."],
  answer_is: ["Each repeat gets the status {} and a body of {}.",
    "Jede Wiederholung bekommt den Status {} und einen Inhalt von {}."],
  force: ["also while it may still run", "auch während es vielleicht noch läuft"],
  force_complete: ["If it runs all the same, what it comes to is not recorded.",
    "Wenn es doch noch läuft, wird nicht vermerkt, wie es ausgeht."],
  force_release: ["If it runs all the same, the next request runs beside it, and both take effect.",
    "Wenn es doch noch läuft, läuft die nächste Anfrage daneben, und beide wirken."],
  force_delete: ["If it runs all the same, the next request runs beside it, and both take effect.",
    "Wenn es doch noch läuft, läuft die nächste Anfrage daneben, und beide wirken."],

  nothing_changed: ["Nothing was changed.", "Nichts wurde geändert."],
  would_complete: ["would be completed", "würde abgeschlossen"],
  would_release: ["would be released", "würde freigegeben"],
  would_delete: ["would be deleted", "würde gelöscht"],
  did_complete: ["completed", "abgeschlossen"],
  did_release: ["released", "freigegeben"],
  did_delete: ["deleted", "gelöscht"],
  sum_would_complete: ["{} would be completed, {} would not.",
    "{} würden abgeschlossen, {} nicht."],
  sum_would_release: ["{} would be released, {} would not.", "{} würden freigegeben, {} nicht."],
  sum_would_delete: ["{} would be deleted, {} would not.", "{} würden gelöscht, {} nicht."],
  sum_unknown: ["Not known: {}.", "Nicht bekannt: {}."],
  sum_did_complete: ["Completed: {}. Not completed: {}.",
    "Abgeschlossen: {}. Nicht abgeschlossen: {}."],
  sum_did_release: ["Released: {}. Not released: {}.", "Freigegeben: {}. Nicht freigegeben: {}."],
  sum_did_delete: ["Deleted: {}. Not deleted: {}.", "Gelöscht: {}. Nicht gelöscht: {}."],
};
