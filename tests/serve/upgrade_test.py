"""`onceguard serve` becomes another process (SIGUSR2), and takes a socket that it is given."""

import contextlib
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import uuid

import pytest

from support.decisions import DecisionService, busy, fresh, stays
from support.gateway import clean_environment
from support.notify_socket import NotifySocket
from support.ports import Port
from support.upgrading import Descendant, adopting_orphans
from support.waiting import wait_until


@pytest.fixture
def start(onceguard, tmp_path):
    made = []

    def begin(config=None, started=True):
        made.append(DecisionService(onceguard, tmp_path, config))
        return made[-1].start() if started else made[-1]

    yield begin
    for one in made:
        one.close()


def test_the_new_process_answers_at_the_same_socket_and_knows_what_runs(start):
    with adopting_orphans():
        service = start({"gateway": {"drain": "60s"}})
        key, inode = fresh(), os.stat(service.address).st_ino
        with service.client() as client:
            running = client.run(key=key)
            former = service.process
            former.send_signal(signal.SIGUSR2)
            wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
            service.process = Descendant(service.events("handed-over")[-1]["pid"])
            with service.client() as other:
                assert other.claim(key=key).json()["verdict"] == "busy"
                assert other.run(key=fresh())
            busy(client)  # the former one waits for the settle
            assert former.poll() is None
            assert client.complete(running["operation"]).json()["outcome"] == "settled"
        assert former.wait(60) == 0
        assert os.stat(service.address).st_ino == inode
        with service.client() as other:
            assert other.claim(key=key).json()["verdict"] == "replay"
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
        service.process = None
    assert not os.path.exists(service.address), "the last process removes the socket's file"


def test_whoever_hears_that_a_process_drains_is_at_its_successor_with_the_next_connection(start):
    with adopting_orphans():
        service = start({"gateway": {"drain": "60s"}})
        former, claim, key = service.process, uuid.uuid4().hex, fresh()
        with service.client() as holder, service.client() as kept:
            running = holder.run(key=fresh())
            assert kept.complete(kept.run(key=fresh())["operation"]).get("Connection") is None
            former.send_signal(signal.SIGUSR2)
            wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
            service.process = Descendant(service.events("handed-over")[-1]["pid"])
            refused = wait_until(lambda: draining(holder), 20, "the drain")
            assert refused.get("Connection") is None, "a lease hangs on it"
            refused = kept.claim(key=key, claim=claim)
            assert (refused.status, refused.json()["type"].rpartition(":")[2]) == (503, "draining")
            assert refused.get("Connection") == "close"
            assert kept.socket.recv(1) == b"", "and it ends"
            with service.client() as other:
                assert other.complete(
                    other.run(key=key, claim=claim)["operation"]).json()["outcome"] == "settled"
            settled = holder.complete(running["operation"])
            assert settled.json()["outcome"] == "settled"
            assert settled.get("Connection") == "close", "its last lease has ended"
        assert former.wait(60) == 0


def draining(client):
    """The refusal of a claim on a connection of a process that drains; before that, none."""
    got = client.claim(key=fresh())
    if got.status == 503:
        return got
    client.settle(got.json()["operation"], "release")
    return None


def test_a_successor_elsewhere_leaves_no_socket_behind(start):
    with adopting_orphans():
        service = start()
        former, service.address = service.address, service.sockets.name + "/other"
        service.listen = f"unix:{service.address}"
        service.write_config()
        process = service.process
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
        service.process = Descendant(service.events("handed-over")[-1]["pid"])
        assert process.wait(60) == 0
        assert not os.path.exists(former)
        with service.client() as client:
            assert client.run(key=fresh())


def has(process, mask, number):
    """Whether the signal is in that mask of /proc: SigCgt, which are caught, ShdPnd, which wait."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(f"{mask}:"))
    return int(line.split()[1], 16) >> (number - 1) & 1


def test_signals_of_the_start_are_carried_out_when_it_is_over(start):
    with adopting_orphans():
        service = start(started=False)
        with contextlib.closing(sqlite3.connect(service.store.partition(":")[2])) as locked:
            locked.execute("BEGIN EXCLUSIVE")
            process = service.begin()
            wait_until(lambda: has(process, "SigCgt", signal.SIGUSR2), 60, "the handlers")
            for number in (signal.SIGHUP, signal.SIGUSR2):
                process.send_signal(number)
                wait_until(lambda: not has(process, "ShdPnd", number), 60, "the signal's end")
            assert not service.events("serving"), "the start is over"
        wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
        service.process = Descendant(service.events("handed-over")[-1]["pid"])
        assert process.wait(60) == 0
        assert service.events("reloaded")
        with service.client() as client:
            assert client.run(key=fresh())


def test_a_reload_meanwhile_reaches_the_successor(start):
    with adopting_orphans():
        service = start({"gateway": {"drain": "60s"}})
        former = service.process
        with service.client() as holder, \
                contextlib.closing(sqlite3.connect(service.store.partition(":")[2])) as locked:
            running = holder.run(key=fresh())
            locked.execute("BEGIN EXCLUSIVE")
            former.send_signal(signal.SIGUSR2)
            begun = wait_until(lambda: service.events("upgrade-begun"), 60, "the successor")
            successor = Descendant(begun[0]["pid"])
            wait_until(lambda: has(successor, "SigCgt", signal.SIGHUP), 60, "its handlers")
            assert service.reload() == "reloaded"
            service.process = successor
            locked.rollback()
            wait_until(lambda: len(service.events("reloaded")) == 2, 60, "the successor's reload")
            assert service.events("handed-over")
            # Whoever has looked the process up before sends a signal to the former one.
            former.send_signal(signal.SIGHUP)
            wait_until(lambda: len(service.events("reloaded")) == 3, 60, "the successor's reload")
            assert holder.complete(running["operation"]).json()["outcome"] == "settled"
        assert former.wait(60) == 0


def test_a_reload_during_the_start_says_nothing_of_its_end(start, tmp_path):
    manager = NotifySocket(tmp_path / "notify")
    service = start(started=False)
    with contextlib.closing(manager), \
            contextlib.closing(sqlite3.connect(service.store.partition(":")[2])) as locked:
        locked.execute("BEGIN EXCLUSIVE")
        process = service.begin({"NOTIFY_SOCKET": manager.name})
        wait_until(lambda: has(process, "SigCgt", signal.SIGHUP), 60, "the handlers")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: not has(process, "ShdPnd", signal.SIGHUP), 60, "the signal's end")
        assert stays(lambda: not service.events("serving"), 0.5)
        locked.rollback()
        wait_until(lambda: service.events("reloaded"), 60, "the reload")
        manager.receives("READY")
        assert "answering clients at" in manager.messages[0]["STATUS"]


def threads_of(process):
    names = []
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            names.append((task / "comm").read_text(encoding="ascii").strip())
    return names


@pytest.mark.parametrize("succeeds", (True, False))
def test_the_start_of_a_successor_has_a_limit(start, succeeds):
    """Its store does not answer, and nobody may be there any more to end it."""
    service = start(started=False)
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with socket.socket() as silent, here, there:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        service.write_config(
            {"store": {"url": f"postgresql://127.0.0.1:{silent.getsockname()[1]}/none"}})
        name = "predecessor" if succeeds else "other"
        with open(service.log_path, "ab") as log:
            service.process = subprocess.Popen(
                ["env", "LISTEN_FDS=1", f"LISTEN_FDNAMES={name}", "bash", "-c",
                 'LISTEN_PID=$$ exec "$@" 3<&0 0</dev/null', "bash", service.binary, "serve",
                 "--config", service.config_path],
                stdin=there.fileno(), stdout=log, stderr=log, env=clean_environment())
        silent.settimeout(60)
        silent.accept()[0].close()  # it opens the store
        # A thread gives itself its name.
        wait_until(lambda: ("og-start" in threads_of(service.process)) == succeeds,
                   what="the thread of the start")


SLOW = {"lease": "30m", "upstream_timeout": "1h"}


@pytest.mark.parametrize("by_name", (True, False))
def test_what_a_policy_lets_run_is_waited_for_after_a_loss(start, by_name):
    """Whoever ran before the store lost its memory may run still: for its lease, and its time."""
    service = start({"store": {"after_loss": "refuse"},
                     **({"policy": [{"name": "slow", **SLOW}]} if by_name else {})})
    with service.client() as client:
        client.run(key=fresh(), **({} if by_name else {"policy": SLOW}))
        for part in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{service.folder}/onceguard.db{part}")

        def refused():
            got = client.claim(key=fresh()).json()
            return got if got.get("retry_after_ms", 0) > 60_000 else None

        found = wait_until(refused, 20, "the loss")
        assert found["verdict"] == "store_failed"
        assert 80 * 60_000 < found["retry_after_ms"] <= 90 * 60_000


def test_a_store_of_one_process_is_not_handed_over(start):
    service = start({"store": {"url": "memory:"}})
    service.process.send_signal(signal.SIGUSR2)
    wait_until(lambda: service.events("upgrade-refused"), 20, "the refusal")
    assert "the store belongs to this process" in service.events("upgrade-refused")[0]["why"]
    with service.client() as client:
        assert client.run(key=fresh())


def test_a_successor_that_can_not_start_leaves_the_service_as_it_was(start):
    with adopting_orphans():
        service = start()
        service.write_config({"serve": {"threads": -1}})
        service.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: service.events("upgrade-failed"), 60, "the end of the successor")
        with service.client() as client:
            assert client.run(key=fresh())


def test_a_successor_that_fails_late_leaves_the_socket_where_it_was(start, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("operator " + "a" * 32 + "\n")
    tokens.chmod(0o600)
    with adopting_orphans(), contextlib.closing(Port()) as port:
        service = start({"gateway": {"admin": f"127.0.0.1:{port.number}",
                                     "admin_token_file": str(tokens)}})
        tokens.write_text("no token\n")
        service.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: service.events("upgrade-failed"), 60, "the end of the successor")
        with service.client() as client:
            assert client.run(key=fresh())


def test_a_socket_that_somebody_else_made_is_taken(start):
    service = start(started=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(service.address)
        listening.listen(16)
        # A client that comes before the process has its answer from it.
        with service.client() as early:
            early.send("GET", "/healthz")
            with open(service.log_path, "ab") as log:
                service.process = subprocess.Popen(
                    ["env", "LISTEN_FDS=1", "LISTEN_FDNAMES=serve", "bash", "-c",
                     'LISTEN_PID=$$ exec "$@" 3<&0 0</dev/null', "bash", service.binary, "serve",
                     "--config", service.config_path],
                    stdin=listening.fileno(), stdout=log, stderr=log, env=clean_environment())
            assert early.read("GET").status == 200
        assert service.stop() == 0
    assert os.path.exists(service.address), "it belongs to whoever made it"


def test_a_socket_elsewhere_than_the_file_says_is_refused(start, tmp_path):
    service = start(started=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(service.sockets.name + "/other")
        listening.listen(16)
        done = subprocess.run(
            ["env", "LISTEN_FDS=1", "LISTEN_FDNAMES=serve", "bash", "-c",
             'LISTEN_PID=$$ exec "$@" 3<&0 0</dev/null', "bash", service.binary, "serve",
             "--config", service.config_path],
            stdin=listening.fileno(), capture_output=True, text=True, timeout=60, check=False,
            env=clean_environment())
    assert done.returncode == 3
    assert "the passed socket" in done.stderr and "listens at unix:" in done.stderr
