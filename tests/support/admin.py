"""The admin listener of a gateway, as its callers see it."""

import json
import socket
import subprocess

from support.client import Connection
from support.gateway import clean_environment
from support.ports import Port


class Admin:
    """An address for `[gateway] admin`, and requests to it."""

    def __init__(self, token=None):
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.text = f"127.0.0.1:{self.port.number}"
        self.token = token

    def close(self):
        self.port.close()

    def ask(self, method, target, body=None, token=None, fields=(), timeout=60.0):
        sent = list(fields)
        token = token or self.token
        if token:
            sent.append(("Authorization", f"Bearer {token}"))
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if method == "POST":
            sent.append(("Content-Type", "application/json"))
            body = body or b""
        with Connection(self.address, timeout=timeout) as connection:
            connection.send_request(method, target, sent, body, host=self.text)
            return connection.read()

    def get(self, target, **how):
        return self.ask("GET", target, **how)

    def post(self, target, body=None, **how):
        return self.ask("POST", target, body, **how)

    def records(self, query=""):
        """All records that fit, from all pages: a page may be short, or empty, before the last."""
        found, cursor = [], ""
        while True:
            parts = "&".join(filter(None, (query, cursor and f"cursor={cursor}")))
            page = self.get("/api/records" + (parts and f"?{parts}"))
            assert page.status == 200, page.body
            found += page.json()["records"]
            cursor = page.json()["cursor"]
            if not cursor:
                return found

    def reasons(self):
        """The reasons of /readyz; none: it is ready. Raises OSError while nobody listens."""
        answer = self.get("/readyz")
        whole = json.loads(answer.body)
        assert (answer.status == 200) == whole["ready"] == (not whole["reasons"])
        return [one["reason"] for one in whole["reasons"]]

    def is_ready(self):
        try:
            return not self.reasons()
        except OSError:
            return False


def ask_socket(path, target):
    """A GET over a Unix socket; the whole answer in bytes."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(10)
        stream.connect(str(path))
        stream.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        pieces = []
        while piece := stream.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def run_health(onceguard, address):
    """What `onceguard health` says."""
    return subprocess.run([str(onceguard), "health", "--admin", address], capture_output=True,
                          text=True, timeout=120, check=False, env=clean_environment())
