"""The test's side of the counting upstream: a process of its own and a line to talk to it."""

import json
import os
import pathlib
import socket
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent


class Upstream:
    def __init__(self, folder):
        self.effects_path = pathlib.Path(folder) / "effects.jsonl"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.upstream_server", str(self.effects_path)],
            cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the upstream did not start")
        ports = json.loads(line)
        self.address = ("127.0.0.1", ports["port"])
        self.url = f"http://127.0.0.1:{ports['port']}"
        self._line = socket.create_connection(("127.0.0.1", ports["control"]), timeout=120)
        self._answers = self._line.makefile("r", encoding="utf-8")

    def close(self):
        self._answers.close()
        self._line.close()
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def _say(self, do, **members):
        self._line.sendall((json.dumps({"do": do, **members}) + "\n").encode())
        return json.loads(self._answers.readline())

    def requests(self, key=None, **members):
        """What arrived, oldest first; `key` is the field's raw value."""
        return self._say("requests", key=key, **members)

    def arrived(self, count=1, key=None, timeout=50, **members):
        """Waits until that many have arrived and returns all that did."""
        found = self._say("wait", key=key, count=count, timeout=timeout, **members)
        assert len(found) >= count, f"{len(found)} of {count} requests arrived"
        return found

    def runs(self, key):
        """How often a request with this key arrived."""
        return len(self.requests(key))

    def effects(self):
        """Effects by key, read from the file that they are appended to."""
        counted = {}
        if self.effects_path.exists():
            for line in self.effects_path.read_text().splitlines():
                key = json.loads(line)["key"] or ""
                counted[key] = counted.get(key, 0) + 1
        return counted

    def open(self, gate):
        self._say("open", gate=gate)

    def plan(self, path, *plans):
        """What requests without X-Trace-Plan to targets that begin so get; the last one stays."""
        self._say("plan", path=path, plans=list(plans))

    def refuse(self):
        """Connections are refused from here on; listen() ends that."""
        self._say("refuse")

    def listen(self):
        self._say("listen")

    def cut(self):
        """Resets every connection that is open."""
        self._say("cut")

    def connections(self):
        return self._say("connections")
