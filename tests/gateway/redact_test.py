"""Routes that keep less than the whole answer: the first caller gets all of it, repeats and
operators what is kept, and what can't be read is not kept at all."""

import base64
import gzip
import json

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

MARK = "Onceguard-Redacted"
PAID = {"id": "p-1", "card": {"number": "4111-sesame", "cvv": 737}, "sum": 12345678901234567890,
        "items": [{"code": "sesame-1"}, {"code": "sesame-2", "n": 1}]}
KEPT = {"id": "p-1", "card": {"number": "[redacted]", "cvv": None}, "sum": 12345678901234567890,
        "items": [{"code": "[redacted]"}, {"code": "[redacted]", "n": 1}]}
RULES = ["/card/number", "/card/cvv", "/items/*/code", "header:X-Session"]


def plan_of(body, **more):
    headers = [["Content-Type", "application/json"], ["X-Session", "sesame-header"],
               ["ETag", '"sesame"'], ["Location", "/payments/p-1"]]
    return {"body": body if isinstance(body, str) else json.dumps(body), "headers": headers, **more}


def config_of(store=None, **defaults):
    return {"gateway": {"replay_cache": "0"}, "store": store or {}, "defaults": defaults}


def test_repeats_get_the_redacted_answer_on_every_store(start_gateway, own_upstream, store, key):
    gateway = start_gateway(own_upstream, config_of(store, redact=RULES))
    first = assert_first(gateway.post(key=key, plan=plan_of(PAID)))
    assert first.json() == PAID
    assert first.get("X-Session") == "sesame-header" and first.get("ETag") == '"sesame"'
    assert first.get(MARK) is None
    again = gateway.post(key=key)
    assert again.replayed and again.status == 201
    assert again.json() == KEPT
    assert int(again.get("Content-Length")) == len(again.body)
    assert (again.get(MARK), again.get("Location")) == ("true", "/payments/p-1")
    assert again.get("X-Session") is None and again.get("ETag") is None
    gateway.restart()
    # A slow copy into an accelerator turns a repeat away until the next poll.
    assert_replay_of(wait_until(lambda: (got := gateway.post(key=key)).problem != "in-progress"
                                and got, what="the answer"), again)
    assert own_upstream.runs(key) == 1
    shown = gateway.command("keys", "show", key)
    assert "p-1" in shown.stdout and "sesame" not in shown.stdout


def test_what_is_redacted_is_in_no_file(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, config_of(redact=RULES))
    for _ in range(20):
        assert b"sesame" in assert_first(gateway.post(key=fresh_key(), plan=plan_of(PAID))).body
    gateway.stop()
    files = b"".join(path.read_bytes()
                     for path in gateway.database.parent.glob(gateway.database.name + "*"))
    assert b"p-1" in files and b"sesame" not in files
    assert "sesame" not in gateway.log()


def test_an_answer_without_such_values_is_kept_byte_for_byte(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, config_of(redact=RULES[:3]))
    first = assert_first(gateway.post(key=key, plan=plan_of(' { "id" : "p-1" } ')))
    again = assert_replay_of(gateway.post(key=key), first)
    assert again.get(MARK) is None and again.get("ETag") == '"sesame"'


@pytest.mark.parametrize("cache", ["0", "16MiB"])
def test_who_waits_for_its_twin_gets_the_redacted_answer(start_gateway, own_upstream, key, cache):
    config = config_of(redact=RULES, on_busy="wait")
    config["gateway"]["replay_cache"] = cache
    gateway = start_gateway(own_upstream, config)
    with gateway.begin_post(key=key, plan=plan_of(PAID, gate=key)) as running:
        own_upstream.arrived(1, key)
        with gateway.begin_post(key=key) as waiter:
            assert waiter.silent_for(0.2)
            own_upstream.open(key)
            assert assert_first(running.read()).json() == PAID
            waited = waiter.read()
    assert waited.replayed and waited.json() == KEPT
    assert_replay_of(gateway.post(key=key), waited)
    assert own_upstream.runs(key) == 1


def test_what_can_not_be_read_is_not_kept(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, config_of(redact=RULES))
    for body in ("<p>4111-sesame</p>", '{"card": {"number": "sesame"}', '{"card": 1, "card": 2}'):
        key = fresh_key()
        assert assert_first(gateway.post(key=key, plan=plan_of(body))).body == body.encode()
        assert_problem(gateway.post(key=key), 409, "answer-not-kept", False)
        assert own_upstream.runs(key) == 1
        assert gateway.state(key) == "completed"
    line = gateway.logged("answer-not-redacted")[0]
    assert line["route"] == "/" and "no JSON" in line["why"]


def test_a_service_that_packs_unasked_is_unpacked(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, config_of(redact=RULES))
    packed = gzip.compress(json.dumps(PAID).encode())
    raw = (b"HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\n"
           b"Content-Length: %d\r\n\r\n" % len(packed)) + packed
    first = gateway.post(key=key, plan={"raw": base64.b64encode(raw).decode()},
                         fields=[("Accept-Encoding", "gzip")])
    assert first.body == packed
    sent = own_upstream.requests(key)[0]["fields"]
    assert "accept-encoding" not in [name.lower() for name, _ in sent]
    again = gateway.post(key=key, fields=[("Accept-Encoding", "gzip")])
    assert again.replayed and again.get("Content-Encoding") is None
    assert again.json() == KEPT


def test_only_what_is_picked_is_kept(start_gateway, own_upstream, store, key):
    picked = ["/id", "/card", "header:Location"]
    gateway = start_gateway(own_upstream, config_of(store, answer_pick=picked, redact=RULES))
    assert assert_first(gateway.post(key=key, plan=plan_of(PAID))).json() == PAID
    again = gateway.post(key=key)
    assert again.replayed
    assert again.json() == {"id": "p-1", "card": {"number": "[redacted]", "cvv": None}}
    names = {name.lower() for name, _ in again.fields}
    assert names == {"content-type", "location", "onceguard-redacted", "idempotent-replayed",
                     "date", "content-length"} | (names & {"connection", "keep-alive"})


def test_of_a_status_only_answer_headers_are_picked(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream,
                            config_of(answer="status", answer_pick=["header:Location"]))
    assert assert_first(gateway.post(key=key, plan=plan_of(PAID))).json() == PAID
    again = gateway.post(key=key)
    assert (again.status, again.body, again.replayed) == (201, b"", True)
    assert (again.get("Location"), again.get("X-Session")) == ("/payments/p-1", None)
