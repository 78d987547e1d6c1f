// All texts of the page, in each of its languages.

const TABLE = {
  loading: ["Reading …", "Wird gelesen …"],
  out_of_reach: ["The gateway is out of reach; what you see may be old.",
    "Das Gateway ist nicht erreichbar; was Sie sehen, kann veraltet sein."],
  skip: ["To the content", "Zum Inhalt"],
  views: ["Views", "Ansichten"],
  language: ["Language", "Sprache"],
  overview: ["Overview", "Übersicht"],
  attention: ["Needs attention", "Zu klären"],
  search: ["Search", "Suche"],
  routes: ["Routes", "Routen"],
  record: ["One key", "Ein Schlüssel"],
  no_such_view: ["There is no such view.", "Diese Ansicht gibt es nicht."],
  operator: ["operator", "Operator"],
  viewer: ["viewer", "Betrachter"],
  application: ["the application", "die Anwendung"],
  sign_in: ["Sign in", "Anmelden"],
  sign_out: ["Sign out", "Abmelden"],
  token: ["Token", "Token"],
  token_note: ["A token of admin_token_file. The browser gets a cookie in its place.",
    "Ein Token aus admin_token_file. Der Browser bekommt an seiner Stelle ein Cookie."],
  yes: ["yes", "ja"],
  any: ["any", "alle"],
  close: ["Close", "Schließen"],
  back: ["Back", "Zurück"],
  further: ["Further", "Weiter"],
  show: ["Show", "Zeigen"],
  more: ["and {} more", "und {} weitere"],
  ago: ["{} ago", "vor {}"],

  well: ["All is well.", "Alles in Ordnung."],
  not_well: ["Not ready.", "Nicht bereit."],
  unready_starting: ["the store has not answered yet", "der Speicher hat noch nicht geantwortet"],
  "unready_store-away": ["the store is away", "der Speicher ist nicht da"],
  unready_draining: ["it ends, and takes no new requests",
    "es endet und nimmt keine neuen Anfragen"],
  "unready_store-lost-its-memory": ["the store lost its memory",
    "der Speicher hat sein Gedächtnis verloren"],
  store_forgot: ["The store forgot records; new runs may repeat earlier ones.",
    "Der Speicher hat Einträge vergessen; neue Läufe können frühere wiederholen."],
  reload_refused: ["The last reload was refused: an older configuration is in force.",
    "Das letzte Neuladen wurde abgelehnt: eine ältere Konfiguration gilt."],
  store: ["store", "Speicher"],
  requests: ["Requests since the start", "Anfragen seit dem Start"],
  replay_share: ["of them replayed", "davon wiedergegeben"],
  connections: ["Connections", "Verbindungen"],
  leases: ["Running now", "Laufen gerade"],
  waiters: ["Wait for a twin", "Warten auf einen Zwilling"],
  buffered: ["Buffered", "Gepuffert"],
  last_hour: ["The last hour", "Die letzte Stunde"],
  requests_per_second: ["Requests per second", "Anfragen je Sekunde"],
  time_request: ["Time of a request", "Dauer einer Anfrage"],
  time_claim: ["Time of a claim", "Dauer eines Anspruchs"],
  time_settle: ["Time of a settle", "Dauer eines Abschlusses"],
  median: ["median", "Median"],
  p99: ["99 %", "99 %"],
  oldest_unknown: ["The oldest unknown outcome:", "Der älteste unbekannte Ausgang:"],
  not_counted: ["Not counted yet.", "Noch nicht gezählt."],

  outcome_ran: ["ran", "gelaufen"],
  outcome_replayed: ["replayed", "wiedergegeben"],
  outcome_waited: ["waited and replayed", "gewartet, wiedergegeben"],
  outcome_busy: ["busy", "läuft noch"],
  outcome_mismatch: ["key reused", "Schlüssel mit anderem Inhalt"],
  outcome_backoff: ["backing off", "Wartezeit"],
  outcome_unknown: ["outcome unknown", "Ausgang unbekannt"],
  outcome_not_kept: ["answer not kept", "Antwort nicht aufbewahrt"],
  outcome_refused: ["refused", "abgelehnt"],
  outcome_store_failed: ["store failed", "Speicher gestört"],
  outcome_unguarded: ["unguarded", "ungeschützt"],
  outcome_observed: ["observed", "beobachtet"],
  refusals: ["refused in all", "abgelehnt insgesamt"],

  records: ["Records", "Einträge"],
  key: ["Key", "Schlüssel"],
  unreadable_key: ["unreadable", "unlesbar"],
  state: ["State", "Zustand"],
  route: ["Route", "Route"],
  path: ["Path", "Pfad"],
  claimed: ["Claimed", "Beansprucht"],
  attempt: ["Attempt", "Versuch"],
  scope: ["Scope", "Bereich"],
  scope_kind: ["Scope of", "Bereich von"],
  fingerprint: ["Fingerprint", "Fingerabdruck"],
  fencing_token: ["Token of the lease", "Token der Lease"],
  incident: ["Incident", "Vorfall"],
  lease_left: ["Lease runs for", "Lease läuft noch"],
  kept_for: ["Kept for", "Aufbewahrt noch"],
  settled_by: ["Settled by", "Abgeschlossen von"],
  maybe_repeated: ["May be a repetition", "Vielleicht eine Wiederholung"],
  state_started: ["started", "begonnen"],
  state_in_progress: ["in progress", "läuft"],
  state_probing: ["probing", "wird nachgefragt"],
  state_released: ["released", "freigegeben"],
  state_completed: ["completed", "abgeschlossen"],
  state_failed: ["failed", "fehlgeschlagen"],
  state_unknown: ["unknown", "unbekannt"],
  state_unreadable: ["unreadable", "unlesbar"],
  why_holder_gone: ["the process is gone", "der Prozess ist weg"],
  why_upstream_status: ["the status says nothing", "der Status sagt nichts"],
  why_upstream_timeout: ["no answer in time", "keine Antwort in der Zeit"],
  why_upstream_broken: ["the connection broke", "die Verbindung brach ab"],
  why_upgraded: ["other protocol", "anderes Protokoll"],
  why_abandoned: ["given up", "aufgegeben"],
  why_probe_inconclusive: ["the probe could not say", "die Nachfrage blieb offen"],

  attention_none: ["Nothing needs you.", "Nichts ist zu klären."],
  attention_count: ["{}{} records need a person.", "{}{} Einträge sind zu klären."],
  choose: ["Choose", "Wählen"],
  choose_listed: ["Choose by a list", "Nach einer Liste wählen"],
  keys_listed: ["Keys, one a line", "Schlüssel, einer je Zeile"],
  chosen_of_list: ["{} chosen.", "{} gewählt."],
  not_here: ["{} of the list need nobody, or are not here:",
    "{} aus der Liste sind nicht zu klären oder nicht da:"],
  choose_all: ["Choose all of these", "Alle von diesen wählen"],
  cause_unknown_holder_gone: ["The process that ran it is gone",
    "Der Prozess, der es ausführte, ist weg"],
  find_out_unknown_holder_gone: ["Look in the service, or at the payment provider, whether it took "
    + "effect. If it did: complete it. If it surely did not: release it.",
  "Sehen Sie im Dienst oder beim Zahlungsanbieter nach, ob es wirkte. Wenn ja: abschließen. Wenn "
    + "sicher nicht: freigeben."],
  cause_unknown_upstream_status: ["The service answered with an error that says nothing",
    "Der Dienst antwortete mit einem Fehler, der nichts sagt"],
  find_out_unknown_upstream_status: ["The service's log says whether it wrote before it failed.",
    "Das Protokoll des Dienstes sagt, ob er vor dem Fehler schrieb."],
  cause_unknown_upstream_timeout: ["The service did not answer in time",
    "Der Dienst antwortete nicht in der Zeit"],
  find_out_unknown_upstream_timeout: ["It may still run. Look whether it took effect since.",
    "Es läuft vielleicht noch. Sehen Sie nach, ob es inzwischen wirkte."],
  cause_unknown_upstream_broken: ["The connection to the service broke",
    "Die Verbindung zum Dienst brach ab"],
  find_out_unknown_upstream_broken: ["The service may have gone on. Look whether it took effect.",
    "Der Dienst machte vielleicht weiter. Sehen Sie nach, ob es wirkte."],
  cause_unknown_upgraded: ["The service switched to another protocol",
    "Der Dienst wechselte das Protokoll"],
  find_out_unknown_upgraded: ["What was said in the other protocol is not known here.",
    "Was im anderen Protokoll gesagt wurde, ist hier nicht bekannt."],
  cause_unknown_abandoned: ["Given up before it was over", "Vor dem Ende aufgegeben"],
  find_out_unknown_abandoned: ["A process ended amid it. Look whether it took effect.",
    "Ein Prozess endete mittendrin. Sehen Sie nach, ob es wirkte."],
  cause_unknown_probe_inconclusive: ["The probe could not say",
    "Die Nachfrage blieb offen"],
  find_out_unknown_probe_inconclusive: ["Ask yourself what the probe asks.",
    "Fragen Sie selbst, was die Nachfrage fragt."],
  cause_in_progress: ["Past their lease", "Über ihre Lease hinaus"],
  find_out_in_progress: ["Their process never reported. The next request makes them unknown.",
    "Ihr Prozess meldete sich nie. Die nächste Anfrage macht sie unbekannt."],
  cause_started: ["Begun, and never sent on", "Begonnen und nie weitergeschickt"],
  find_out_started: [
    "Their process never reported; nothing was sent. The next request takes over.",
    "Ihr Prozess meldete sich nie; nichts wurde gesendet. Die nächste Anfrage übernimmt."],
  cause_probing: ["A probe asks", "Eine Nachfrage läuft"],
  find_out_probing: ["Wait for what the probe says.", "Warten Sie ab, was die Nachfrage ergibt."],
  cause_released: ["Released", "Freigegeben"],
  find_out_released: ["The next request runs.", "Die nächste Anfrage läuft."],
  cause_failed: ["Failed", "Fehlgeschlagen"],
  find_out_failed: ["They may run again by themselves.",
    "Sie laufen vielleicht von selbst wieder."],
  cause_completed: ["Completed", "Abgeschlossen"],
  find_out_completed: ["An incident is noted on them.", "An ihnen ist ein Vorfall vermerkt."],
  cause_unreadable: ["Unreadable", "Unlesbar"],
  find_out_unreadable: ["What the store has is damaged, or of a newer version.",
    "Was im Speicher steht, ist beschädigt oder von einer neueren Version."],

  filter_key: ["Key", "Schlüssel"],
  filter_text: ["Part of a key", "Teil eines Schlüssels"],
  filter_scope: ["Scope", "Bereich"],
  filter_route: ["Route", "Route"],
  filter_method: ["Method", "Methode"],
  filter_older: ["Older than", "Älter als"],
  filter_younger: ["Younger than", "Jünger als"],
  example_key: ["order-17", "order-17"],
  example_text: ["order", "order"],
  example_scope: ["9f3c…", "9f3c…"],
  example_route: ["/charges", "/charges"],
  example_method: ["POST", "POST"],
  example_older: ["1h", "1h"],
  example_younger: ["5m", "5m"],
  found: ["{} records on this page", "{} Einträge auf dieser Seite"],
  found_none: ["No record fits.", "Kein Eintrag passt."],

  timeline: ["Timeline", "Verlauf"],
  event_claimed: ["claimed", "beansprucht"],
  event_settled: ["settled", "abgeschlossen"],
  "event_lease-ends": ["the lease ends", "die Lease endet"],
  "event_lease-ended": ["the lease ended", "die Lease endete"],
  "event_may-run-again": ["may run again", "darf wieder laufen"],
  event_forgotten: ["is forgotten", "wird vergessen"],
  answer: ["Stored answer", "Gespeicherte Antwort"],
  status: ["Status", "Status"],
  body: ["Body", "Inhalt"],
  commands: ["The same as commands", "Dasselbe als Befehle"],

  act_complete: ["It took effect", "Es wirkte"],
  act_release: ["It did not take effect", "Es wirkte nicht"],
  act_delete: ["Forget it", "Vergessen"],
  do_complete: ["Complete", "Abschließen"],
  do_release: ["Release", "Freigeben"],
  do_delete: ["Delete", "Löschen"],
  danger_complete: ["Every repeat gets this answer, and nothing runs for the key again.",
    "Jede Wiederholung bekommt diese Antwort, und für den Schlüssel läuft nichts mehr."],
  danger_release: ["The key is free: the next request with it runs the operation again. If the "
    + "effect did happen, it happens twice.",
  "Der Schlüssel ist frei: die nächste Anfrage führt die Operation wieder aus. Wenn sie doch "
    + "wirkte, wirkt sie zweimal."],
  danger_delete: ["The record and its answer are gone: the next request runs the operation again.",
    "Eintrag und Antwort sind weg: die nächste Anfrage führt die Operation wieder aus."],
  reason: ["Reason (for the audit log)", "Grund (für das Audit-Log)"],
  answer_known: ["The answer, if it is known", "Die Antwort, wenn sie bekannt ist"],
  force: ["also while it may still run", "auch während es vielleicht noch läuft"],
  dry_run: ["Try without a change", "Ohne Änderung versuchen"],
  would_be: ["Nothing was changed. It would be:", "Nichts wurde geändert. Es würde:"],
  was_done: ["What became of them:", "Was daraus wurde:"],
  result_done: ["done", "erledigt"],
  result_running: ["it still runs", "läuft noch"],
  result_already_completed: ["was completed already", "war schon abgeschlossen"],
  result_changed: ["has changed since", "hat sich seither geändert"],
  result_not_found: ["is not there any more", "ist nicht mehr da"],
  result_failed: ["refused", "abgelehnt"],
  result_unknown: ["the store did not say", "der Speicher sagte nichts"],
  result_unreadable: ["unreadable", "unlesbar"],
};

const LANGUAGES = ["en", "de"];
let chosen = read() ?? (navigator.language.startsWith("de") ? "de" : "en");

/** How numbers and times are written: as the reader's system does, if it has the same language. */
export function locale() {
  return navigator.language.startsWith(chosen) ? navigator.language : chosen;
}

function read() {
  try {
    const kept = localStorage.getItem("language");
    return LANGUAGES.includes(kept) ? kept : null;
  } catch {
    return null; // storage may be forbidden
  }
}

export function language() {
  return chosen;
}

export function setLanguage(wanted) {
  chosen = wanted;
  document.documentElement.lang = wanted;
  try {
    localStorage.setItem("language", wanted);
  } catch {
    // It holds until the page is closed.
  }
}

/** @param {string} name of the table; an unknown one is shown as it is @param {...any} values */
export function text(name, ...values) {
  let found = TABLE[name]?.[LANGUAGES.indexOf(chosen)] ?? name;
  for (const value of values) found = found.replace("{}", () => String(value));
  return found;
}

document.documentElement.lang = chosen;
