"""Traces: the spans that a collector of OpenTelemetry gets, and what clients and upstreams see."""

import secrets

import pytest

from support.collector import Collector
from support.expecting import assert_first
from support.ports import Port
from support.waiting import wait_until

LOST = {"drop": "body"}


@pytest.fixture
def collector():
    running = Collector()
    yield running
    running.close()


@pytest.fixture
def traced(start_gateway, own_upstream, collector):
    """Starts a gateway that sends its spans to the collector."""
    def start(config=None, **variables):
        gateway = start_gateway(own_upstream, config, started=False)
        gateway.environment = collector.environment(**variables)
        return gateway.start()
    return start


def parent(flags="01"):
    """A trace id, and the field of a client's span in it."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, [("traceparent", f"00-{trace}-{span}-{flags}")]


def sent_parent(request):
    """The parts of the only traceparent that an upstream got."""
    values = [v for n, v in request["fields"] if n.lower() == "traceparent"]
    assert len(values) == 1, values
    return values[0].split("-")


def test_a_run_has_a_span_for_each_step(traced, collector, own_upstream, key):
    gateway = traced(OTEL_SERVICE_NAME="payments", OTEL_EXPORTER_OTLP_HEADERS="x-team=pay%20ments")
    trace, client, fields = parent()
    assert_first(gateway.post("/charges?secret=1", key=key, fields=fields))
    spans = collector.trace(trace, 4)
    assert set(spans) == {"POST /", "claim", "upstream", "settle"}
    server = spans["POST /"]
    assert (server["kind"], server["parentSpanId"]) == (2, client)
    assert server["service"] == "payments"
    said = server["attributes"]
    assert said["http.request.method"] == "POST" and said["url.path"] == "/charges"
    assert said["http.route"] == "/" and said["http.response.status_code"] == 201
    assert (said["onceguard.outcome"], said["onceguard.settled"]) == ("ran", "complete")
    assert said["onceguard.attempt"] == 1 and len(said["onceguard.record"]) == 12
    begin, end = int(server["startTimeUnixNano"]), int(server["endTimeUnixNano"])
    for name, kind in (("claim", 1), ("upstream", 3), ("settle", 1)):
        step = spans[name]
        assert (step["parentSpanId"], step["kind"]) == (server["spanId"], kind)
        assert begin <= int(step["startTimeUnixNano"]) <= int(step["endTimeUnixNano"]) <= end
    assert int(spans["claim"]["endTimeUnixNano"]) <= int(spans["upstream"]["startTimeUnixNano"])
    assert int(spans["upstream"]["endTimeUnixNano"]) <= int(spans["settle"]["startTimeUnixNano"])
    assert sent_parent(own_upstream.requests(key)[0]) == [
        "00", trace, spans["upstream"]["spanId"], "01"]
    path, headers, _ = collector.requests[0]
    assert path == "/v1/traces" and headers["x-team"] == "pay ments"
    assert headers["Content-Type"] == "application/json"


def test_a_replay_has_a_link_to_the_first_run(traced, collector, key):
    gateway = traced()
    first, _, fields = parent()
    assert_first(gateway.post(key=key, fields=fields))
    run = collector.trace(first, 4)["POST /"]
    for _ in range(2):  # the second one too: it is no repeat of the replay before it
        trace, _, fields = parent()
        assert gateway.post(key=key, fields=fields).replayed
        replay = collector.trace(trace, 1)["POST /"]
        assert replay["attributes"]["onceguard.outcome"] == "replayed"
        assert replay["links"] == [{"traceId": first, "spanId": run["spanId"]}]
        assert replay["attributes"]["onceguard.record"] == run["attributes"]["onceguard.record"]


def test_a_mismatch_and_an_unknown_outcome_are_traced(traced, collector, key):
    gateway = traced()
    lost, _, fields = parent()
    assert gateway.post(key=key, plan=LOST, fields=fields).status == 502
    spans = collector.trace(lost, 4)
    assert spans["POST /"]["status"] == {"code": 2}
    assert spans["POST /"]["attributes"]["error.type"] == "upstream-broken"
    assert spans["upstream"]["status"] == {"code": 2}
    trace, _, fields = parent()
    assert gateway.post(key=key, body=b"other", fields=fields).status == 422
    spans = collector.trace(trace, 1)
    assert spans["POST /"]["attributes"]["onceguard.outcome"] == "mismatch"
    assert spans["POST /"]["links"][0]["traceId"] == lost
    assert "code" not in spans["POST /"]["status"]  # the client's fault


def test_an_unguarded_request_has_its_upstream_span(traced, collector, own_upstream):
    gateway = traced()
    trace, _, fields = parent()
    assert gateway.get(fields=fields).status == 201
    spans = collector.trace(trace, 2)
    assert set(spans) == {"GET /", "upstream"}
    assert spans["GET /"]["attributes"]["onceguard.outcome"] == "unguarded"
    assert sent_parent(own_upstream.requests()[0])[1:3] == [trace, spans["upstream"]["spanId"]]


def test_a_request_without_a_trace_begins_one(traced, collector, own_upstream, key):
    gateway = traced()
    assert_first(gateway.post(key=key, fields=[("tracestate", "of=nobody")]))
    request = own_upstream.requests(key)[0]
    _, trace, span, flags = sent_parent(request)
    spans = collector.trace(trace, 4)
    assert "parentSpanId" not in spans["POST /"]
    assert (spans["upstream"]["spanId"], flags) == (span, "01")
    assert not [n for n, _ in request["fields"] if n.lower() == "tracestate"]


def test_a_trace_that_is_not_sampled_goes_on_unsent(traced, collector, own_upstream, fresh_key):
    gateway = traced()
    unsampled, sampled = fresh_key(), fresh_key()
    trace, _, fields = parent("00")
    assert_first(gateway.post(key=unsampled, fields=[*fields, ("tracestate", "a=1")]))
    last, _, fields = parent()
    assert_first(gateway.post(key=sampled, fields=fields))
    collector.trace(last, 4)
    assert not [s for s in collector.spans if s["traceId"] == trace]
    request = own_upstream.requests(unsampled)[0]
    assert sent_parent(request)[1::2] == [trace, "00"]
    assert ["tracestate", "a=1"] in request["fields"]


def test_a_malformed_trace_is_replaced(traced, collector, own_upstream, key):
    gateway = traced()
    assert_first(gateway.post(key=key, fields=[("traceparent", "00-nonsense-01")]))
    _, trace, _, _ = sent_parent(own_upstream.requests(key)[0])
    assert "parentSpanId" not in collector.trace(trace, 4)["POST /"]


def test_without_a_collector_the_clients_trace_passes_untouched(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    _, _, fields = parent()
    assert_first(gateway.post(key=key, fields=[*fields, ("tracestate", "a=1")]))
    got = own_upstream.requests(key)[0]["fields"]
    assert [list(field) for field in fields][0] in got and ["tracestate", "a=1"] in got


def test_a_ratio_of_nothing_sends_nothing(traced, collector, own_upstream, fresh_key):
    gateway = traced(OTEL_TRACES_SAMPLER="traceidratio", OTEL_TRACES_SAMPLER_ARG="0")
    _, _, fields = parent()
    for _ in range(10):
        assert_first(gateway.post(key=fresh_key(), fields=fields))
    assert gateway.stop() == 0  # sends what waits
    assert collector.requests == []


def test_the_end_of_the_process_sends_what_waits(traced, collector, fresh_key):
    gateway = traced(OTEL_BSP_SCHEDULE_DELAY="600000")
    for _ in range(5):
        assert_first(gateway.post(key=fresh_key()))
    assert collector.requests == []
    assert gateway.stop() == 0
    assert len(collector.servers(5)) == 5


def test_a_collector_that_is_away_changes_nothing_for_requests(
        start_gateway, own_upstream, fresh_key):
    port = Port()  # nobody listens there
    gateway = start_gateway(own_upstream, started=False)
    gateway.environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port.number}",
                           "OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_BSP_MAX_QUEUE_SIZE": "4",
                           "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2"}
    gateway.start()
    try:
        for _ in range(40):
            key = fresh_key()
            first = assert_first(gateway.post(key=key))
            assert gateway.post(key=key).body == first.body
        line = gateway.logged("spans-not-sent")[0]
        assert line["dropped"] >= 2 and str(port.number) in line["collector"]
        assert gateway.stop() == 0
    finally:
        port.close()


def test_a_collector_that_refuses_costs_its_batch_alone(traced, collector, fresh_key):
    collector.status = 400
    gateway = traced()
    assert_first(gateway.post(key=fresh_key()))
    line = gateway.logged("spans-not-sent")[0]
    assert "400" in line["why"] and line["dropped"] == 1
    collector.status = 200
    trace, _, fields = parent()
    assert_first(gateway.post(key=fresh_key(), fields=fields))
    collector.trace(trace, 4)


def test_a_collector_that_is_busy_is_asked_again(traced, collector, key):
    collector.status = 503
    gateway = traced()
    trace, _, fields = parent()
    assert_first(gateway.post(key=key, fields=fields))
    wait_until(lambda: collector.requests, what="the first try")
    collector.status = 200
    collector.trace(trace, 4)


@pytest.mark.parametrize("variables", [
    {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:1"},
    {"OTEL_TRACES_SAMPLER": "xray"}])
def test_a_variable_that_is_not_used_is_logged(traced, variables):
    gateway = traced(**variables)
    line = gateway.logged("trace-variable-ignored")[0]
    assert line["remark"].startswith(next(iter(variables)))
