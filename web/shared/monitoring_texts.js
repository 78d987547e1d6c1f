// Texts of longer histories, traces, commands, and of what a store is asked: in English, in German.

export const MONITORING = {
  chart_top: ["at most {}", "höchstens {}"],
  now: ["now", "jetzt"],
  span: ["Charts of", "Diagramme über"],
  span_1h: ["the last hour", "die letzte Stunde"],
  span_6h: ["6 hours, from Prometheus", "6 Stunden, aus Prometheus"],
  span_1d: ["a day, from Prometheus", "einen Tag, aus Prometheus"],
  span_7d: ["a week, from Prometheus", "eine Woche, aus Prometheus"],
  span_30d: ["30 days, from Prometheus", "30 Tage, aus Prometheus"],

  event_renewed: ["the lease was renewed, {} times in all",
    "die Lease wurde verlängert, {} Mal insgesamt"],
  trace: ["Trace", "Trace"],
  commands_token: ["TOKEN_FILE is a file of yours whose first line is your token.",
    "TOKEN_FILE ist eine Datei von Ihnen, deren erste Zeile Ihr Token ist."],
  commands_acts: ["What the buttons do, with your reason in REASON:",
    "Was die Knöpfe tun, mit Ihrem Grund in REASON:"],

  size: ["Size", "Größe"],
  last_sweep: ["Last sweep", "Zuletzt aufgeräumt"],
  not_swept: ["not yet by this process", "von diesem Prozess noch nicht"],
  witness: ["Witness", "Zeuge"],
  no_witness: ["none: without [gateway] state_dir, a process that starts anew does not notice "
    + "that the store lost its records",
  "keiner: ohne [gateway] state_dir bemerkt ein neu begonnener Prozess nicht, dass der Speicher "
    + "seine Einträge verlor"],
  written: ["written", "geschrieben"],
  witness_not_there: ["is not there yet", "ist noch nicht da"],
};
