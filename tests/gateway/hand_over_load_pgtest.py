"""Upgrades, restarts and reloads one after the other while requests come, on PostgreSQL: none
fails, and none takes effect twice. The clients are those of hand_over_load_test.py."""

import pytest

from support.upgrading import Load, adopting_orphans, reload_often, restart_often, upgrade_often


@pytest.fixture
def begin(start_gateway, own_upstream, postgres_server, database):
    def start(started=True, **more):
        gateway = {"drain": "60s", "access_log": "off", **more}
        store = {"url": postgres_server.url(database), "timeout": "10s"}
        return start_gateway(own_upstream, {"gateway": gateway, "store": store}, started=started)
    return start


def test_upgrades(begin, own_upstream):
    gateway = begin()
    with adopting_orphans():
        with Load(gateway, own_upstream) as load:
            upgrade_often(gateway, load)
        assert gateway.stop() == 0


def test_restarts_by_a_manager_that_keeps_the_sockets(begin, own_upstream):
    restart_often(begin(started=False), own_upstream)


def test_reloads(begin, own_upstream):
    gateway = begin()
    with Load(gateway, own_upstream) as load:
        reload_often(gateway, load)
    assert gateway.stop() == 0
