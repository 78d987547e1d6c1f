"""What a gateway says to a service manager (sd_notify), when its watchdog gets no sign of life, and
the sockets that it is given (LISTEN_FDS)."""

import contextlib
import os
import pathlib
import signal
import socket
import time
import uuid

import pytest

from support.client import fields_for
from support.expecting import assert_first
from support.manager import Manager, threads
from support.ports import Port
from support.stuck_thread import StuckThread
from support.upgrading import SocketKeeper, adopting_orphans, upgrade
from support.waiting import wait_until

PERIOD = 2  # of the watchdog, in seconds


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    name = tmp_path / "notify"
    running = Manager(f"@{uuid.uuid4()}" if request.param == "abstract" else name)
    yield running
    running.close()


@pytest.fixture
def begin(start_gateway, upstream, tmp_path):
    def start(manager, watchdog=0, started=True, **config):
        gateway = start_gateway(upstream, config, started=False)
        gateway.environment["NOTIFY_SOCKET"] = manager.name
        if watchdog:
            gateway.environment["WATCHDOG_USEC"] = str(int(watchdog * 1_000_000))
        return gateway.start() if started else gateway
    return start


@pytest.fixture
def watched(begin, tmp_path):
    """A gateway with a watchdog, and its manager."""
    running = Manager(tmp_path / "notify")
    gateway = begin(running, PERIOD, gateway={"threads": 2})
    running.hears("WATCHDOG", 2)
    yield gateway, running
    running.close()


def test_start_reload_and_stop_are_said(begin, manager):
    gateway = begin(manager)
    manager.hears("READY")
    heard = manager.hear()
    # Nobody waits for a gateway that is not ready.
    assert [message.get("READY") for message in heard] == [None] * (len(heard) - 1) + ["1"]
    assert f"127.0.0.1:{gateway.port.number}" in heard[-1]["STATUS"]
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    gateway.signal(signal.SIGHUP)
    manager.hears("READY", 2)
    reloading = [message for message in manager.heard if "RELOADING" in message]
    assert len(reloading) == 1
    assert before <= int(reloading[0]["MONOTONIC_USEC"]) <= time.clock_gettime_ns(
        time.CLOCK_MONOTONIC) // 1000
    names = [name for message in manager.heard for name in message if name in ("READY", "RELOADING")]
    assert names == ["READY", "RELOADING", "READY"]
    assert gateway.stop() == 0
    assert manager.hears("STOPPING") == ["1"]
    assert "draining" in manager.heard[-1]["STATUS"]
    assert "manager-not-told" not in gateway.log()


def test_a_refused_reload_ends_too(begin, manager):
    gateway = begin(manager)
    gateway.config_path.write_text("[gateway]\nno_such_option = 1\n")
    gateway.signal(signal.SIGHUP)
    manager.hears("READY", 2)
    assert "reload was refused" in manager.heard[-1]["STATUS"]


def test_without_a_watchdog_there_are_no_signs_of_life(begin, manager):
    begin(manager)
    manager.hears("READY")
    assert manager.silent_for(1, "WATCHDOG")


def test_a_watchdog_of_another_process_is_not_ours(begin, manager):
    gateway = begin(manager, 0.2, started=False)
    gateway.environment["WATCHDOG_PID"] = "1"
    gateway.start()
    manager.hears("READY")
    assert manager.silent_for(1, "WATCHDOG")


def test_signs_of_life_come_twice_in_each_period(begin, tmp_path):
    with contextlib.closing(Manager(tmp_path / "notify")) as running:
        begin(running, 0.5)
        began = time.monotonic()
        running.hears("WATCHDOG", 9)
        # Not faster, either: eight halves of a period.
        assert time.monotonic() - began > 8 * 0.25 - 0.3


def assert_no_life(manager):
    """What was on its way before is not counted: the look before may have been right."""
    wait_until(lambda: manager.silent_for(1.5 * PERIOD, "WATCHDOG"), 30, "the silence")


def test_a_stopped_process_gives_no_sign_of_life(watched):
    gateway, manager = watched
    gateway.signal(signal.SIGSTOP)
    manager.hear()
    assert manager.silent_for(2 * PERIOD, "WATCHDOG")
    count = len(manager.hears("WATCHDOG"))
    gateway.signal(signal.SIGCONT)
    manager.hears("WATCHDOG", count + 2)


@pytest.mark.parametrize("name, said", [("og-io", "an I/O thread"),
                                        ("og-leases", "the thread of the leases")])
def test_one_thread_that_is_stuck_is_enough(watched, name, said):
    gateway, manager = watched
    with StuckThread(threads(gateway.process.pid, name)[-1]):
        assert gateway.logged("watchdog-withheld")[0]["stuck"] == said
        assert_no_life(manager)
        count = len(manager.hears("WATCHDOG"))
    manager.hears("WATCHDOG", count + 2)


def test_a_store_s_thread_that_is_stuck_is_enough(watched, fresh_key):
    gateway, manager = watched
    assert_first(gateway.post(key=fresh_key()))
    with contextlib.ExitStack() as stack:
        stack.enter_context(StuckThread(threads(gateway.process.pid, "og-writer")[0]))

        def withheld():
            stack.enter_context(gateway.begin_post(key=fresh_key()))
            return "watchdog-withheld" in gateway.log()
        wait_until(withheld, 30, "the watchdog withheld")
        assert "the store's" in gateway.logged("watchdog-withheld")[0]["stuck"]
        assert_no_life(manager)
        count = len(manager.hears("WATCHDOG"))
    manager.hears("WATCHDOG", count + 2)


def test_a_store_out_of_reach_is_no_reason_to_end_the_gateway(watched, begin, tmp_path):
    with contextlib.closing(Manager(tmp_path / "second")) as running, \
            contextlib.closing(Port()) as nobody:
        begin(running, PERIOD, store={"url": f"postgresql://127.0.0.1:{nobody.number}/x"})
        running.hears("WATCHDOG", 5)
        assert any("the store" in value for value in running.hears("STATUS"))


def test_after_an_upgrade_the_new_process_speaks(watched, fresh_key):
    gateway, manager = watched
    with adopting_orphans():
        count = len(manager.hears("READY"))
        former = upgrade(gateway)
        manager.hears("READY", count + 1)
        assert manager.hears("MAINPID") == [str(gateway.process.pid)]
        names = [name for message in manager.hear() for name in message]
        # The unit does not stop.
        assert "STOPPING" not in names
        assert former.wait(30) == 0
        beats = len(manager.hears("WATCHDOG"))
        manager.hears("WATCHDOG", beats + 3)
        assert gateway.stop() == 0
    manager.hears("STOPPING")


def test_a_manager_that_is_gone_holds_nothing_up(begin, manager, fresh_key):
    gateway = begin(manager, 0.4)
    manager.hears("READY")
    manager.close()
    if not manager.name.startswith("@"):
        pathlib.Path(manager.name).unlink()
    gateway.logged("manager-not-told")
    assert_first(gateway.post(key=fresh_key()))
    assert gateway.stop() == 0


# ---- sockets that are passed --------------------------------------------------------------
@pytest.fixture
def keep(start_gateway, upstream):
    """A gateway, not started, whose sockets somebody keeps."""
    kept = []

    def start(others=None, **config):
        gateway = start_gateway(upstream, config, started=False)
        kept.append(SocketKeeper(gateway, **(others or {})))
        return gateway
    yield start
    for one in kept:
        one.close()


def test_a_request_that_came_before_the_process_is_answered(keep, fresh_key):
    gateway = keep()
    for _ in range(2):
        with gateway.begin_post(key=fresh_key()) as early:
            gateway.start()
            assert_first(early.read())
        assert gateway.stop() == 0


def test_a_socket_with_a_name_goes_before_the_address_of_the_file(keep, fresh_key):
    with contextlib.closing(Port()) as other:
        gateway = keep(gateway={"listen": f"127.0.0.1:{other.number}"})
        gateway.start()
        assert_first(gateway.post(key=fresh_key()))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", other.number), timeout=5)
        assert gateway.logged("listening")[0]["address"] == f"127.0.0.1:{gateway.port.number}"


def test_without_names_addresses_tell(keep, fresh_key):
    gateway = keep()
    gateway.launcher[2] = "LISTEN_FDNAMES="
    gateway.start()
    assert_first(gateway.post(key=fresh_key()))


def test_sockets_for_another_process_are_left_alone(keep, fresh_key):
    """LISTEN_PID is that of a parent: a program between has not cleaned up."""
    gateway = keep()
    gateway.launcher[-2] = gateway.launcher[-2].replace("$$", "1")
    gateway.start(wait=False)
    assert gateway.wait() == 1
    assert "bind" in gateway.logged("start-failed")[0]["why"]


def test_admin_is_passed_as_well(keep, admin_listener):
    gateway = keep({"admin": admin_listener.address}, gateway={"admin": admin_listener.text})
    gateway.start()
    assert admin_listener.get("/readyz").status == 200


def test_admin_elsewhere_than_the_file_says_is_refused(keep, admin_listener):
    """The file's address was found to need no token."""
    gateway = keep({"admin": admin_listener.address}, gateway={"admin": "unix:admin.sock"})
    gateway.start(wait=False)
    assert gateway.wait() == 3
    assert admin_listener.text in gateway.logged("start-failed")[0]["why"]


def test_a_socket_of_no_use_is_said(keep, fresh_key):
    with contextlib.closing(Port()) as other:
        gateway = keep({"metrics": ("127.0.0.1", other.number)})
        gateway.start()
        line, = gateway.logged("passed-socket-not-used")
        assert (line["name"], line["address"]) == ("metrics", f"127.0.0.1:{other.number}")
        assert_first(gateway.post(key=fresh_key()))


def test_a_socket_that_does_not_listen_is_refused(keep):
    gateway = keep()
    connected = socket.socketpair()
    os.dup2(connected[0].fileno(), gateway.passed[0])
    gateway.start(wait=False)
    assert gateway.wait() in (1, 3)
    assert "no TCP socket" in gateway.logged("start-failed")[0]["why"]
    for one in connected:
        one.close()


def test_what_systemd_itself_passes_is_taken(start_gateway, upstream, key):
    gateway = start_gateway(upstream, started=False)
    gateway.launcher = ["systemd-socket-activate", "--fdname=gateway", "-l",
                        f"127.0.0.1:{gateway.port.number}"]
    gateway.start()  # by the first connection
    assert_first(gateway.post(key=key))
    assert gateway.logged("listening")[0]["address"] == f"127.0.0.1:{gateway.port.number}"
    with gateway.connect() as connection:
        connection.send_request("POST", "/x", fields_for(key + "2"), b"x")
        assert_first(connection.read())
    assert gateway.stop() == 0
