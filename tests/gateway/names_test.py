"""Upstreams by host names, whose look-up may hang."""

import contextlib
import socket

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.names import Names
from support.waiting import wait_until


@pytest.fixture
def names(onceguard):
    return Names(onceguard)


@pytest.fixture
def begin(start_gateway, upstream, names):
    """Starts a gateway before slow.test, and before quick.test below /quick."""
    def start(**gateway):
        port = upstream.address[1]
        made = start_gateway(upstream, {
            "gateway": {"connect_timeout": "200ms", "threads": 2, **gateway},
            "upstream": [{"name": "slow", "url": f"http://slow.test:{port}"},
                         {"name": "quick", "url": f"http://quick.test:{port}"}],
            "route": [{"path": "/quick", "upstream": "quick"}]}, started=False)
        made.environment = names.environment
        return made.start()
    return start


def test_a_name_is_looked_up_and_kept_for_a_while(begin, names, upstream, fresh_key):
    names.add("slow.test")
    gateway = begin(connect_timeout="10s")
    for key in (fresh_key(), fresh_key()):
        assert_first(gateway.post(key=key, plan={"close": True}))
    assert names.look_ups("slow.test") == 1


def test_a_name_that_is_not_to_be_found(start_gateway, upstream, key):
    gateway = start_gateway("http://nowhere.invalid:9", {})
    answer = gateway.post(key=key)
    assert_problem(answer, 502, "upstream-unreachable", True)
    assert gateway.state(key) == "released"


def test_a_name_that_is_to_be_found_later_is_looked_up_again(begin, names, key):
    gateway = begin(connect_timeout="10s")
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    names.add("slow.test")
    assert_first(gateway.post(key=key))


def test_a_resolution_that_hangs_is_a_failed_connection(begin, names, upstream, key):
    names.add("slow.test", hangs=True)
    gateway = begin()
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    assert gateway.state(key) == "released"
    assert_problem(gateway.get("/"), 502, "upstream-unreachable", True)
    names.go_on("slow.test")
    wait_until(lambda: gateway.post(key=key).status == 201, what="the upstream in reach")
    assert upstream.runs(key) == 1


@contextlib.contextmanager
def swallowing_port():
    """On all addresses of this machine: whoever connects to it hears nothing at all."""
    with contextlib.ExitStack() as held:
        full = held.enter_context(socket.create_server(("0.0.0.0", 0), backlog=0))
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", full.getsockname()[1]))
        yield full.getsockname()[1]


def test_all_addresses_of_a_name_share_the_time_to_connect(start_gateway, names, key):
    """Each with the whole of it would take minutes."""
    names.add("many.test", addresses=[f"127.0.1.{i}" for i in range(1, 61)])
    with swallowing_port() as port:
        gateway = start_gateway(f"http://many.test:{port}", {"gateway": {"connect_timeout": "2s"}},
                                started=False)
        gateway.environment = names.environment
        assert_problem(gateway.start().post(key=key), 502, "upstream-unreachable", True)
    assert gateway.state(key) == "released"


def test_all_requests_share_one_resolution(begin, names, upstream, fresh_key):
    names.add("slow.test", hangs=True)
    gateway = begin()
    keys = [fresh_key() for _ in range(12)]
    asked = [request_bytes("POST", "/charges", fields_for(key), b"x") for key in keys]
    for answer in all_at_once(gateway.address, asked):
        assert_problem(answer, 502, "upstream-unreachable", True)
    assert names.look_ups("slow.test") == 1
    names.go_on("slow.test")
    wait_until(lambda: gateway.post(key=keys[0]).status == 201, what="the upstream in reach")
    assert names.look_ups("slow.test") == 1
    for key in keys[1:]:
        # A busy machine may take longer than connect_timeout, and nothing is sent then.
        wait_until(lambda key=key: gateway.post(key=key).status == 201, what="the upstream")
        assert upstream.runs(key) == 1


def test_waiting_requests_go_on_when_the_name_is_resolved(begin, names, upstream, fresh_key):
    names.add("slow.test", hangs=True)
    gateway = begin(connect_timeout="60s")
    keys = [fresh_key() for _ in range(4)]
    asking = [gateway.begin_post(key=key) for key in keys]
    wait_until(lambda: names.look_ups("slow.test") == 1, what="the look-up")
    names.go_on("slow.test")
    for key, connection in zip(keys, asking):
        assert_first(connection.read())
        connection.close()
        assert upstream.runs(key) == 1


def test_a_slow_name_holds_up_no_other_upstream(begin, names, upstream, key):
    names.add("slow.test", hangs=True)
    names.add("quick.test")
    gateway = begin(connect_timeout="60s", threads=1)
    with gateway.begin_post() as waiting:
        wait_until(lambda: names.look_ups("slow.test") == 1, what="the look-up")
        assert_first(gateway.post("/quick", key=key))
        names.go_on("slow.test")
        assert_first(waiting.read())


def test_a_slow_name_holds_up_no_shutdown(begin, names, key):
    names.add("slow.test", hangs=True)
    gateway = begin()
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    assert gateway.stop() == 0
    assert names.look_ups("slow.test") == 1


def test_a_shutdown_during_a_resolution_releases_the_key(begin, names, key):
    """Nothing was sent, so nothing can have happened."""
    names.add("slow.test", hangs=True)
    gateway = begin(connect_timeout="60s", drain="1s")
    with gateway.begin_post(key=key):
        wait_until(lambda: names.look_ups("slow.test") == 1, what="the look-up")
        assert gateway.stop() == 0
    assert gateway.state(key) == "released"
