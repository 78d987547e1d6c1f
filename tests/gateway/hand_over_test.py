"""A gateway becomes another process (SIGUSR2): what happens to sockets, connections and requests,
and when it does not."""

import contextlib
import os
import pathlib
import shutil
import signal

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.ports import Port
from support.secure import SecureConnection, trusting
from support.stuck_thread import StuckThread, threads_called
from support.upgrading import Descendant, adopting_orphans, is_gone, stop, upgrade
from support.waiting import Stopwatch, wait_until

# Far above what a slow machine needs for a request.
CONFIG = {"gateway": {"drain": "100s"}}


@pytest.fixture(autouse=True)
def orphans():
    with adopting_orphans():
        yield


def send(connection, target, key, plan=None):
    connection.send_request("POST", target, fields_for(key, plan), b"x")


def opened_for_writing(pipe):
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None  # nobody reads it yet


def test_the_new_process_serves_and_the_old_one_ends(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, CONFIG)
    key, later = fresh_key(), fresh_key()
    first = assert_first(gateway.post(key=key))
    former = upgrade(gateway)
    assert former.wait(60) == 0
    assert_replay_of(gateway.post(key=key), first)
    assert_first(gateway.post(key=later))
    taken, = gateway.logged("taken-over")
    assert taken["pid"] == former.pid
    # And once more: what was inherited can be passed on.
    former = upgrade(gateway)
    assert former.wait(60) == 0
    assert_replay_of(gateway.post(key=key), first)
    assert gateway.stop() == 0
    assert gateway.log_lines()[-1]["event"] == "stopped"


def test_the_new_process_is_no_child_of_the_old_one(start_gateway, upstream, key):
    """systemd sends SIGTERM and SIGKILL together to a main process that is not its own child when
    it is announced (main_pid_alien)."""
    gateway = start_gateway(upstream, CONFIG)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        former = upgrade(gateway)
        status = pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text()
        assert former.poll() is None
        assert f"\nPPid:\t{os.getpid()}\n" in status, "this process takes the orphans"
        upstream.open(key)
        assert_first(running.read())


def test_a_request_that_runs_is_finished_by_the_old_process(start_gateway, upstream, key):
    gateway = start_gateway(upstream, CONFIG)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        former = upgrade(gateway)
        # The new process knows of it by the store.
        busy = gateway.post(key=key, plan={"gate": key})
        assert (busy.status, busy.get("Content-Type")) == (409, "application/problem+json")
        assert former.poll() is None
        upstream.open(key)
        first = assert_first(running.read())
        assert first.get("Connection") == "close"
        assert former.wait(60) == 0
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("secured", [False, True], ids=["clear", "tls"])
def test_a_kept_connection_gets_its_next_answer(start_gateway, authority, upstream, fresh_key,
                                                secured):
    """Nothing told its client before that it must not be used again."""
    config = {"gateway": dict(CONFIG["gateway"])}
    if secured:
        certificate, key = authority.issue("gateway")
        config["gateway"].update(tls_certificate=certificate, tls_key=key)
    gateway = start_gateway(upstream, config, started=False).start()

    def connect():
        if secured:
            return SecureConnection(gateway.address, trusting(authority))
        return gateway.connect()
    with connect() as kept, connect() as untouched:
        key = fresh_key()
        send(kept, f"/{key}", key)
        assert_first(kept.read())
        former = upgrade(gateway)
        clock = Stopwatch()
        for connection in kept, untouched:
            wait_until(lambda: clock.seconds > 1.5, what="longer than a plain stop leaves it")
            assert former.poll() is None
            key = fresh_key()
            send(connection, f"/{key}", key)
            answer = assert_first(connection.read())
            assert answer.get("Connection") == "close"
            assert connection.closed_within(30)
            assert upstream.runs(key) == 1
    assert former.wait(60) == 0


def test_idle_connections_are_not_waited_for_until_the_end(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"gateway": {"drain": "5s"}})
    with gateway.connect() as idle:
        idle.send_request("GET", "/")
        assert_first(idle.read())
        former = upgrade(gateway)
        assert idle.closed_within(30)
        assert former.wait(60) == 0
    drained = gateway.logged("drained")[0]
    assert drained["left"] == 0


def test_connections_in_the_queue_are_answered(start_gateway, upstream, fresh_key):
    """The old process is not running when they come."""
    gateway = start_gateway(upstream, CONFIG)
    keys = [fresh_key() for _ in range(40)]
    gateway.signal(signal.SIGSTOP)
    with contextlib.ExitStack() as stack:
        queued = [stack.enter_context(gateway.connect()) for _ in keys]
        for connection, key in zip(queued, keys):
            send(connection, f"/{key}", key)
        former = gateway.process
        former.send_signal(signal.SIGUSR2)
        former.send_signal(signal.SIGCONT)
        gateway.process = Descendant(gateway.logged("handed-over")[0]["pid"])
        for connection in queued:
            assert_first(connection.read())
    assert former.wait(60) == 0
    assert [upstream.runs(key) for key in keys] == [1] * len(keys)


@pytest.mark.parametrize("used", [True, False], ids=["kept", "queued"])
def test_what_was_sent_before_a_plain_stop_is_answered(start_gateway, upstream, fresh_key, used):
    """The thread stands still when requests come, and the signal after them."""
    gateway = start_gateway(upstream, {"gateway": {**CONFIG["gateway"], "threads": 1}})
    keys = [fresh_key() for _ in range(40)]
    thread, = wait_until(lambda: threads_called(gateway.process.pid, "og-io"), what="the thread")
    with contextlib.ExitStack() as stack:
        def connect():
            return stack.enter_context(gateway.connect())
        waiting = [connect() for _ in keys] if used else []
        for connection in waiting:
            connection.send_request("GET", "/")
            assert_first(connection.read())
        with StuckThread(thread):
            waiting = waiting or [connect() for _ in keys]
            for connection, key in zip(waiting, keys):
                send(connection, f"/{key}", key)
            gateway.signal(signal.SIGTERM)
            gateway.logged("draining")
        for connection in waiting:
            answer = assert_first(connection.read())
            assert answer.get("Connection") == "close"
        assert gateway.wait() == 0
    assert [upstream.runs(key) for key in keys] == [1] * len(keys)


def test_the_admin_listener_goes_along(start_gateway, upstream, admin_listener):
    gateway = start_gateway(upstream, {"gateway": {**CONFIG["gateway"],
                                                   "admin": admin_listener.text}})
    with gateway.begin_post("/gate", plan={"gate": "admin"}) as running:
        upstream.arrived(1, path="/gate")
        upgrade(gateway)
        wait_until(lambda: admin_listener.get("/readyz").status == 200, what="readiness")
        assert {admin_listener.get("/readyz").status for _ in range(20)} == {200}
        upstream.open("admin")
        assert_first(running.read())


def test_a_socket_file_goes_along(start_gateway, upstream):
    gateway = start_gateway(upstream, {"gateway": {**CONFIG["gateway"],
                                                   "admin": "unix:admin.sock"}})
    former = upgrade(gateway)
    assert former.wait(60) == 0
    assert (gateway.folder / "admin.sock").is_socket()
    done = gateway.command("health", "--admin", "unix:admin.sock")
    assert done.returncode in (0, 2), done  # 2: it takes no --store
    assert gateway.stop() == 0
    assert not (gateway.folder / "admin.sock").exists()


@pytest.mark.parametrize("upgrades", [1, 2])
@pytest.mark.parametrize("admin", ["unix:other.sock", None], ids=["moved", "none"])
def test_a_socket_file_that_nobody_takes_over_goes(start_gateway, upstream, upgrades, admin):
    gateway = start_gateway(upstream, {"gateway": {**CONFIG["gateway"],
                                                   "admin": "unix:admin.sock"}})
    if upgrades == 2:
        assert upgrade(gateway).wait(60) == 0
    gateway.write_config({"gateway": {**CONFIG["gateway"], **({"admin": admin} if admin else {})}})
    assert upgrade(gateway).wait(60) == 0
    assert not (gateway.folder / "admin.sock").exists()
    assert (gateway.folder / "other.sock").exists() is (admin is not None)


def test_a_changed_address_is_the_new_process_s(start_gateway, upstream, key):
    gateway = start_gateway(upstream, CONFIG)
    with contextlib.closing(Port()) as other:
        gateway.write_config({"gateway": {**CONFIG["gateway"],
                                          "listen": f"127.0.0.1:{other.number}"}})
        former = upgrade(gateway)
        assert former.wait(60) == 0
        gateway.address = ("127.0.0.1", other.number)
        assert_first(gateway.post(key=key))
        gateway.stop()


def test_a_process_that_can_t_start_changes_nothing(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, CONFIG)
    right = gateway.config_path.read_text()
    gateway.config_path.write_text(right + '[gateway]\nno_such_option = 1\n')
    with gateway.connect() as kept:
        send(kept, "/x", fresh_key())
        assert_first(kept.read())
        gateway.signal(signal.SIGUSR2)
        gateway.says('"upgrade-failed"')
        assert "cannot redefine" in gateway.log(), "the new process says why"
        send(kept, "/x", fresh_key())
        assert assert_first(kept.read()).get("Connection", "keep-alive") == "keep-alive"
    assert_first(gateway.post(key=fresh_key()))
    gateway.config_path.write_text(right)
    assert upgrade(gateway).wait(60) == 0
    assert_first(gateway.post(key=fresh_key()))


def test_a_new_process_that_is_killed_while_it_starts_changes_nothing(start_gateway, upstream,
                                                                      fresh_key, tmp_path):
    gateway = start_gateway(upstream, CONFIG)
    config = gateway.config_path.read_text()
    gateway.config_path.unlink()
    os.mkfifo(gateway.config_path)
    gateway.signal(signal.SIGUSR2)
    begun, = gateway.logged("upgrade-begun")
    Descendant(begun["pid"]).kill()
    gateway.says('"upgrade-failed"')
    assert_first(gateway.post(key=fresh_key()))
    gateway.config_path.unlink()
    gateway.config_path.write_text(config)
    assert upgrade(gateway).wait(60) == 0


def test_a_process_with_another_store_is_no_successor(start_gateway, upstream, fresh_key, tmp_path):
    """What runs here would run there once more."""
    gateway = start_gateway(upstream, CONFIG)
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    gateway.write_config({**CONFIG, "store": {"url": f"sqlite:{tmp_path}/other.db"}})
    gateway.signal(signal.SIGUSR2)
    gateway.says('"upgrade-failed"')
    assert "the running process has another store" in gateway.log()
    assert_replay_of(gateway.post(key=key), first)


@pytest.mark.parametrize("stopped", [False, True], ids=["waiting", "stopped"])
def test_who_ends_the_old_process_ends_the_new_one(start_gateway, own_upstream, stopped):
    """While it starts, and also where it does not go on at all: it would keep the sockets."""
    gateway = start_gateway(own_upstream, CONFIG)
    config = gateway.config_path.read_text()
    gateway.config_path.unlink()
    os.mkfifo(gateway.config_path)
    gateway.signal(signal.SIGUSR2)
    begun, = gateway.logged("upgrade-begun")
    successor = Descendant(begun["pid"])
    if stopped:
        stop(successor)
    assert gateway.stop() == 0
    wait_until(lambda: is_gone(successor), what="the end of the new process")
    gateway.config_path.unlink()
    gateway.config_path.write_text(config)
    gateway.start()
    assert_first(gateway.post(key="k"))


def test_the_new_process_does_not_outlast_the_stop_of_one_that_still_drains(start_gateway, upstream,
                                                                            key):
    """It has the sockets too: clients would wait at them for as long as the drain takes."""
    gateway = start_gateway(upstream, CONFIG)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        gateway.config_path.unlink()
        os.mkfifo(gateway.config_path)
        gateway.signal(signal.SIGUSR2)
        begun, = gateway.logged("upgrade-begun")
        successor = Descendant(begun["pid"])
        stop(successor)  # or it would end by itself: nobody writes the pipe
        gateway.signal(signal.SIGTERM)
        wait_until(lambda: is_gone(successor), what="the end of the new process")
        assert gateway.process.poll() is None, "the old process still drains"
        upstream.open(key)
        assert_first(running.read())
    assert gateway.process.wait(60) == 0


def test_a_successor_whose_predecessor_is_killed_goes_on_within_a_limit(start_gateway, upstream,
                                                                        key):
    """It has the sockets, so it must serve or end."""
    def goes_on():
        """Not where a busy machine writes the configuration later than it is waited for."""
        gateway = start_gateway(upstream, CONFIG)
        config = gateway.config_path.read_bytes()
        gateway.config_path.unlink()
        os.mkfifo(gateway.config_path)
        clock = Stopwatch()
        gateway.signal(signal.SIGUSR2)
        begun, = gateway.logged("upgrade-begun")
        gateway.kill()
        gateway.process = Descendant(begun["pid"])

        def limits():
            return threads_called(gateway.process.pid, "og-start")
        writer = None
        with contextlib.suppress(OSError):  # it has ended
            wait_until(lambda: limits() or is_gone(gateway.process), what="the limit of its start")
            writer = wait_until(lambda: opened_for_writing(gateway.config_path)
                                or is_gone(gateway.process), what="the reader of the pipe")
            if writer is not True:
                with open(writer, "wb") as pipe:
                    pipe.write(config)
        if clock.seconds > 1.5:
            return False
        assert writer is not None and writer is not True, "it has ended"
        gateway.logged("listening", 2)
        assert_first(gateway.post(key=key))
        wait_until(lambda: not limits(), what="the end of its start")
        assert gateway.stop() == 0
        return True
    assert any(goes_on() for _ in range(5))


def test_a_program_that_can_t_be_run_is_refused_with_its_reason(start_gateway, upstream, key,
                                                                tmp_path):
    gateway = start_gateway(upstream, CONFIG, started=False)
    program = tmp_path / "onceguard"
    shutil.copy(gateway.binary, program)
    gateway.binary = program
    gateway.start()
    program.chmod(0o600)
    gateway.signal(signal.SIGUSR2)
    refused, = gateway.logged("upgrade-refused")
    assert f"{program}: Permission denied" in refused["why"]
    assert_first(gateway.post(key=key))


def test_records_in_memory_are_not_left_behind(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {**CONFIG, "store": {"url": "memory:"}})
    first = assert_first(gateway.post(key=key))
    gateway.signal(signal.SIGUSR2)
    refused, = gateway.logged("upgrade-refused")
    assert "the store belongs to this process" in refused["why"]
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_a_draining_process_has_no_successor(start_gateway, upstream, key):
    gateway = start_gateway(upstream, CONFIG)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        gateway.signal(signal.SIGTERM)
        gateway.logged("draining")
        gateway.signal(signal.SIGUSR2)
        assert gateway.logged("upgrade-refused")[0]["why"] == "the gateway drains"
        upstream.open(key)
        assert_first(running.read())
    assert gateway.wait() == 0


def test_the_new_process_has_nothing_else_of_the_old_one(start_gateway, upstream, key):
    """A copy of a client's connection would keep that from ending."""
    gateway = start_gateway(upstream, CONFIG)
    with gateway.begin_post(key=key, plan={"gate": key, "close": True}) as running, \
            gateway.connect() as idle:
        upstream.arrived(1, key)
        upgrade(gateway)
        upstream.open(key)
        assert_first(running.read())
        assert running.closed_within(30)
        idle.send(request_bytes("GET", "/"))
        idle.reader.expect("GET")
        assert_first(idle.read())
        assert idle.closed_within(30)
