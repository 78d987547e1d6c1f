"""Messages of the protocol, version 1, and the strict HTTP/1.1 that they go over.

The standard library has no HTTP client for asyncio, and http.client for threads alone would make
two behaviours out of one: the same few lines read answers here, whatever brings their bytes.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

Headers = List[Tuple[str, str]]
FRAMED = "application/vnd.onceguard.framed"
STATUS_LINE = re.compile(r"HTTP/1\.1 ([2-5][0-9]{2})(?: .*)?")
MAX_HEAD = 65536


class Answer(NamedTuple):
    """A whole answer; characters of header values are bytes (Latin-1)."""

    status: int
    headers: Headers
    body: bytes


class Reply(NamedTuple):
    """What the service answered to a call."""

    status: int
    fields: Dict[str, str]
    said: Dict[str, Any]
    body: bytes  # that was framed with it

    @property
    def kind(self) -> str:
        """Of a problem document."""
        return str(self.said.get("type", "")).rpartition(":")[2].rpartition("/")[2]

    @property
    def draining(self) -> bool:
        """Whether the process takes no claims any more."""
        return self.status == 503 and self.kind == "draining"

    def answer(self, name: str) -> Optional[Answer]:
        """The `reply` or `answer` in it."""
        found = self.said.get(name)
        if not isinstance(found, dict):
            return None
        body = self.body
        if "body_base64" in found:
            body = base64.b64decode(found["body_base64"])
        elif "body" in found:
            body = str(found["body"]).encode()
        return Answer(int(found.get("status", 200)),
                      [(str(field), str(value)) for field, value in found.get("headers", ())], body)


def request(host: str, token: Optional[str], path: str, message: Mapping[str, Any],
            body: bytes = b"") -> bytes:
    """The bytes of a call, in the framed form."""
    text = json.dumps(message, separators=(",", ":")).encode()
    login = f"Authorization: Bearer {token}\r\n" if token else ""
    head = (f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{login}Content-Type: {FRAMED}\r\n"
            f"Accept: {FRAMED}\r\nContent-Length: {len(text) + 1 + len(body)}\r\n\r\n")
    return b"".join((head.encode("latin-1"), text, b"\n", body))


async def exchange(stream: Any, call: bytes, deadline: float) -> Reply:
    """Sends a call and reads its answer. ConnectionError: what came is no answer of the service."""
    await stream.send(call, deadline)
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        if len(data) > MAX_HEAD:
            raise ConnectionError("the service's answer has no end of its head")
        data += await stream.receive(deadline)
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    fields = {name.strip().lower(): value.strip()
              for name, _, value in (line.partition(":") for line in lines)}
    started, length = STATUS_LINE.fullmatch(first), fields.get("content-length", "")
    if not started or not re.fullmatch("[0-9]{1,15}", length) or "transfer-encoding" in fields:
        raise ConnectionError(f"no answer of the service: {first[:80]!r}")
    del data[:end + 4]
    while len(data) < int(length):
        data += await stream.receive(deadline)
    if len(data) > int(length):
        raise ConnectionError("the service's answer is longer than its Content-Length")
    stream.reusable = fields.get("connection", "").lower() != "close"
    framed = fields.get("content-type", "").startswith(FRAMED)
    text, _, body = bytes(data).partition(b"\n") if framed else (bytes(data), b"", b"")
    try:
        said = json.loads(text)
    except ValueError as error:
        raise ConnectionError("the service's answer is no JSON") from error
    if not isinstance(said, dict):
        raise ConnectionError("the service's answer is no JSON object")
    return Reply(int(started[1]), fields, said, body)
