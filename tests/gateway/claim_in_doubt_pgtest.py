"""The reply to a claim is lost, and the store stays away for longer than the lease: nothing was
sent, and no client hears that nobody knows."""

import contextlib

import pytest

from support.executing import pause
from support.expecting import assert_problem, assert_replay_of
from support.tcp_gate import TcpGate
from support.waiting import wait_until


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_what_was_never_sent_is_busy_and_then_free(request, start_gateway, own_upstream, key, kind):
    server = request.getfixturevalue(f"{kind}_server")
    store = server.create_store()
    url = server.url(store) if kind == "postgres" else store
    with contextlib.closing(TcpGate(server.port.number)) as gate:
        gateway = start_gateway(own_upstream, {
            "store": {"url": url.replace(f":{server.port.number}", f":{gate.port}"),
                      "timeout": "1s"},
            "defaults": {"lease": "1s"}})
        wait_until(lambda: gateway.post(key="before").status == 201, what="a first run")
        gate.hold_behind(key.encode())
        refused = []

        def ask():
            answer = gateway.post(key=key)
            if answer.status != 201 and not gateway.left_no_time(answer):
                name = "in-progress" if answer.status == 409 else "store-unreachable"
                assert_problem(answer, answer.status, name, True, retry_after=True)
                refused.append(name)
            return answer.status == 201 and answer

        assert not ask()
        gate.lost()
        pause(3.5)
        gate.pass_on()
        first = wait_until(ask, timeout=30, what="the release of the claim")
        assert_replay_of(wait_until(ask, what="the replay"), first)
        assert own_upstream.runs(key) == 1
