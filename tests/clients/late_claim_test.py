"""A claim whose answer comes after its lease: the process stood still meanwhile, or the network
did, and another one has run the work."""

import contextlib

import pytest

from clients.examples import example_of
from clients.golang_test import built, go_path  # noqa: F401
from clients.serving import answered, final
from support.tcp_gate import TcpGate
from support.waiting import wait_until

DEFAULTS = {"lease": "1s", "upstream_timeout": "1s", "unknown": "rerun"}


@pytest.fixture
def gate(start_serve):
    serve = start_serve({"defaults": DEFAULTS}, tcp=True)
    with contextlib.closing(TcpGate(serve.port.number)) as made:
        made.serve = serve
        yield made


@pytest.fixture(params=["express-5", "fastapi", "flask", "nethttp"])
def start(request, start_service, tmp_path):
    """Starts a service beside the decision service at a URL."""
    command, usual = example_of(request.param, request, tmp_path)
    return lambda url: start_service(command, url, usual)


def test_work_whose_lease_has_passed_before_it_began_is_not_run(gate, start, fresh_key):
    late, other = start(f"http://127.0.0.1:{gate.port}"), start(gate.serve)
    key = fresh_key()
    gate.hold_behind(key.encode())
    client = late.begin_post(key)
    gate.lost()
    wait_until(lambda: gate.serve.state(key), what="the claim")
    second = final(other, key, patience=20)
    assert (second.status, second.replayed) == (201, False)
    gate.pass_on()
    first = answered(client)
    assert (late.effects()[key], other.effects()[key]) == (0, 1)
    assert (first.status, first.body, first.replayed) == (201, second.body, True)
