"""Whose request it is and what it asks for, where a header or the host says so; what only looks
like another request; and what a client is advised to do."""

import gzip
import json
import subprocess

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.node import NODE, TESTS

AUTH = [("Authorization", "Bearer ann")]
JSON = b'{"amount":1,"to":"ann"}'


def post(gateway, key, body=JSON, fields=(), target="/charges", **how):
    return gateway.post(target, key=key, body=body, fields=AUTH + list(fields), **how)


def assert_refused(answer, advice):
    assert_problem(answer, 422, "key-reused", False)
    assert answer.get("Onceguard-Retry") == advice, answer


@pytest.mark.parametrize("name, advice", [
    ("Xero-Tenant-Id", "no"), ("Stripe-Account", "no"), ("OpenAI-Organization", "no"),
    ("X-Merchant-Id", "no"), ("X-Store", "no"), ("SOAPAction", "new-key"),
    ("X-Amz-Target", "new-key"), ("X-HTTP-Method-Override", "new-key"), ("X-Dry-Run", "new-key")])
def test_a_header_that_names_account_or_operation_counts(gateway, upstream, key, name, advice):
    first = assert_first(post(gateway, key, fields=[(name, "one")]))
    assert_refused(post(gateway, key, fields=[(name, "two")]), advice)
    assert_refused(post(gateway, key), advice)
    assert_replay_of(post(gateway, key, fields=[(name.lower(), "one")]), first)
    assert upstream.runs(key) == 1


def test_a_number_of_the_try_does_not_count(gateway, upstream, key):
    first = assert_first(post(gateway, key, fields=[("X-Operation-Id", "1")]))
    assert_replay_of(post(gateway, key, fields=[("X-Operation-Id", "2")]), first)
    assert upstream.runs(key) == 1


def test_the_host_counts(gateway, upstream, key):
    first = assert_first(post(gateway, key, host="a.test"))
    assert_refused(post(gateway, key, host="b.test"), "no")
    assert_replay_of(post(gateway, key, host="A.test:443"), first)
    assert upstream.runs(key) == 1


def test_headers_are_added_and_taken_out(start_gateway, own_upstream, key):
    listed = {"fingerprint_headers": ["X-Region", "-Host", "-X-Store"]}
    gateway = start_gateway(own_upstream, {"defaults": listed})
    first = assert_first(post(gateway, key, fields=[("X-Region", "eu"), ("X-Store", "1")]))
    again = post(gateway, key, fields=[("X-Region", "eu"), ("X-Store", "2")], host="b.test")
    assert_replay_of(again, first)
    assert_refused(post(gateway, key, fields=[("X-Region", "us")]), "no")
    gateway.reload({})
    gateway.says("reloaded")
    assert_replay_of(post(gateway, key, fields=[("X-Region", "eu")], host="c.test"), first)
    assert_refused(post(gateway, key, fields=[("X-Region", "us")]), "no")
    assert own_upstream.runs(key) == 1


@pytest.mark.parametrize("change", [
    {"target": "/charges?b=2&a=1"}, {"target": "/charges/?a=1&b=2"}, {"target": "/charges?a=2"},
    {"body": b'{"to":"ann", "amount":1.0}'},
    {"body": b'{"amount":1,"to":"ann","deliveryAttempt":2}'},
    {"content_type": "application/json; charset=utf-8"}])
def test_another_writing_of_the_same_work_gets_no_advice_to_take_a_new_key(gateway, upstream, key,
                                                                           change):
    first = assert_first(post(gateway, key, target="/charges?a=1&b=2"))
    assert_refused(post(gateway, key, **{"target": "/charges?a=1&b=2", **change}), "no")
    assert_replay_of(post(gateway, key, target="/charges?a=1&b=2"), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("change", [
    {"target": "/refunds"}, {"method": "PATCH"},
    {"body": b'{"amount":2,"to":"ann"}'}])
def test_other_work_is_advised_to_take_a_new_key(gateway, upstream, key, change):
    assert_first(post(gateway, key))
    assert_refused(post(gateway, key, **change), "new-key")
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("name, value, lasts", [
    ("Cookie", "sid=1; LB={}", False), ("X-CSRF-Token", "{}", False),
    ("Sec-Fetch-Site", "{}", False),
    ("Cookie", "_gallery_session={}", True), ("Cookie", "sid={}", True)])
def test_callers_without_a_credential(gateway, upstream, key, name, value, lasts):
    def once(text):
        return gateway.post(key=key, fields=[(name, value.format(text))])
    first = assert_first(once("a"))
    if lasts:
        assert_refused(once("b"), "no")
    else:
        assert_replay_of(once("b"), first)
    assert upstream.runs(key) == 1


def test_a_gzip_body_is_its_contents(gateway, upstream, key):
    def once(text, mtime):
        return post(gateway, key, body=gzip.compress(text, mtime=mtime),
                    fields=[("Content-Encoding", "gzip")])
    first = assert_first(once(JSON, 1))
    assert_replay_of(once(JSON, 2), first)
    assert_refused(once(b'{"amount":2,"to":"ann"}', 1), "new-key")
    assert upstream.runs(key) == 1
    assert upstream.requests(key=key)[0]["size"] == len(gzip.compress(JSON, mtime=1))


def test_a_gzip_bomb_is_taken_as_it_came(gateway, upstream, key):
    bomb = gzip.compress(b"0" * 50_000_000, mtime=1)
    fields = [("Content-Encoding", "gzip")]
    before = gateway.memory("VmHWM")
    first = assert_first(post(gateway, key, body=bomb, fields=fields))
    assert_replay_of(post(gateway, key, body=bomb, fields=fields), first)
    assert gateway.memory("VmHWM") - before < 16 << 20
    assert upstream.runs(key) == 1


MULTIPART = """
import sys
import requests

url, key = sys.argv[1:]
for _ in range(2):
    answer = requests.post(url, data={"amount": "1"}, files={"slip": ("a.pdf", b"%PDF")},
                           headers={"Idempotency-Key": key, "Authorization": "Bearer ann"})
    print(answer.status_code, answer.headers.get("Idempotent-Replayed"))
"""


def test_python_requests_sends_a_form_twice(gateway, upstream, key):
    done = subprocess.run(["/usr/bin/python3", "-c", MULTIPART,
                           f"http://127.0.0.1:{gateway.port.number}/charges", key],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split("\n")[:2] == ["201 None", "201 true"]
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("profile", ["", "stripe"])
def test_stripe_s_sdk_with_two_accounts(start_gateway, own_upstream, key, profile):
    gateway = start_gateway(own_upstream, {"route": [{"path": "/v1", "profile": profile}]})
    calls = [{"amount": 100, "key": key, "account": account} for account in ("a", "b", "a")]
    wanted = json.dumps({"port": gateway.port.number, "calls": calls, "retries": 0})
    done = subprocess.run([NODE, "gateway/stripe_sdk.mjs", wanted], cwd=TESTS, capture_output=True,
                          text=True, timeout=120, check=True)
    first, other, again = json.loads(done.stdout)
    assert first["status"] == again["status"] == 201, (first, again)
    assert first["made"]["effect"] == again["made"]["effect"]
    assert other["status"] == (400 if profile else 422), other
    assert own_upstream.effects() == {key: 1}


def test_query_passes(gateway, upstream, key):
    """RFC 10008: safe, and with a body."""
    for number in (1, 2):
        answer = gateway.ask("QUERY", f"/search-{key}", fields_of(key), b"q=1")
        assert answer.status == 201 and not answer.replayed
        seen = upstream.requests(key=key)
        assert len(seen) == number
        assert (seen[-1]["method"], seen[-1]["body"]) == ("QUERY", "q=1")
    assert gateway.ask("QUERYX", "/search").status == 501


def fields_of(key):
    return [("Idempotency-Key", key), ("Content-Type", "text/plain"), *AUTH]


# ---- what of a stored answer depends on who asks

def test_a_gzip_answer_is_unpacked_for_who_does_not_accept_it(gateway, upstream, key):
    packed = gzip.compress(b"made", mtime=1)
    plan = {"body": packed.decode("latin-1"), "headers": [["Content-Encoding", "gzip"]]}
    accepts = [("Accept-Encoding", "gzip")]
    first = assert_first(post(gateway, key, plan=plan, fields=accepts))
    assert first.body == packed
    assert_replay_of(post(gateway, key, plan=plan, fields=accepts), first)
    plain = post(gateway, key, plan=plan, fields=[("Accept-Encoding", "br")])
    assert plain.replayed and plain.body == b"made" and plain.get("Content-Encoding") is None
    assert plain.get("Content-Length") == "4"
    assert upstream.runs(key) == 1


def test_another_origin_gets_no_word_that_it_may_read(gateway, upstream, key):
    plan = {"headers": [["Access-Control-Allow-Origin", "https://a.test"], ["Vary", "Origin"]]}
    first = assert_first(post(gateway, key, plan=plan, fields=[("Origin", "https://a.test")]))
    assert_replay_of(post(gateway, key, plan=plan, fields=[("Origin", "https://a.test")]), first)
    other = post(gateway, key, plan=plan, fields=[("Origin", "https://b.test")])
    assert other.replayed and other.body == first.body
    assert other.get("Access-Control-Allow-Origin") is None
    assert upstream.runs(key) == 1
