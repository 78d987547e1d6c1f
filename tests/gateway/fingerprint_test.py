"""What makes two requests the same."""

import json

import pytest

from support.client import fields_for
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

CONFIG = {
    "route": [
        {"path": "/json", "fingerprint": "json"},
        {"path": "/omit", "fingerprint": "json", "fingerprint_omit": ["/nonce", "/meta/at"]},
        {"path": "/pick", "fingerprint": "json", "fingerprint_pick": ["/amount", "/to/iban"]},
        {"path": "/none", "fingerprint": "none"},
        {"path": "/fails", "outcome": {"500": "fail"}, "backoff": "60s"},
    ]
}
AUTH = [("Authorization", "Bearer ann")]


def assert_reused(answer, first=None):
    assert_problem(answer, 422, "key-reused", False)
    if first is not None:
        assert first.body not in answer.body


def test_exact_covers_body_and_content_type(gateway, upstream, key):
    first = assert_first(gateway.post(key=key, body=b"a=1"))
    assert_reused(gateway.post(key=key, body=b"a=2"), first)
    assert_reused(gateway.post(key=key, body=b"a=1 "), first)
    assert_reused(gateway.post(key=key, body=b""), first)
    assert_reused(gateway.post(key=key, body=b"a=1", content_type="text/plain"), first)
    assert_reused(gateway.post(key=key, body=b"a=1", content_type=None), first)
    assert_replay_of(gateway.post(key=key, body=b"a=1"), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("route", ["/charges", "/json", "/none"])
@pytest.mark.parametrize("other", ["/x?q=1", "/x?q=2&r", "/y?q=2", "/x", "/x?q=%32"])
def test_path_and_query_are_always_covered(gateway, upstream, key, route, other):
    first = assert_first(gateway.post(f"{route}/x?q=2", key=key))
    assert_reused(gateway.post(route + other, key=key), first)
    assert_replay_of(gateway.post(f"{route}/x?q=2", key=key), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("route", ["/charges", "/json", "/none"])
def test_the_method_is_always_covered(gateway, key, route):
    first = assert_first(gateway.post(route, key=key))
    assert_reused(gateway.post(route, key=key, method="PATCH"), first)


def test_the_upstream_is_always_covered(start_gateway, upstream, own_upstream, key):
    gateway = start_gateway(upstream, {
        "upstream": [{"name": "one", "url": upstream.url}, {"name": "two",
                                                           "url": own_upstream.url}],
        "route": [{"host": "two.test", "path": "/", "upstream": "two"},
                  {"path": "/", "upstream": "one"}]})
    first = assert_first(gateway.post(key=key, fields=AUTH, host="one.test"))
    assert_reused(gateway.post(key=key, fields=AUTH, host="two.test"), first)
    assert_replay_of(gateway.post(key=key, fields=AUTH, host="three.test"), first)
    assert own_upstream.runs(key) == 0


def test_other_fields_are_not_covered(gateway, key):
    first = assert_first(gateway.post(key=key, fields=[("X-Request-Id", "1")]))
    assert_replay_of(gateway.post(key=key, fields=[("X-Request-Id", "2")]), first)


def test_a_chunked_body_is_the_same_body(gateway, key):
    body = b'{"amount":' + b"1" * 10_000 + b"}"
    first = assert_first(gateway.post(key=key, body=body))
    assert_replay_of(gateway.post(key=key, body=body, chunked=True), first)


SAME = {
    "spacing": ('{"a":1,"b":[1,2]}', ' { "b" : [1, 2],\n"a" : 1 } '),
    "order": ('{"a":{"x":1,"y":2},"b":null}', '{"b":null,"a":{"y":2,"x":1}}'),
    "numbers": ('{"a":100,"b":1.5}', '{"a":1e2,"b":1.50}'),
    "escapes": ('{"a":"A\\u00e9\\n"}', '{"a":"\\u0041\\u00E9\\u000a"}'),
    "minus zero": ('{"a":0}', '{"a":-0}'),
    "top-level array": ("[1, 2,{}]", "[1.0,2 , {}]"),
}
OTHER = {
    "value": ('{"a":1}', '{"a":2}'),
    "number and text": ('{"a":1}', '{"a":"1"}'),
    "order in an array": ("[1,2]", "[2,1]"),
    "missing and null": ('{"a":null}', "{}"),
    "case of a name": ('{"a":1}', '{"A":1}'),
    "duplicate names": ('{"a":1,"a":1}', '{"a":1, "a":1}'),
    "beyond 2^53": ('{"a":9007199254740993}', '{"a":9007199254740992}'),
    "spacing beyond 2^53": ('{"a":9007199254740993}', '{"a": 9007199254740993}'),
    "18 digits": ('{"a":0.123456789012345678}', '{"a": 0.123456789012345678}'),
    "no JSON": ("{a:1}", "{a: 1}"),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_json_sees_the_same_document(gateway, upstream, key, pair):
    first = assert_first(gateway.post("/json", key=key, body=pair[0].encode()))
    assert_replay_of(gateway.post("/json", key=key, body=pair[1].encode()), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("pair", OTHER.values(), ids=OTHER.keys())
def test_json_sees_another_document(gateway, key, pair):
    first = assert_first(gateway.post("/json", key=key, body=pair[0].encode()))
    assert_reused(gateway.post("/json", key=key, body=pair[1].encode()), first)
    assert_replay_of(gateway.post("/json", key=key, body=pair[0].encode()), first)


def test_the_canonical_form_is_no_body_that_is_exact(gateway, fresh_key):
    """What is taken as exact must not meet what is canonical with the same bytes."""
    key = fresh_key()
    first = assert_first(gateway.post("/json", key=key, body=b'{"a":1}'))
    assert_reused(gateway.post("/json", key=key, body=b'{"a":1,"a":1}'), first)


def test_pointers_can_be_left_out(gateway, key):
    def body(nonce, time, amount):
        return json.dumps({"nonce": nonce, "meta": {"at": time, "by": "x"},
                           "amount": amount}).encode()
    first = assert_first(gateway.post("/omit", key=key, body=body(1, 1, 5)))
    assert_replay_of(gateway.post("/omit", key=key, body=body(2, 9, 5)), first)
    assert_reused(gateway.post("/omit", key=key, body=body(1, 1, 6)), first)


def test_pointers_can_be_picked(gateway, key):
    def body(amount, iban, note):
        return json.dumps({"amount": amount, "to": {"iban": iban, "name": note}}).encode()
    first = assert_first(gateway.post("/pick", key=key, body=body(5, "DE1", "a")))
    assert_replay_of(gateway.post("/pick", key=key, body=body(5, "DE1", "b")), first)
    assert_reused(gateway.post("/pick", key=key, body=body(5, "DE2", "a")), first)
    assert_reused(gateway.post("/pick", key=key, body=b'{"amount":5}'), first)


def test_none_leaves_out_the_body(gateway, key):
    first = assert_first(gateway.post("/none", key=key, body=b"a"))
    assert_replay_of(gateway.post("/none", key=key, body=b"b", content_type="text/plain"), first)


def test_a_mismatch_is_answered_while_the_first_runs(gateway, upstream, key):
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        assert_reused(gateway.post(key=key, body=b"other"))
        upstream.open(key)
        assert_first(running.read())
    assert upstream.runs(key) == 1


def test_a_mismatch_is_answered_while_failed(gateway, upstream, key):
    assert gateway.post("/fails", key=key, plan={"status": 500}).status == 500
    assert_reused(gateway.post("/fails", key=key, body=b"other"))
    assert_problem(gateway.post("/fails", key=key), 409, "backing-off", True, True)
    assert upstream.runs(key) == 1


def test_a_mismatch_is_answered_while_unknown(gateway, upstream, key):
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    assert_reused(gateway.post(key=key, body=b"other"))
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


def test_after_a_release_another_request_may_have_the_key(gateway, upstream, key):
    assert gateway.post(key=key, body=b"wrong", plan={"status": 400}).status == 400
    first = assert_first(gateway.post(key=key, body=b"right"))
    assert_reused(gateway.post(key=key, body=b"wrong"), first)
    assert upstream.runs(key) == 2


def reload_to(gateway, fingerprint, target, key_of_probe):
    """Reloads and waits until requests are fingerprinted anew."""
    gateway.reload({"defaults": {"fingerprint": fingerprint}})
    attempts = iter(range(10_000))

    def reloaded():
        key = f"{key_of_probe}-{next(attempts)}"
        gateway.post(target, key=key, body=b'{"a":1}')
        same = gateway.post(target, key=key, body=b'{ "a":1}').replayed
        return same == (fingerprint == "json")
    wait_until(reloaded, what="the reload")


@pytest.mark.parametrize("before, after", [("exact", "json"), ("json", "exact")])
def test_a_repeat_is_compared_as_its_record_says(start_gateway, upstream, key, before, after):
    gateway = start_gateway(upstream, {"defaults": {"fingerprint": before}})
    first = assert_first(gateway.post(key=key, body=b'{"a":1,"b":2}'))
    reload_to(gateway, after, "/charges", key + "-x")
    assert_replay_of(gateway.post(key=key, body=b'{"a":1,"b":2}'), first)
    respaced = gateway.post(key=key, body=b'{"b":2, "a":1}')
    if before == "json":
        assert_replay_of(respaced, first)
    else:
        assert_reused(respaced, first)
    assert_reused(gateway.post(key=key, body=b'{"a":1,"b":3}'), first)


def test_an_empty_body_and_none_at_all_are_the_same(gateway, key):
    first = assert_first(gateway.post(key=key, body=b"", content_type=None))
    assert_replay_of(gateway.ask("POST", "/charges", fields_for(key)), first)
