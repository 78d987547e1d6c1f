"""A Redis server of the tests' own, in a temporary folder and on a free port."""

import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from support.ports import Port
from support.waiting import wait_until


# The bytes with which the first poll of a gateway that serves nobody begins: a call of six words.
FIRST_POLL = b"*6\r\n$7\r\nEVALSHA"


class Redis:
    """Keeps nothing on disk unless its settings say so: {"appendonly": "yes"}."""

    def __init__(self, settings=None):
        self.port = Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-redis-"))
        self.settings = {"save": "", **(settings or {})}
        self.process = None
        self.made = 0

    def start(self):
        assert self.process is None
        with open(self.folder / "log", "ab") as log:
            # Should this process die before it could, the server ends at once.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "redis-server", *self.words()],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers, 30, "the server answering")
        return self

    def words(self):
        """What the server is started with."""
        words = ["--port", str(self.port.number), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        for name, value in self.settings.items():
            words += [f"--{name}", *value.split(" ")]
        return words

    def _answers(self):
        assert self.process.poll() is None, f"the server ended:\n{self.log()}"
        try:
            return self.run("PING") == b"+PONG\r\n"
        except OSError:
            return False

    def stop(self, how=signal.SIGTERM):
        """SIGTERM ends it in order, SIGKILL as a crash does."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def crash(self):
        self.stop(signal.SIGKILL)

    def close(self):
        self.crash()
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    # ---- using it -------------------------------------------------------------------------
    def run(self, command):
        """One command; the beginning of its reply, as it comes."""
        with socket.create_connection(("127.0.0.1", self.port.number), timeout=10) as line:
            line.sendall(command.encode() + b"\r\n")
            reply = line.recv(65536)
            # A bulk of several packets comes whole.
            if reply.startswith(b"$") and not reply.startswith(b"$-1"):
                size, _, rest = reply.partition(b"\r\n")
                while len(rest) < int(size[1:]) + 2:
                    more = line.recv(65536)
                    if not more:
                        break
                    rest += more
                reply = size + b"\r\n" + rest
            return reply

    def create_store(self):
        """The URL of a store of its own."""
        self.made += 1
        return f"redis://127.0.0.1:{self.port.number}?prefix=store-{self.made}:"
