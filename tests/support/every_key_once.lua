-- For wrk: POSTs with a key each, and the counts as JSON at the end.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init(arguments)
  sent = 0
  run = arguments[1]
  fields = {["Content-Type"] = "application/json"}
end

function request()
  sent = sent + 1
  fields["Idempotency-Key"] = "wrk-" .. run .. "-" .. number .. "-" .. sent
  return wrk.format("POST", "/wrk", fields, "{}")
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"connect":%d,"read":%d,"write":%d,' ..
    '"status":%d,"timeout":%d,"longest_ms":%d}\n',
    summary.requests, errors.connect, errors.read, errors.write, errors.status, errors.timeout,
    latency.max / 1000))
end
