"""A decision service that does what a test says, call by call."""

import contextlib
import json
import os
import socket
import tempfile
import threading

FRAMED = "application/vnd.onceguard.framed"
RUN = {"verdict": "run", "operation": "op-1", "lease": "lease-text", "token": 7, "attempt": 2,
       "lease_ms": 30000, "answer_limit": 1000, "headers": [["Onceguard-Token", "7"]]}
SETTLED = {"outcome": "settled"}


class Call:
    """One call as it came; `connection` counts the connections from 0."""

    def __init__(self, connection, path, fields, payload):
        text, _, self.body = payload.partition(b"\n")
        self.connection, self.path, self.fields = connection, path, fields
        self.message = json.loads(text)

    @property
    def kind(self):
        """`claim`, or the last part of a settle's path."""
        return "claim" if self.path == "/v1/operations" else self.path.rpartition("/")[2]


def answer(message, body=b"", status=200, kind=FRAMED):
    """The bytes of an answer."""
    text = json.dumps(message).encode()
    payload = text + b"\n" + body if kind == FRAMED else text
    return (f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(payload)}\r\n\r\n").encode() + payload


class ScriptedService:
    """`script` has an entry for each call: an object to answer with, bytes as they are, or None:
    the connection ends without an answer. At its end claims run, and settles count."""

    def __init__(self, *script):
        self.script, self.calls, self.ended = list(script), [], []
        self.changed = threading.Condition()
        self.folder = tempfile.mkdtemp(prefix="onceguard-scripted-")
        self.path = os.path.join(self.folder, "s")
        self.url = f"unix:{self.path}"
        self.connections = []
        self.last = None
        self.open()

    def open(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with self.changed:  # the thread of another listener may still be about to count
                    number = len(self.connections)
                    self.connections.append(connection)
                threading.Thread(target=self.serve, args=(connection, number),
                                 daemon=True).start()

    def serve(self, connection, number):
        data = b""
        with contextlib.suppress(OSError), connection:
            while True:
                while b"\r\n\r\n" not in data:
                    if not (piece := connection.recv(65536)):
                        return self.note_end(number)
                    data += piece
                head, _, data = data.partition(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines)
                length = int(fields["Content-Length"])
                while len(data) < length:
                    data += connection.recv(65536)
                call = Call(number, first.split(" ")[1], fields, data[:length])
                data = data[length:]
                said = self.next_answer(call)
                if len(self.calls) == self.last:
                    self.leave()
                if said is None:
                    return self.note_end(number)
                connection.sendall(said)

    def note_end(self, number):
        with self.changed:
            self.ended.append(number)
            self.changed.notify_all()

    def next_answer(self, call):
        with self.changed:
            self.calls.append(call)
            self.changed.notify_all()
            usual = RUN if call.kind == "claim" else SETTLED
            said = self.script.pop(0) if self.script else usual
        return answer(said) if isinstance(said, dict) else said

    def ends_after(self, calls):
        """Nobody listens from the answer to this call on."""
        self.last = calls

    def leave(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.path)

    def away(self):
        """Nobody listens, and no connection lives."""
        self.leave()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_for(self, condition, timeout=60):
        with self.changed:
            assert self.changed.wait_for(condition, timeout), [call.path for call in self.calls]

    def kinds(self):
        return [call.kind for call in self.calls]

    def close(self):
        with contextlib.suppress(OSError):
            self.away()
        os.rmdir(self.folder)
