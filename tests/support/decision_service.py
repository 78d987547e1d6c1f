"""`onceguard serve` in a folder, and connections that speak its protocol (docs/protocol.md)."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import uuid

from support.gateway import clean_environment
from support.waiting import PATIENCE, Stopwatch, wait_until

FRAMED = "application/vnd.onceguard.framed"


class Call(http.client.HTTPConnection):
    """A connection to the service's Unix socket."""

    def __init__(self, path, timeout=20):
        super().__init__("service", timeout=timeout * PATIENCE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def send_post(self, target, message=None, **headers):
        body = b"" if message is None else json.dumps(message).encode()
        fields = {"Content-Type": "application/json"} if body else {}
        self.request("POST", target, body, {**fields, **headers})

    def read(self):
        """Status and object of the answer."""
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())

    def post(self, target, message=None):
        self.send_post(target, message)
        return self.read()

    def claim(self, **members):
        status, answer = self.post("/v1/operations", members)
        assert status == 200, answer
        return answer

    def settle(self, operation, kind, **members):
        status, answer = self.post(f"/v1/operations/{operation}/{kind}", members or None)
        assert status == 200, answer
        return answer

    def complete(self, operation, body="done", status=201):
        return self.settle(operation, "complete",
                           answer={"status": status, "headers": [["X-Made", "once"]],
                                   "body": body})

    def post_framed(self, target, message, body, accept=FRAMED):
        """Status, object and body of a framed answer."""
        line = json.dumps(message).encode() + b"\n"
        self.request("POST", target, line + body, {"Content-Type": FRAMED, "Accept": accept})
        answer = self.getresponse()
        assert answer.headers["Content-Type"] == FRAMED
        text, _, rest = answer.read().partition(b"\n")
        return answer.status, json.loads(text), rest


class DecisionService:
    """The service, which may be killed and started again on the same store and socket."""

    def __init__(self, onceguard, folder, store=None, config=None, options=()):
        self.onceguard, self.folder, self.options = onceguard, folder, list(options)
        self.store = store or f"sqlite:{folder / 'keys.db'}"
        self.socket = folder / "serve.sock"
        self.log_file = folder / "serve.log"
        self.config = folder / "serve.toml"
        self.configure(config or "")
        self.process = None
        self.opened = []

    def configure(self, text):
        self.config.write_text(text)

    def start(self):
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [str(self.onceguard), "serve", "--listen", f"unix:{self.socket}",
                 "--store", self.store, "--config", str(self.config), *map(str, self.options)],
                stderr=log, env=clean_environment(), cwd=self.folder)
        wait_until(self.answers, timeout=20, what="the service")
        return self

    def answers(self):
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError), contextlib.closing(Call(self.socket)) as probe:
            probe.request("GET", "/healthz")
            return probe.getresponse().status == 200
        return False

    def connect(self, timeout=20):
        made = Call(self.socket, timeout)
        self.opened.append(made)
        return made

    def log(self):
        return self.log_file.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def signal(self, number):
        os.kill(self.process.pid, number)

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.process.wait(30 * PATIENCE)

    def close(self):
        for each in self.opened:
            each.close()
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def state(self, key):
        """Of the key's record, as operators see it; None: there is none."""
        shown = subprocess.run([str(self.onceguard), "keys", "list", "--json", "--store",
                                self.store], capture_output=True, text=True, check=True,
                               env=clean_environment(), timeout=60 * PATIENCE)
        for line in shown.stdout.splitlines():
            record = json.loads(line)
            if record.get("key") == key:
                return record["state"]
        return None


def parts(key=None, **members):
    """A claim by its parts, with a fresh key."""
    return {"scope": "tenant", "key": key or uuid.uuid4().hex, "fingerprint": "charge 10",
            **members}


def as_request(key=None, body="{}", **members):
    """A claim of a request, with a fresh key."""
    headers = [["Idempotency-Key", f'"{key or uuid.uuid4().hex}"'],
               ["Content-Type", "application/json"], ["Authorization", "Bearer one"]]
    return {"request": {"method": "POST", "target": "/charges?dry=0", "headers": headers,
                        "body": body, **members}}


def stays(condition, seconds):
    """Whether it is true again and again for so long."""
    watch, pause = Stopwatch(), threading.Event()
    while watch.seconds < seconds:
        if not condition():
            return False
        pause.wait(0.1)
    return True
