"""Reading HTTP/1.1 answers from bytes, keeping everything that a client would tidy away."""

import json
from dataclasses import dataclass, field


@dataclass
class Answer:
    status: int = 0
    reason: str = ""
    version: str = ""
    fields: list = field(default_factory=list)  # (name, value) as they came
    body: bytes = b""
    trailers: list = field(default_factory=list)
    framing: str = ""  # none, length, chunked, eof
    interim: list = field(default_factory=list)  # the 1xx before it, as Answers
    truncated: bool = False
    head: bytes = b""

    def all(self, name):
        return [value for known, value in self.fields if known.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def json(self):
        return json.loads(self.body)

    @property
    def replayed(self):
        return self.all("Idempotent-Replayed") == ["true"]

    @property
    def problem(self):
        """The last part of the problem's type, or None where it is no problem document."""
        if (self.get("Content-Type") or "").split(";")[0].strip() != "application/problem+json":
            return None
        return self.json()["type"].rsplit(":", 1)[-1].rsplit("/", 1)[-1]

    def stored_part(self):
        """All that a replay must repeat byte for byte."""
        fresh = ("date", "idempotent-replayed", "connection", "keep-alive")
        kept = [(n, v) for n, v in self.fields if n.lower() not in fresh]
        return self.status, kept, self.body

    def __repr__(self):
        return f"<{self.status} {self.fields} {len(self.body)} B {self.body[:200]!r}>"


def parse_fields(lines):
    fields = []
    for line in lines:
        name, _, value = line.partition(":")
        fields.append((name, value.strip(" \t")))
    return fields


class AnswerReader:
    """Feed it bytes; take() gives the next complete answer or None.

    With a `sink` (anything with append()) the body goes there instead of into the answer.
    """

    def __init__(self, sink=None):
        self.buffer = b""
        self.sink = sink
        self.methods = []  # of the requests whose answers are still to come
        self._answer = None
        self._interim = []
        self._pieces = []
        self._left = 0
        self._chunk = None

    def expect(self, method):
        self.methods.append(method)

    def feed(self, piece):
        self.buffer += piece

    def take(self):
        while self._answer is None:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return None
            self._begin(self.buffer[: end + 4])
            self.buffer = self.buffer[end + 4 :]
            if 100 <= self._answer.status < 200 and self._answer.status != 101:
                self._interim.append(self._answer)
                self._answer = None
        return self._body()

    def peek(self):
        """The answer whose head has come, with what has come of its body so far."""
        done = self.take()
        if done is not None:
            return done
        if self._answer is not None:
            self._answer.body = b"".join(self._pieces) if self.sink is None else b""
        return self._answer

    def end(self):
        """The connection ended: what is there is all that comes."""
        done = self.take()
        if done is not None or self._answer is None:
            return done
        answer = self._answer
        if answer.framing == "eof":
            self._pieces.append(self.buffer)
            self.buffer = b""
        else:
            answer.truncated = True
        return self._finish()

    def _begin(self, head):
        lines = head[:-4].decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        status, _, reason = rest.partition(" ")
        answer = Answer(int(status), reason, version, parse_fields(lines[1:]), head=head)
        method = self.methods[0] if self.methods else "GET"
        length = answer.get("Content-Length")
        if answer.status < 200 or answer.status in (204, 304) or method == "HEAD":
            answer.framing, self._left = "none", 0
        elif (answer.get("Transfer-Encoding") or "").lower() == "chunked":
            answer.framing, self._chunk = "chunked", "size"
        elif length is not None:
            answer.framing, self._left = "length", int(length)
        else:
            answer.framing = "eof"
        self._answer, self._pieces = answer, ([] if self.sink is None else self.sink)

    def _body(self):
        framing = self._answer.framing
        if framing == "chunked":
            return self._chunked()
        if framing == "eof":
            self._pieces.append(self.buffer)
            self.buffer = b""
            return None
        piece, self.buffer = self.buffer[: self._left], self.buffer[self._left :]
        self._pieces.append(piece)
        self._left -= len(piece)
        return self._finish() if self._left == 0 else None

    def _chunked(self):
        while True:
            if self._chunk == "data":
                piece = self.buffer[: self._left]
                self._pieces.append(piece[: max(0, self._left - 2)] if len(piece) == self._left
                                    else b"")
                if len(piece) < self._left:
                    return None
                self.buffer, self._chunk = self.buffer[self._left :], "size"
            line, found, rest = self.buffer.partition(b"\r\n")
            if not found:
                return None
            if self._chunk == "size":
                size = int(line.split(b";")[0], 16)
                self.buffer, self._left = rest, size + 2
                self._chunk = "data" if size else "trailers"
            elif line:
                self._answer.trailers += parse_fields([line.decode("latin-1")])
                self.buffer = rest
            else:
                self.buffer = rest
                return self._finish()

    def _finish(self):
        answer, self._answer = self._answer, None
        answer.body = b"".join(self._pieces) if self.sink is None else b""
        answer.interim, self._interim = self._interim, []
        if self.methods:
            self.methods.pop(0)
        return answer
