"""What an answer means for the record: completed, released, failed or unknown."""

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, wait_until

CONFIG = {
    "route": [
        {"path": "/final", "keep": "final"},
        {"path": "/all", "keep": "all"},
        {"path": "/own", "outcome": {"5xx": "release", "402": "complete", "500": "fail",
                                     "201": "unknown", "4xx": "fail", "409": "release"},
         "backoff": "60s"},
        {"path": "/status", "answer": "status"},
        {"path": "/short", "retention": "2s"},
        {"path": "/mesh-released", "outcome": {"503": "release"}},
        {"path": "/mesh-class", "outcome": {"5xx": "release"}},
        {"path": "/mesh-other", "outcome": {"500": "release"}},
        {"path": "/backoff", "outcome": {"500": "fail"}, "backoff": "1s", "backoff_max": "2s"},
    ]
}
COMPLETE, RELEASE, UNKNOWN, FAIL = "complete", "release", "unknown", "fail"

SUCCESS = {200: COMPLETE, 201: COMPLETE, 202: COMPLETE, 204: COMPLETE, 206: COMPLETE,
           301: COMPLETE, 303: COMPLETE, 304: COMPLETE, 307: COMPLETE, 400: RELEASE,
           401: RELEASE, 404: RELEASE, 409: RELEASE, 422: RELEASE, 429: RELEASE, 499: RELEASE,
           500: UNKNOWN, 501: RELEASE, 502: UNKNOWN, 503: RELEASE, 504: UNKNOWN, 599: UNKNOWN}
FINAL = {200: COMPLETE, 303: COMPLETE, 400: COMPLETE, 402: COMPLETE, 404: COMPLETE,
         422: COMPLETE, 408: RELEASE, 409: RELEASE, 425: RELEASE, 429: RELEASE, 500: UNKNOWN,
         501: RELEASE, 503: RELEASE}
ALL = {200: COMPLETE, 302: COMPLETE, 404: COMPLETE, 408: COMPLETE, 409: COMPLETE, 429: COMPLETE,
       500: COMPLETE, 501: COMPLETE, 503: COMPLETE}
OWN = {200: COMPLETE, 201: UNKNOWN, 402: COMPLETE, 404: FAIL, 409: RELEASE, 500: FAIL,
       502: RELEASE}


def cases(table):
    return [pytest.param(status, meant, id=f"{status} {meant}") for status, meant in
            table.items()]


def check(gateway, upstream, path, key, status, meant, headers=()):
    plan = {"status": status, "body": f"said {status}", "headers": list(headers)}
    first = assert_first(gateway.post(path, key=key, plan=plan), status)
    if status not in (204, 304):
        assert first.body == f"said {status}".encode()
    again = gateway.post(path, key=key, plan={"status": 200})
    if meant == COMPLETE:
        assert_replay_of(again, first)
    elif meant == RELEASE:
        assert_first(again, 200)
    elif meant == UNKNOWN:
        assert_problem(again, 409, "outcome-unknown", False)
        assert again.get("Retry-After") is None
    else:
        assert_problem(again, 409, "backing-off", True, retry_after=True)
    assert upstream.runs(key) == (2 if meant == RELEASE else 1)


@pytest.mark.parametrize("status, meant", cases(SUCCESS))
def test_keep_success(gateway, upstream, key, status, meant):
    check(gateway, upstream, "/charges", key, status, meant)


@pytest.mark.parametrize("status, meant", cases(FINAL))
def test_keep_final(gateway, upstream, key, status, meant):
    check(gateway, upstream, "/final", key, status, meant)


@pytest.mark.parametrize("status, meant", cases(ALL))
def test_keep_all(gateway, upstream, key, status, meant):
    check(gateway, upstream, "/all", key, status, meant)


@pytest.mark.parametrize("status, meant", cases(OWN))
def test_outcome_rules_for_single_statuses_precede_classes(gateway, upstream, key, status, meant):
    check(gateway, upstream, "/own", key, status, meant)


ENVOY, ISTIO, LATER = ["Server", "envoy"], ["server", "istio-envoy"], ["Retry-After", "1"]


@pytest.mark.parametrize("path, headers, meant", [
    ("/charges", [ENVOY], UNKNOWN), ("/charges", [ISTIO], UNKNOWN), ("/final", [ENVOY], UNKNOWN),
    ("/charges", [ENVOY, ["Retry-After", ""]], UNKNOWN), ("/mesh-other", [ISTIO], UNKNOWN),
    ("/charges", [ENVOY, LATER], RELEASE), ("/charges", [["Server", "nginx"]], RELEASE),
    ("/mesh-released", [ENVOY], RELEASE), ("/mesh-class", [ISTIO], RELEASE),
    ("/all", [ENVOY], COMPLETE),
], ids=str)
def test_a_503_of_a_mesh(gateway, upstream, key, path, headers, meant):
    """Envoy also answers 503 when the request was sent and its connection broke then."""
    check(gateway, upstream, path, key, 503, meant, headers)


def test_each_run_is_an_attempt_with_a_greater_token(gateway, upstream, key):
    for _ in range(3):
        assert gateway.post(key=key, plan={"status": 404}).status == 404
    assert_first(gateway.post(key=key))
    runs = upstream.requests(key)
    assert [r["attempt"] for r in runs] == ["1", "2", "3", "4"]
    tokens = [int(r["token"]) for r in runs]
    assert tokens == sorted(set(tokens))


def test_failed_runs_again_after_a_doubling_back_off(gateway, upstream, key):
    failing = {"status": 500}

    def post():
        nonlocal clock
        clock = Stopwatch()
        return gateway.post("/backoff", key=key, plan=failing)
    clock = Stopwatch()
    assert post().status == 500
    for attempt, backoff in ((2, 1), (3, 2), (4, 2)):
        since, whole = clock, Stopwatch()
        refused = post()
        # On a busy machine some of the back-off, or all of it, may be over by now.
        passed = since.seconds
        if refused.status == 500:
            assert passed >= backoff
        else:
            assert_problem(refused, 409, "backing-off", True, retry_after=True)
            assert max(1, backoff - passed) <= int(refused.get("Retry-After")) <= backoff
            wait_until(lambda: post().status == 500, what="another attempt")
        assert whole.seconds < backoff + 20
        assert len(upstream.requests(key)) == attempt
    times = [r["at"] for r in upstream.requests(key)]
    assert times[1] - times[0] >= 0.95
    assert times[2] - times[1] >= 1.95


def test_a_failed_request_can_succeed_later(gateway, upstream, key):
    assert gateway.post("/backoff", key=key, plan={"status": 500}).status == 500
    first = wait_until(lambda: next((a for a in [gateway.post("/backoff", key=key)]
                                     if a.status == 201), None))
    assert_first(first)
    assert_replay_of(gateway.post("/backoff", key=key), first)
    assert upstream.requests(key)[-1]["attempt"] == "2"


def test_the_status_alone_can_be_kept(gateway, upstream, key):
    plan = {"status": 202, "body": "big", "headers": [["Location", "/charges/1"], ["Link", "a"],
                                                      ["Link", "b"]]}
    first = assert_first(gateway.post("/status", key=key, plan=plan), 202)
    assert first.body == b"big"
    again = gateway.post("/status", key=key)
    assert again.status == 202 and again.replayed
    assert again.body == b""
    assert again.get("Content-Length") == "0"
    assert again.get("Location") == "/charges/1"
    assert again.all("Link") == ["a", "b"]
    assert upstream.runs(key) == 1


def test_after_its_retention_a_key_is_new(gateway, upstream, fresh_key):
    def repeated_in_time():
        """On a busy machine the repeat may come when the retention is over."""
        key, clock = fresh_key(), Stopwatch()
        first, again = gateway.post("/short", key=key), gateway.post("/short", key=key)
        return (key, clock, first, again) if clock.seconds < 1.9 else None
    key, clock, first, again = wait_until(repeated_in_time, what="a repeat in time")
    assert_replay_of(again, assert_first(first))
    second = wait_until(lambda: next((a for a in [gateway.post("/short", key=key)]
                                      if not a.replayed), None))
    assert clock.seconds >= 1.9
    assert_first(second)
    assert second.body != first.body
    runs = upstream.requests(key)
    assert len(runs) == 2
    assert int(runs[1]["token"]) > int(runs[0]["token"])


def test_unknown_says_why_to_the_operator(gateway, key):
    assert gateway.post(key=key, plan={"status": 502}).status == 502
    record = gateway.record(key)
    assert record["state"] == "unknown"
    assert "502" in str(record)


def test_an_interim_answer_is_no_answer(gateway, key):
    plan = {"interim": [[102, []], [103, [["Link", "</a>"]]]], "status": 200, "body": "done"}
    first = assert_first(gateway.post(key=key, plan=plan), 200)
    assert first.body == b"done"
    again = assert_replay_of(gateway.post(key=key), first)
    assert again.interim == []
