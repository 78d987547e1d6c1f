"""Upgrades of a running gateway, restarts by a manager that keeps the sockets, and clients that
notice each request that fails meanwhile."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import uuid

from support.node import NODE
from support.waiting import scaled, wait_until

SUPPORT = pathlib.Path(__file__).resolve().parent
PR_SET_CHILD_SUBREAPER = 36
LINE = 60  # bytes of an effect in the upstream's file, at least
ROUNDS = 20


@contextlib.contextmanager
def adopting_orphans():
    """Within it, processes whose parents end become children of this one, as they would of init."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


class Descendant:
    """A process that another one has started, as a subprocess.Popen."""

    def __init__(self, pid):
        self.pid, self.returncode = pid, None

    def poll(self):
        if self.returncode is None:
            # Not a child of this process before its parent has ended.
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid == self.pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=60):
        wait_until(lambda: self.poll() is not None, timeout, f"the end of process {self.pid}")
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)


def is_gone(process):
    """Whoever has taken note of its end."""
    return process.poll() is not None or not os.path.exists(f"/proc/{process.pid}")


def stop(process):
    """Nothing where it has ended: a successor waits two seconds for who writes its configuration,
    and a busy machine may be later."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGSTOP)


def upgrade(gateway):
    """The gateway becomes another process; returns the former one, which drains."""
    former = gateway.process
    def handed_over():
        return re.findall(r'"event":"handed-over","pid":(\d+)', gateway.log())
    before = handed_over()
    former.send_signal(signal.SIGUSR2)
    wait_until(lambda: len(handed_over()) > len(before), 30, "the hand-over")
    gateway.process = Descendant(int(handed_over()[-1]))
    return former


class SocketKeeper:
    """Listens in the place of a gateway, and passes the sockets to each process of it, as a socket
    unit of systemd does."""

    def __init__(self, gateway, **others):
        """`others`: the addresses of further sockets, by their names."""
        self.sockets = []
        for address in (gateway.address, *others.values()):
            listening = socket.socket()
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(4096)
            self.sockets.append(listening)
        numbers = [listening.fileno() for listening in self.sockets]
        # Away from the numbers that they are to get.
        moved = [os.dup2(number, 60 + at) for at, number in enumerate(numbers)]
        self.moved = moved
        passing = " ".join(f"{3 + at}<&{number}" for at, number in enumerate(moved))
        closing = " ".join(f"{number}<&-" for number in moved)
        gateway.passed = moved
        gateway.launcher = [
            "env", f"LISTEN_FDS={len(moved)}", f"LISTEN_FDNAMES={':'.join(['gateway', *others])}",
            "bash", "-c", f'LISTEN_PID=$$ exec "$@" {passing} {closing}', "bash"]

    def close(self):
        for listening in self.sockets:
            listening.close()
        for number in self.moved:
            os.close(number)


class Wrk:
    """wrk on kept connections, until stop()."""

    def __init__(self, url, connections=16):
        self.run = uuid.uuid4().hex[:12]
        self.process = subprocess.Popen(
            ["wrk", "-t1", f"-c{connections}", "-d1h", "--timeout", "60s", "-s",
             str(SUPPORT / "every_key_once.lua"), url, "--", self.run],
            stdout=subprocess.PIPE, text=True)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        text, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, text
        return json.loads(text.splitlines()[-1])

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class KeptClients:
    """Node's clients, until stop()."""

    def __init__(self, url, clients=8):
        self.process = subprocess.Popen(
            [NODE, str(SUPPORT / "kept_clients.mjs"), url, str(clients)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def stop(self):
        text, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        return json.loads(text)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Load:
    """Both, on one gateway. Behind the `with`, the counts are looked at: nothing has failed but
    `late` requests at most, and nothing took effect twice."""

    def __init__(self, gateway, upstream, scheme="http", kinds=(Wrk, KeptClients), late=0):
        self.late = late
        self.upstream = upstream
        self.gateway = gateway
        self.url = f"{scheme}://127.0.0.1:{gateway.port.number}/load"
        self.kinds = kinds
        self.running = []
        self.counted = {}

    def __enter__(self):
        self.running = [kind(self.url) for kind in self.kinds]
        self.goes_on()
        return self

    def __exit__(self, failed, *_):
        try:
            if failed is None:
                self.look([one.stop() for one in self.running])
        finally:
            for one in self.running:
                one.close()

    def effects(self):
        path = self.upstream.effects_path
        return path.stat().st_size if path.exists() else 0

    def goes_on(self, count=40):
        """Until about that many more took effect."""
        before = self.effects()
        wait_until(lambda: self.effects() > before + count * LINE, 30, "requests going on")

    def look(self, counts):
        effects = self.upstream.effects()
        assert max(effects.values()) == 1, "something ran twice"
        for kind, said in zip(self.kinds, counts):
            if kind is Wrk:
                failed = {name: said[name] for name in ("connect", "read", "write", "status",
                                                        "timeout")}
                assert not any(failed.values()), said
                self.counted["wrk"] = said["requests"]
                self.counted["longest_ms"] = said["longest_ms"]
                ran = sum(key.startswith("wrk-") for key in effects)
                assert ran >= said["requests"], "an answer without an effect"
            else:
                failed = [one for one in said if one.get("status") != 201]
                # A plain stop keeps an idle connection for half a second: a busy machine may hold
                # up a client for longer. Nothing was taken from it then.
                late = [one for one in failed if one["reused"] and one["key"] not in effects]
                assert len(late) <= self.late and failed == late, failed[:10]
                assert {one["key"] for one in said if one not in late} <= set(effects)
                self.counted["node"] = len(said)
                self.counted["reused"] = sum(one["reused"] for one in said)
        print(self.counted)


def upgrade_often(gateway, load):
    """Each process finishes what it has accepted, beside those that come after it."""
    ending = []
    for _ in range(scaled(ROUNDS, 3)):
        ending.append(upgrade(gateway))
        load.goes_on()
    assert [one.wait(60) for one in ending] == [0] * len(ending)


def restart_often(gateway, upstream):
    """Requests that come between two processes wait in the queue of the socket."""
    keeper = SocketKeeper(gateway)
    try:
        gateway.start()
        with Load(gateway, upstream, late=2) as load:
            for _ in range(scaled(ROUNDS, 3)):
                assert gateway.stop() == 0
                gateway.start()
                load.goes_on()
    finally:
        keeper.close()


def reload_often(gateway, load):
    for done in range(1, scaled(ROUNDS, 3) + 1):
        gateway.signal(signal.SIGHUP)
        gateway.logged("reloaded", done)
        load.goes_on()
