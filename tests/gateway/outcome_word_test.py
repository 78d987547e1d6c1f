"""What an answer says of its outcome besides its status: by the service's own word, by a header, in
its JSON."""

import json

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

WORD = "Onceguard-Outcome"
CONFIG = {"route": [
    {"path": "/graphql", "outcome": {"json:/errors": "unknown", "json:/errors/0/code=DENIED":
                                     "release"}},
    {"path": "/rpc", "outcome": {"header:grpc-status=14": "release", "header:grpc-status=0":
                                 "complete", "header:grpc-status": "unknown"}},
    {"path": "/all", "keep": "all", "outcome": {"404": "complete"}},
]}
COMPLETE, RELEASE, UNKNOWN = "completed", "released", "unknown"


def check(gateway, upstream, key, meant, path="/charges", **plan):
    plan.setdefault("status", 200)
    first = gateway.post(path, key=key, plan=plan)
    assert first.status == plan["status"]
    assert gateway.state(key) == meant
    again = gateway.post(path, key=key, plan=plan)
    if meant == COMPLETE:
        assert_replay_of(again, first)
    elif meant == RELEASE:
        assert_first(again, plan["status"])
    else:
        assert_problem(again, 409, "outcome-unknown", False)
    assert upstream.runs(key) == (2 if meant == RELEASE else 1)
    return first, again


@pytest.mark.parametrize("path", ["/charges", "/all"])
@pytest.mark.parametrize("status, word, meant", [
    (200, "done", COMPLETE), (200, "none", RELEASE), (201, "unknown", UNKNOWN),
    (404, "done", COMPLETE), (404, "unknown", UNKNOWN), (500, "none", RELEASE),
    (500, "Done", COMPLETE), (503, "perhaps", UNKNOWN), (302, "none", RELEASE)])
def test_the_word_of_the_service_counts_and_goes_no_further(gateway, upstream, key, path, status,
                                                            word, meant):
    for answer in check(gateway, upstream, key, meant, path, status=status,
                        headers=[[WORD, word]]):
        assert answer.get(WORD) is None


@pytest.mark.parametrize("word, meant", [("done", COMPLETE), ("none", RELEASE), (None, RELEASE)])
@pytest.mark.parametrize("status", [307, 308])
def test_the_word_counts_of_a_redirect_to_itself_too(gateway, upstream, key, status, word, meant):
    headers = [["Location", "/charges"], *([[WORD, word]] if word else [])]
    check(gateway, upstream, key, meant, status=status, headers=headers)


def test_the_word_of_a_client_reaches_nobody(gateway, upstream, key):
    fields = [(WORD, "none"), ("onceguard_outcome", "none")]
    first = assert_first(gateway.post(key=key, fields=fields))
    assert_replay_of(gateway.post(key=key, fields=fields), first)
    sent = {name.lower().replace("_", "-") for name, _ in upstream.requests(key)[0]["fields"]}
    assert WORD.lower() not in sent


def test_a_streamed_answer_has_its_word_too(gateway, upstream, key):
    plan = {"status": 200, "framing": "chunked", "headers": [
        ["Content-Type", "text/event-stream"], [WORD, "none"]]}
    answer = gateway.post(key=key, plan=plan)
    assert answer.status == 200 and answer.get(WORD) is None
    assert gateway.state(key) == RELEASE


def test_what_is_not_guarded_does_not_pass_it_on(gateway):
    answer = gateway.post(plan={"headers": [[WORD, "done"]], "interim": [[103, [[WORD, "done"]]]]})
    assert answer.get(WORD) is None
    assert WORD.lower() not in str(answer.interim).lower()


@pytest.mark.parametrize("body, meant", [
    ({"data": {"pay": 1}}, COMPLETE), ({"data": None, "errors": [{"message": "no"}]}, UNKNOWN),
    ({"errors": [{"code": "DENIED"}]}, RELEASE), ({"errors": []}, COMPLETE)])
def test_the_errors_of_graphql(gateway, upstream, key, body, meant):
    check(gateway, upstream, key, meant, "/graphql", body=json.dumps(body))


def test_an_answer_that_is_looked_into_comes_without_a_coding(gateway, upstream, key):
    fields = [("Accept-Encoding", "gzip")]
    gateway.post("/graphql", key=key, fields=fields)
    gateway.post("/charges", key=f"{key}-2", fields=fields)
    names = [{name.lower() for name, _ in upstream.requests(k)[0]["fields"]}
             for k in (key, f"{key}-2")]
    assert ["accept-encoding" in each for each in names] == [False, True]


@pytest.mark.parametrize("code, meant", [("0", COMPLETE), ("14", RELEASE), ("13", UNKNOWN)])
def test_the_status_of_grpc(gateway, upstream, key, code, meant):
    check(gateway, upstream, key, meant, "/rpc", headers=[["grpc-status", code]])


def test_an_answer_that_no_cache_may_store_is_replayed(gateway, upstream, key):
    check(gateway, upstream, key, COMPLETE, headers=[["Cache-Control", "no-store"]])


def test_a_sign_of_a_proxy_is_logged(gateway, upstream, key):
    check(gateway, upstream, key, UNKNOWN, status=503, headers=[["X-Varnish", "7"]])
    gateway.says('"sign":"X-Varnish"')


def test_a_503_without_the_name_that_the_service_always_has(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream)
    named = [["Server", "uvicorn"]]
    assert gateway.get("/warm", plan={"headers": named}).status == 201
    for plan, meant in (({"status": 503, "headers": named}, RELEASE), ({"status": 503}, UNKNOWN),
                        ({"status": 404}, RELEASE)):
        key = fresh_key()
        gateway.post(key=key, plan=plan)
        assert gateway.state(key) == meant


def test_a_reload_does_not_forget_that_the_service_always_names_itself(start_gateway, own_upstream,
                                                                       fresh_key):
    gateway = start_gateway(own_upstream, CONFIG)
    assert gateway.post(key=fresh_key(), plan={"headers": [["Server", "uvicorn"]]}).status == 201
    moved = {"upstream": [{"name": "other", "identity": "elsewhere", "url": own_upstream.url}]}
    for config, meant in ((CONFIG, UNKNOWN), ({}, UNKNOWN), (moved, RELEASE)):
        before = gateway.log().count('"reloaded"')
        gateway.reload(config)
        wait_until(lambda before=before: gateway.log().count('"reloaded"') > before,
                   what="the reload")
        key = fresh_key()
        gateway.post(key=key, plan={"status": 503})
        assert gateway.state(key) == meant, config
