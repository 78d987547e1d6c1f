"""A NATS server of the tests' own with JetStream, and requests to it."""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from support.ports import Port
from support.waiting import wait_until


class Nats:
    def __init__(self):
        self.port = Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-nats-"))
        self.process = None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "/usr/sbin/nats-server", "-js", "-sd",
                 str(self.folder / "streams"), "-a", "127.0.0.1", "-p", str(self.port.number)],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers, 30, "NATS answering")
        return self

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return self.request("$JS.API.INFO") is not None
        except (OSError, ValueError):
            return False

    @property
    def at(self):
        return f"nats://127.0.0.1:{self.port.number}"

    def request(self, subject, body=b"", headers=()):
        """The answer to a request, as JSON; `headers`: pairs, as they are."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers)
        head = b"NATS/1.0\r\n" + lines + b"\r\n" if headers else b""
        with socket.create_connection(("127.0.0.1", self.port.number), timeout=10) as line:
            file = line.makefile("rb")
            assert file.readline().startswith(b"INFO")
            line.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n'
                         b"SUB answer 1\r\n")
            if headers:
                line.sendall(f"HPUB {subject} answer {len(head)} {len(head) + len(body)}\r\n"
                             .encode() + head + body + b"\r\n")
            else:
                line.sendall(f"PUB {subject} answer {len(body)}\r\n".encode() + body + b"\r\n")
            while True:
                words = file.readline().split()
                if words[:1] == [b"PING"]:
                    line.sendall(b"PONG\r\n")
                elif words[:1] == [b"MSG"]:
                    return json.loads(file.read(int(words[-1])))
                elif words[:1] in ([b"HMSG"], [b"-ERR"], []):
                    raise ValueError(f"{subject}: {words}")

    def api(self, subject, body):
        answer = self.request("$JS.API." + subject, body)
        assert "error" not in answer, answer
        return answer

    def add_stream(self, name):
        """With the subject of its name."""
        self.api(f"STREAM.CREATE.{name}", {"name": name, "subjects": [name]})

    def add_consumer(self, stream, name, **settings):
        self.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", {
            "stream_name": stream, "config": {
                "durable_name": name, "ack_policy": "explicit", "deliver_policy": "all",
                "ack_wait": 3_000_000_000, **settings}})

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)
