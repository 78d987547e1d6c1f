"""Onceguard's own answers."""

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of

CONFIG = {
    "gateway": {"problem_base": "https://docs.shop.test/problems/"},
    "route": [{"path": "/required", "required": True}],
}


def test_problem_base_is_put_before_the_name(gateway):
    answer = gateway.post("/required")
    assert answer.json()["type"] == "https://docs.shop.test/problems/key-missing"
    assert_problem(answer, 400, "key-missing", False)


def test_the_default_base_is_a_urn(start_gateway, upstream):
    answer = start_gateway(upstream, {"defaults": {"required": True}}).post()
    assert answer.json()["type"] == "urn:onceguard:problem:key-missing"


def test_a_problem_leaves_the_connection_usable(gateway, key):
    with gateway.connect() as connection:
        connection.send_request("POST", "/required", [("Content-Length", "0")])
        assert_problem(connection.read(), 400, "key-missing", False)
        if not connection.ended:
            connection.send_request("POST", "/required", fields_for(key), b"")
            try:
                assert_first(connection.read())
            except ConnectionError:
                pytest.fail("the answer did not say that it would close")


def test_our_own_answers_are_never_stored(gateway, upstream, key):
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        assert_problem(gateway.post(key=key), 409, "in-progress", True, retry_after=True)
        assert_problem(gateway.post(key=key, body=b"x"), 422, "key-reused", False)
        upstream.open(key)
        first = assert_first(running.read())
    assert_replay_of(gateway.post(key=key), first)
    assert gateway.record(key)["state"] == "completed"


def test_the_path_is_not_echoed(gateway, key):
    answer = gateway.post(f"/required/<b>{key}</b>")
    assert answer.status == 400
    assert key.encode() not in answer.body


def test_nobody_can_forge_a_replay_mark(gateway, key):
    """Idempotent-Replayed says something about this gateway alone."""
    plan = {"headers": [["X-Other", "1"]]}
    first = assert_first(gateway.post(key=key, plan=plan))
    again = assert_replay_of(gateway.post(key=key), first)
    assert again.all("Idempotent-Replayed") == ["true"]


def test_two_problems_over_one_connection(gateway, fresh_key):
    with gateway.connect() as connection:
        for _ in range(2):
            connection.reader.expect("POST")
            key = fresh_key()
            connection.send(request_bytes("POST", "/charges", fields_for(key), b"a"))
            assert_first(connection.read())
            connection.reader.expect("POST")
            connection.send(request_bytes("POST", "/charges", fields_for(key), b"b"))
            assert_problem(connection.read(), 422, "key-reused", False)
