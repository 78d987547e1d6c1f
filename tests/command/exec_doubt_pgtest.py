"""The store goes away when the claim is on its way, and for longer than a process usually waits:
nothing runs, and the key of a command that was not run does not count as of unknown outcome."""

import contextlib
import os
import signal

import pytest

from support.executing import TRY_LATER, pause
from support.shell import in_shell
from support.tcp_gate import TcpGate
from support.waiting import wait_until

# A process that has nothing else to do waits for 10 s for what it has to tell the store.
LONGER_THAN_A_SETTLE = 11


class Away:
    """A store that holds everything up from the claim of a key on."""

    def __init__(self, server, exec_on, key, lease):
        url = server.url(server.create_store()) if hasattr(server, "url") else server.create_store()
        self.gate = TcpGate(server.port.number)
        self.key = key
        self.direct = exec_on(url)
        self.through = exec_on(url.replace(f":{server.port.number}", f":{self.gate.port}"))
        assert self.through.shell(f"{key}-before", "true").code == 0
        self.gate.hold_at(key.encode())
        self.process = self.through.begin_shell(
            key, "true", options=["--lease", lease, "--store-timeout", "2s"])
        self.gate.lost()

    def close(self):
        self.gate.close()


@pytest.fixture
def away(exec_on, fresh_key):
    with contextlib.ExitStack() as stack:
        yield lambda server, lease: stack.enter_context(
            contextlib.closing(Away(server, exec_on, fresh_key(), lease)))


def read_up_to(process, words):
    """Reads its standard error up to these words."""
    said = b""
    while words not in said:
        piece = os.read(process.stderr.fileno(), 4096)
        assert piece, said
        said += piece


def is_mended_by(one, line):
    """The claim comes late, and nobody is left who knows that it did nothing."""
    one.gate.pass_on()
    wait_until(lambda: one.direct.state(one.key) == "unknown", what="the end of the late lease")
    released = in_shell(one.direct, line)
    assert (released.returncode, released.stdout.split(":")[0]) == (0, "released"), released


def test_a_key_for_which_nothing_ran_does_not_become_unknown_in_silence(away, postgres_server,
                                                                        redis_server):
    both = [away(server, "30s") for server in (postgres_server, redis_server)]
    hurried = away(postgres_server, "2s")
    read_up_to(hurried.process, b"trying for")
    hurried.process.send_signal(signal.SIGTERM)
    pause(LONGER_THAN_A_SETTLE)
    for one in both:
        one.gate.pass_on()
        done = one.through.end(one.process)
        assert (done.code, one.direct.runs(one.key)) == (TRY_LATER, 0), done
        assert b"nothing was run" in done.err and b"keys release" not in done.err
    done = hurried.through.end(hurried.process)
    assert done.code == -signal.SIGTERM and hurried.direct.runs(hurried.key) == 0, done
    [line] = [each for each in done.err.decode().splitlines() if "keys release" in each]
    is_mended_by(hurried, line)
    for one in (*both, hurried):
        assert one.direct.shell(one.key, "true").code == 0
        assert one.direct.runs(one.key) == 1
