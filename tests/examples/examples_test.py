"""The unchanged services of examples/ behind a gateway: a retry takes effect once."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from support.client import all_at_once, ask, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.ports import Port
from support.waiting import wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
ORDER = b'{"amount":1999,"card":"4242"}'


def express_command():
    node = shutil.which("node")
    assert node, "Node.js is missing"
    installed = EXAMPLES / "express/node_modules/express/package.json"
    assert installed.is_file(), "run npm install in examples/express first"
    return [node, "server.js"]


SERVICES = {"express": express_command, "flask": lambda: [sys.executable, "app.py"]}


@pytest.fixture(params=SERVICES)
def service(request, tmp_path):
    """A running example, as its address."""
    port = Port()
    with open(tmp_path / "service.log", "wb") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *SERVICES[request.param]()],
            cwd=EXAMPLES / request.param, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "PORT": str(port.number)})
    address = ("127.0.0.1", port.number)

    def up():
        assert process.poll() is None, (tmp_path / "service.log").read_text()
        try:
            return ask(address, "GET", "/charges").status == 200
        except OSError:
            return False
    try:
        wait_until(up, timeout=30, what=request.param)
        yield address
    finally:
        process.kill()
        process.wait()
        port.close()


def ledger(address):
    return json.loads(ask(address, "GET", "/charges").body)


def test_a_retry_takes_effect_once(service, start_gateway, key):
    gateway = start_gateway("http://%s:%d" % service)
    first = assert_first(gateway.post(key=key, body=ORDER))
    for _ in range(3):
        assert_replay_of(gateway.post(key=key, body=ORDER), first)
    assert first.json() == {"id": 1, "amount": 1999, "card": "4242"}
    assert ledger(service) == {"count": 1, "charges": [first.json()]}
    assert ledger(gateway.address) == ledger(service)


def test_without_a_gateway_each_retry_is_another_charge(service, key):
    fields = [("Content-Type", "application/json"), ("Idempotency-Key", key)]
    for _ in range(3):
        assert ask(service, "POST", "/charges", fields, ORDER).status == 201
    assert ledger(service)["count"] == 3


def test_twenty_retries_at_once_take_effect_once(service, start_gateway, key):
    gateway = start_gateway("http://%s:%d" % service, {"defaults": {"on_busy": "wait"}})
    fields = [("Content-Type", "application/json")] + fields_for(key)
    answers = all_at_once(gateway.address,
                          [request_bytes("POST", "/charges", fields, ORDER)] * 20)
    assert {(a.status, a.body) for a in answers} == {(201, answers[0].body)}
    assert ledger(service)["count"] == 1


def test_a_charge_that_was_refused_may_be_corrected(service, start_gateway, key):
    gateway = start_gateway("http://%s:%d" % service)
    assert gateway.post(key=key, body=b'{"amount":-1}').status == 400
    first = assert_first(gateway.post(key=key, body=ORDER))
    assert_problem(gateway.post(key=key, body=b'{"amount":2}'), 422, "key-reused", False)
    assert_replay_of(gateway.post(key=key, body=ORDER), first)
    assert ledger(service)["count"] == 1
