"""Calls of the decision service in the framed form, over its Unix socket."""

import http.client
import json
import socket

FRAMED = "application/vnd.onceguard.framed"


class UnixConnection(http.client.HTTPConnection):
    """One connection: a lease that is claimed on it lives as long as it does."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def call(self, path, message, body=b""):
        """The object of the answer and its body."""
        self.request("POST", path, json.dumps(message).encode() + b"\n" + body,
                     {"Content-Type": FRAMED, "Accept": FRAMED})
        answer = self.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        head, _, rest = text.partition(b"\n")
        return json.loads(head), rest

    def claim(self, message, body=b""):
        return self.call("/v1/operations", message, body)

    def complete(self, operation, status=201, body=b""):
        done, _ = self.call(f"/v1/operations/{operation}/complete",
                            {"answer": {"status": status, "headers": []}}, body)
        assert done["outcome"] == "settled", done
