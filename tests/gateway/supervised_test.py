"""What a gateway says to a service manager (sd_notify), and when its watchdog gets no sign of
life."""

import contextlib
import pathlib
import signal
import time
import uuid

import pytest

from support.client import fields_for
from support.expecting import assert_first
from support.notify_socket import NotifySocket
from support.ports import Port
from support.stuck_thread import StuckThread, threads_called
from support.upgrading import adopting_orphans, upgrade
from support.waiting import wait_until

PERIOD = 1  # in which the manager expects a sign of life, in seconds


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    name = tmp_path / "notify"
    running = NotifySocket(f"@{uuid.uuid4()}" if request.param == "abstract" else name)
    yield running
    running.close()


@pytest.fixture
def begin(start_gateway, upstream, tmp_path):
    def start(manager, interval=0, started=True, **config):
        gateway = start_gateway(upstream, config, started=False)
        gateway.environment["NOTIFY_SOCKET"] = manager.name
        if interval:
            gateway.environment["WATCHDOG_USEC"] = str(int(interval * 1_000_000))
        return gateway.start() if started else gateway
    return start


@pytest.fixture
def watched(begin, tmp_path):
    """A gateway with a watchdog, and its manager."""
    running = NotifySocket(tmp_path / "notify")
    gateway = begin(running, PERIOD, gateway={"threads": 2})
    running.receives("WATCHDOG", 2)
    yield gateway, running
    running.close()


def test_start_reload_and_stop_are_said(begin, manager):
    gateway = begin(manager)
    manager.receives("READY")
    messages = manager.read()
    # Nobody waits for a gateway that is not ready.
    assert [message.get("READY") for message in messages] == [None] * (len(messages) - 1) + ["1"]
    assert f"127.0.0.1:{gateway.port.number}" in messages[-1]["STATUS"]
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    gateway.signal(signal.SIGHUP)
    manager.receives("READY", 2)
    reloading = [message for message in manager.messages if "RELOADING" in message]
    assert len(reloading) == 1
    assert before <= int(reloading[0]["MONOTONIC_USEC"]) <= time.clock_gettime_ns(
        time.CLOCK_MONOTONIC) // 1000
    names = [name for message in manager.messages for name in message
             if name in ("READY", "RELOADING")]
    assert names == ["READY", "RELOADING", "READY"]
    assert gateway.stop() == 0
    assert manager.receives("STOPPING") == ["1"]
    assert "draining" in manager.messages[-1]["STATUS"]
    assert "manager-unreachable" not in gateway.log()


def test_a_refused_reload_ends_too(begin, manager):
    gateway = begin(manager)
    gateway.config_path.write_text("[gateway]\nno_such_option = 1\n")
    gateway.signal(signal.SIGHUP)
    manager.receives("READY", 2)
    assert "reload was refused" in manager.messages[-1]["STATUS"]


def test_without_an_interval_there_are_no_signs_of_life(begin, manager):
    begin(manager)
    manager.receives("READY")
    assert manager.silent_for(1, "WATCHDOG")


def test_an_interval_of_another_process_is_not_ours(begin, manager):
    gateway = begin(manager, 0.2, started=False)
    gateway.environment["WATCHDOG_PID"] = "1"
    gateway.start()
    manager.receives("READY")
    assert manager.silent_for(1, "WATCHDOG")


def test_signs_of_life_come_twice_in_each_period(begin, tmp_path):
    with contextlib.closing(NotifySocket(tmp_path / "notify")) as running:
        began = time.monotonic()  # before it: what came meanwhile counts, too
        begin(running, 0.5)
        running.receives("WATCHDOG", 17)
        # Not faster, either: sixteen halves of a period.
        assert time.monotonic() - began > 16 * 0.25 - 0.3


def withheld_for(gateway, thread):
    """On a slow machine others may have been late before."""
    wait_until(lambda: any(line["stuck"] == thread for line in gateway.log_lines()
                           if line["event"] == "thread-stuck"), 5, "the thread in the log")


def assert_no_life(manager):
    """What was on its way before is not counted: the look before may have been right."""
    wait_until(lambda: manager.silent_for(1.5 * PERIOD, "WATCHDOG"), 5, "the silence")


def test_a_stopped_process_gives_no_sign_of_life(watched):
    gateway, manager = watched
    gateway.signal(signal.SIGSTOP)
    manager.read()
    assert manager.silent_for(2 * PERIOD, "WATCHDOG")
    count = len(manager.receives("WATCHDOG"))
    gateway.signal(signal.SIGCONT)
    manager.receives("WATCHDOG", count + 2)


@pytest.mark.parametrize("name, said", [("og-io", "an I/O thread"),
                                        ("og-leases", "the thread of the leases")])
def test_one_thread_that_is_stuck_is_enough(watched, name, said):
    gateway, manager = watched
    with StuckThread(threads_called(gateway.process.pid, name)[-1]):
        withheld_for(gateway, said)
        assert_no_life(manager)
        count = len(manager.receives("WATCHDOG"))
    manager.receives("WATCHDOG", count + 2)


def test_a_store_s_thread_that_is_stuck_is_enough(watched, fresh_key):
    gateway, manager = watched
    assert_first(gateway.post(key=fresh_key()))
    with contextlib.ExitStack() as stack:
        stack.enter_context(StuckThread(threads_called(gateway.process.pid, "og-writer")[0]))

        def withheld():
            stack.enter_context(gateway.begin_post(key=fresh_key()))
            return "thread-stuck" in gateway.log()
        wait_until(withheld, 30, "the watchdog withheld")
        withheld_for(gateway, "the store's")
        assert_no_life(manager)
        count = len(manager.receives("WATCHDOG"))
    manager.receives("WATCHDOG", count + 2)


def test_a_store_out_of_reach_is_no_reason_to_end_the_gateway(watched, begin, tmp_path):
    with contextlib.closing(NotifySocket(tmp_path / "second")) as running, \
            contextlib.closing(Port()) as nobody:
        begin(running, PERIOD, store={"url": f"postgresql://127.0.0.1:{nobody.number}/x"})
        running.receives("WATCHDOG", 5)
        assert any("the store" in value for value in running.receives("STATUS"))


def test_after_an_upgrade_the_new_process_speaks(watched, fresh_key):
    gateway, manager = watched
    with adopting_orphans():
        count = len(manager.receives("READY"))
        before = len(manager.read())
        former = upgrade(gateway)
        manager.receives("READY", count + 1)
        assert manager.receives("MAINPID") == [str(gateway.process.pid)]
        names = [name for message in manager.read() for name in message]
        # The unit does not stop.
        assert "STOPPING" not in names
        # Before that, the new process says nothing: the manager does not know it.
        assert not [message for message in manager.messages[before:]
                    if "opening" in message.get("STATUS", "")]
        assert former.wait(60) == 0
        beats = len(manager.receives("WATCHDOG"))
        manager.receives("WATCHDOG", beats + 3)
        assert gateway.stop() == 0
    manager.receives("STOPPING")


def test_a_manager_that_is_gone_holds_nothing_up(begin, manager, fresh_key):
    gateway = begin(manager, 0.4)
    manager.receives("READY")
    manager.close()
    if not manager.name.startswith("@"):
        pathlib.Path(manager.name).unlink()
    gateway.logged("manager-unreachable")
    assert_first(gateway.post(key=fresh_key()))
    assert gateway.stop() == 0
