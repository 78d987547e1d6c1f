"""Upgrades, restarts and reloads one after the other while requests come: none fails, and none
takes effect twice. The clients are wrk and Node's own agent on kept connections; a request in eight
of Node's takes two seconds, so that some run in each process that ends."""

import signal

import pytest

from support.upgrading import KeptClients, Load, SocketKeeper, Wrk, adopting_orphans, upgrade
from support.waiting import scaled

ROUNDS = 20


@pytest.fixture(params=["sqlite", "postgres"])
def store(request):
    """The table [store] of a gateway."""
    if request.param == "sqlite":
        return {}
    server, name = request.getfixturevalue("postgres_server"), request.getfixturevalue("database")
    return {"url": server.url(name), "timeout": "10s"}


@pytest.fixture
def begin(start_gateway, own_upstream, store):
    def start(started=True, **more):
        gateway = {"drain": "60s", "access_log": "off", **more}
        return start_gateway(own_upstream, {"gateway": gateway, "store": store}, started=started)
    return start


def upgrade_often(gateway, load):
    """Each process finishes what it has accepted, beside those that come after it."""
    ending = []
    for _ in range(scaled(ROUNDS, 3)):
        ending.append(upgrade(gateway))
        load.goes_on()
    assert [one.wait(60) for one in ending] == [0] * len(ending)


def test_upgrades(begin, own_upstream):
    gateway = begin()
    with adopting_orphans():
        with Load(gateway, own_upstream) as load:
            upgrade_often(gateway, load)
        assert gateway.stop() == 0


def test_upgrades_over_tls(begin, own_upstream, authority):
    certificate, key = authority.issue("gateway")
    gateway = begin(tls_certificate=certificate, tls_key=key)
    with adopting_orphans():
        with Load(gateway, own_upstream, "https") as load:
            upgrade_often(gateway, load)
        assert gateway.stop() == 0


def test_restarts_by_a_manager_that_keeps_the_sockets(begin, own_upstream):
    """Requests that come between two processes wait in the queue of the socket."""
    gateway = begin(started=False)
    keeper = SocketKeeper(gateway)
    try:
        gateway.start()
        with Load(gateway, own_upstream) as load:
            for _ in range(scaled(ROUNDS, 3)):
                assert gateway.stop() == 0
                gateway.start()
                load.goes_on()
    finally:
        keeper.close()


def test_reloads(begin, own_upstream):
    gateway = begin()
    with Load(gateway, own_upstream, kinds=(Wrk, KeptClients)) as load:
        for done in range(1, scaled(ROUNDS, 3) + 1):
            gateway.signal(signal.SIGHUP)
            gateway.logged("reloaded", done)
            load.goes_on()
    assert gateway.stop() == 0
