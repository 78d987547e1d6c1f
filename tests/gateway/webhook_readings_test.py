"""Ways around a signature, and what a delivery gets that comes too late."""

import hashlib
import hmac
import time
import uuid

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of

SECRET = "a secret of forty characters, or so"
OWN = {"name": "own", "id": ["header:X-Id"], "signature": "header:X-Mac",
       "signed": "{id}.{timestamp}.{body}", "timestamp": "header:X-Time", "tolerance": "5m",
       "refused_status": 401}


def signed(name, body=b'{"amount":1}', age=0):
    now = str(int(time.time()) - age)
    mark = hmac.new(SECRET.encode(), f"{name}.{now}.".encode() + body, hashlib.sha256).hexdigest()
    return [("X-Id", name), ("X-Time", now), ("X-Mac", mark)]


@pytest.fixture
def begin(start_gateway, own_upstream, tmp_path):
    def start(*more, **route):
        secret = tmp_path / "secret"
        secret.write_text(SECRET + "\n")
        hooks = {"path": "/hooks/own", "webhook": "own", "webhook_secret_file": str(secret)}
        return start_gateway(own_upstream, {
            "webhook": [OWN], "route": [{**hooks, **route}, *more]}, started=False).start()
    return start


@pytest.mark.parametrize("path", [
    "/HOOKS/own", "/hooks/own.json", "/hooks/own%20", "/hooks/%4Fwn", "/hooks/OWN/more",
    "/hooks%252Fown"])
def test_another_reading_of_a_path_leads_around_no_signature(begin, own_upstream, path):
    gateway = begin()
    name = f"evt-{uuid.uuid4()}"
    refused = gateway.post(path, body=b'{"amount":1}', fields=[("X-Id", name)])
    assert_problem(refused, 400, "bad-request", False)
    assert_first(gateway.post("/hooks/owner", key=name))


def test_another_host_leads_around_no_signature(begin, own_upstream):
    gateway = begin(host="hooks.example")
    refused = gateway.post("/hooks/own", body=b'{"amount":1}')
    assert_problem(refused, 400, "bad-request", False)


def test_a_rule_that_says_so_lets_through_what_is_not_signed(begin):
    gateway = begin({"path": "/hooks/own/health"})
    assert gateway.post("/hooks/own/health", body=b"{}").status == 201


def test_a_delivery_that_was_done_gets_its_answer_also_after_its_time(begin, own_upstream):
    gateway = begin()
    name = f"evt-{uuid.uuid4()}"
    body = b'{"amount":1}'
    late = signed(name, body, age=3600)
    assert_problem(gateway.post("/hooks/own", body=body, fields=late), 401, "delivery-expired",
                   False)
    assert own_upstream.runs(f'"{name}"') == 0
    first = assert_first(gateway.post("/hooks/own", body=body, fields=signed(name, body)))
    assert_replay_of(gateway.post("/hooks/own", body=body, fields=late), first)
    gateway.restart()
    assert_replay_of(gateway.post("/hooks/own", body=body, fields=late), first)
    assert own_upstream.runs(f'"{name}"') == 1


def test_an_id_that_could_end_elsewhere_is_refused(begin, own_upstream):
    gateway = begin()
    name = f"evt-{uuid.uuid4()}.1"
    refused = gateway.post("/hooks/own", body=b"{}", fields=signed(name, b"{}"))
    assert_problem(refused, 401, "signature-invalid", False)
    assert own_upstream.runs(f'"{name}"') == 0


def test_what_runs_together_is_refused_by_check(begin, start_gateway, own_upstream, tmp_path):
    gateway = start_gateway(own_upstream, started=False)
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")
    for content in ("{id}{timestamp}{body}", "{timestamp}.{id}{body}"):
        gateway.write_config({
            "webhook": [{**OWN, "signed": content, "tolerance": "0s"}],
            "route": [{"path": "/h", "webhook": "own", "webhook_secret_file": str(secret)}]})
        done = gateway.command("check", "--config", str(gateway.config_path))
        assert done.returncode == 3 and "two values side by side" in done.stderr, done
