"""What `onceguard consume` says to a service manager."""

import contextlib
import signal

import pytest

from support.notify_socket import NotifySocket
from support.waiting import wait_until


@pytest.fixture
def manager(tmp_path, monkeypatch):
    with contextlib.closing(NotifySocket(tmp_path / "notify")) as running:
        monkeypatch.setenv("NOTIFY_SOCKET", running.name)
        monkeypatch.setenv("WATCHDOG_USEC", "1000000")
        yield running


def test_start_life_reload_and_stop_are_said(manager, consume):
    consumer = consume(command=["cat"])
    manager.receives("READY")
    manager.receives("WATCHDOG", 3)
    consumer.process.send_signal(signal.SIGHUP)
    manager.receives("READY", 2)
    consumer.process.send_signal(signal.SIGTERM)
    assert consumer.process.wait(60) == 0
    manager.receives("STOPPING")
    names = [name for message in manager.messages for name in message
             if name in ("READY", "RELOADING", "STOPPING")]
    assert names == ["READY", "RELOADING", "READY", "STOPPING"]


def test_what_it_starts_has_no_manager(manager, consume, stream, tmp_path):
    consume(command=["sh", "-c", "env > variables.txt"])
    stream.add("x", "m1")
    manager.receives("READY")
    path = tmp_path / "variables.txt"
    wait_until(lambda: path.exists() and "PATH=" in path.read_text(), 30, "the handler")
    assert "NOTIFY_SOCKET" not in path.read_text()
    assert "WATCHDOG" not in path.read_text()
