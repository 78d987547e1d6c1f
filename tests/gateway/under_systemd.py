"""A service of systemd that is restarted, reloaded and upgraded under load: no request fails.

Not of the suites that run each time: it needs root, and a kernel that lets it make namespaces.
    python3 -m pytest gateway/under_systemd.py
"""

import contextlib

import pytest

from support.systemd import Systemd
from support.upgrading import ROUNDS, Load
from support.waiting import scaled, wait_until


@pytest.fixture
def service(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"gateway": {"access_log": "off", "drain": "60s"}},
                            started=False)
    with contextlib.closing(Systemd(gateway)) as running:
        running.gateway = gateway
        yield running


def restart(service):
    before = service.shown("MainPID")
    service.control("restart", "og.service")
    assert service.shown("MainPID") != before


def reload(service):
    before = service.shown("MainPID")
    service.control("reload", "og.service")
    assert service.shown("MainPID") == before


def upgrade(service):
    before = service.shown("MainPID")
    service.control("kill", "-s", "USR2", "--kill-whom=main", "og.service")
    wait_until(lambda: service.shown("MainPID") != before, 30, "the new main process")


@pytest.mark.parametrize("act", [restart, reload, upgrade])
def test_no_request_fails(service, own_upstream, act):
    assert "taking requests at" in service.shown("StatusText")
    with Load(service.gateway, own_upstream, late=2 if act is restart else 0) as load:
        for _ in range(scaled(ROUNDS, 3)):
            act(service)
            assert service.state() == "active"
            load.goes_on()
    assert service.shown("NRestarts") == "0"
    # The main process after an upgrade is stopped as the first one is: it drains.
    service.control("stop", "og.service", "og.socket")
    assert (service.shown("Result"), service.shown("ExecMainStatus")) == ("success", "0")
