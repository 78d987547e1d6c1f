"""A process that has handed its sockets over, and whose store is away for longer than its drain: it
stays until the store has heard how its requests ended."""

import contextlib

import pytest

from support.expecting import assert_problem, assert_replay_of
from support.tcp_gate import TcpGate
from support.upgrading import adopting_orphans, upgrade
from support.waiting import wait_until


@pytest.fixture(autouse=True)
def orphans():
    with adopting_orphans():
        yield


@pytest.fixture
def gate(postgres_server):
    with contextlib.closing(TcpGate(postgres_server.port.number)) as between:
        yield between


@pytest.fixture
def gateway(start_gateway, own_upstream, postgres_server, database, gate):
    url = postgres_server.url(database).replace(f":{postgres_server.port.number}/",
                                                f":{gate.port}/")
    return start_gateway(own_upstream, {
        "store": {"url": url, "timeout": "1s"},
        "gateway": {"drain": "3s", "settle_wait": "500ms"},
        "defaults": {"lease": "5s"}})


def begun(gateway, upstream, key):
    """A POST that has arrived upstream: a busy machine's store may be late, and then the client
    comes again."""
    def tried():
        connection = gateway.begin_post(key=key, plan={"gate": key})
        wait_until(lambda: upstream.runs(key) or not connection.silent_for(0.01), what="a run")
        if upstream.runs(key):
            return connection
        with connection:
            assert connection.read().get("Onceguard-Retry") == "same-key"
        return None
    return wait_until(tried, what="the store")


@contextlib.contextmanager
def ran_unrecorded(gateway, upstream, gate, key):
    """The former process, which drains. What it ran is recorded nowhere, and meanwhile the store is
    away."""
    with begun(gateway, upstream, key) as running:
        former = upgrade(gateway)
        with gate.holding():
            upstream.open(key)
            assert_problem(running.read(), 503, "store-unreachable", True)
            gateway.says('"drain-outlasted"')
            assert former.poll() is None
            yield former


def test_it_stays_until_the_store_is_back(gateway, own_upstream, gate, key):
    with ran_unrecorded(gateway, own_upstream, gate, key) as former:
        pass
    assert former.wait(90) == 0
    drained, = gateway.logged("drained")
    assert (drained["left"], drained["unrecorded"]) == (0, 0)
    def answered():
        """The new process has been without its store, too."""
        return wait_until(lambda: (said := gateway.post(key=key)).status != 503 and said,
                          what="the store")
    first = answered()
    assert first.status == 201 and first.replayed
    assert_replay_of(answered(), first)
    assert own_upstream.runs(key) == 1


def test_sigterm_ends_it(gateway, own_upstream, gate, key):
    with ran_unrecorded(gateway, own_upstream, gate, key) as former:
        former.terminate()
        assert former.wait(90) == 0
        drained, = gateway.logged("drained")
        assert drained["unrecorded"] == 1
        gate.cut()  # with what is on its way

    def unknown():
        answer = gateway.post(key=key)
        return answer.problem == "outcome-unknown"
    wait_until(unknown, timeout=30, what="the end of the lease")
    assert own_upstream.runs(key) == 1
