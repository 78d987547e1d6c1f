"""What the middlewares for ASGI, WSGI and Django have in common: from a request to its answer."""

from __future__ import annotations

import ipaddress
import json
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from .calls import LOG, Run, Settled
from .client import Client
from .errors import (BadCall, BodyTooLarge, OnceguardError, OutcomeUnknown, ServiceAway,
                     StoreFailed)
from .messages import Answer, Headers

SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"))  # can't be guarded
# Of a stored answer: the server makes these anew.
OF_THE_SERVER = frozenset(("date", "content-length", "connection", "keep-alive", "te", "trailer",
                           "transfer-encoding", "upgrade", "proxy-connection"))
MARKS = frozenset(("idempotent-replayed", "onceguard-outcome"))  # are not for clients


class Begun(NamedTuple):
    """What a request comes to: an answer at once, or its handler runs, with `run` under a lease."""

    answer: Optional[Answer]
    run: Optional[Run]
    headers: Headers

    def as_environ(self) -> "dict[str, str]":
        return {"HTTP_" + name.upper().replace("-", "_"): value for name, value in self.headers}


def is_reserved(name: str) -> bool:
    """Whether only Onceguard may set this field; CGI and WSGI spell it with `_`."""
    return name.lower().replace("_", "-").startswith("onceguard-")


def unmarked(headers: Iterable[Tuple[str, str]]) -> Headers:
    """What a client may see of a handler's fields."""
    return [(name, value) for name, value in headers if name.lower() not in MARKS]


def has_no_body(status: int) -> bool:
    return status in (204, 304) or status < 200


class Held:
    """What a handler has answered so far. Its end is awaited, unless it is a stream of events, or
    too long to be kept."""

    def __init__(self, limit: int) -> None:
        self.limit, self.status, self.size = limit, 0, 0
        self.headers: Headers = []
        self.parts: List[bytes] = []

    def start(self, status: int, headers: Iterable[Tuple[str, str]]) -> None:
        self.status, self.headers = status, list(headers)
        fields = {name.lower(): value.strip() for name, value in self.headers}
        self.events = fields.get("content-type", "").lower().startswith("text/event-stream")
        length = fields.get("content-length", "")
        self.length = int(length) if length.isascii() and length.isdigit() else None

    def add(self, part: bytes) -> bool:
        """Whether it is to go out as it comes."""
        self.parts.append(bytes(part))
        self.size += len(part)
        if not self.status:
            return False
        return self.events or max(self.size, self.length or 0) > self.limit

    def end(self) -> bool:
        """Whether it can be kept as a whole. RuntimeError: this is no whole answer."""
        if not self.status:
            raise RuntimeError("onceguard: the handler ended without an answer")
        if not has_no_body(self.status) and self.length not in (None, self.size):
            raise RuntimeError("onceguard: the answer has another length than its Content-Length")
        return self.size <= self.limit

    def answer(self) -> Answer:
        """As its client gets it."""
        return framed(Answer(self.status, unmarked(self.headers), b"".join(self.parts)))


def framed(answer: Answer) -> Answer:
    """A whole answer as it is sent, the first time and as a replay."""
    headers = [field for field in answer.headers if field[0].lower() not in OF_THE_SERVER]
    if not has_no_body(answer.status):
        headers.append(("Content-Length", str(len(answer.body))))
    return answer._replace(headers=headers)


class Guard:
    """The contract over plain values. `service`: the upstream's name of a gateway with the same
    store. `request_limit`: the longest body of a guarded request."""

    def __init__(self, client: Client, *, service: Optional[str] = None,
                 request_limit: int = 1 << 20,
                 problem_base: str = "urn:onceguard:problem:") -> None:
        self.client, self.service = client, service
        self.request_limit, self.problem_base = request_limit, problem_base

    def problem(self, error: OnceguardError) -> Answer:
        """A refusal of ours, in the form of the service's."""
        said = {"type": self.problem_base + error.kind, "title": error.title,
                "status": error.status, "detail": error.detail, "retryable": error.retryable}
        headers = [("Content-Type", "application/problem+json"),
                   ("Onceguard-Retry", "same-key" if error.retryable else "no")]
        if error.retry_after is not None:
            headers.append(("Retry-After", str(max(1, -int(-error.retry_after // 1)))))
        return framed(Answer(error.status, headers, json.dumps(said).encode()))

    async def begin(self, io: Any, method: str, target: str, headers: List[Tuple[str, str]],
                    address: str, body: Optional[bytes]) -> Begun:
        """`body` None: it is longer than `request_limit`, and was not read to its end."""
        request: "dict[str, Any]" = {"method": method, "target": target, "headers": headers}
        try:
            request["client_address"] = str(ipaddress.ip_address(address))
        except ValueError:  # a Unix socket
            pass
        if body is None:
            request["body_omitted"] = True
        message: "dict[str, Any]" = {"request": request}
        if self.service is not None:
            message["service"] = self.service
        try:
            claim = await self.client.make_claim(io, message, body or b"")
            if body is None and claim.run and not claim.run.observed:
                await self.client.make_settle(io, claim.run, "release", {}, b"")
                raise BodyTooLarge("A request with an idempotency key may have a body up to a "
                                   "limit, and this one is longer. Nothing was run.")
            if claim.run or claim.verdict in ("pass", "unguarded"):
                more = claim.members.get("headers", ())
                return Begun(None, claim.run, [(name, value) for name, value in more])
            if claim.reply is None:
                claim.refuse()
            return Begun(framed(claim.reply), None, [])
        except ServiceAway as away:
            if self.client.open:
                LOG.warning("A request runs unguarded: %s", away)
                return Begun(None, None, [("Onceguard-Unguarded", "service")])
            return Begun(self.problem(away), None, [])
        except BadCall as error:
            if body is None:
                return Begun(self.problem(BodyTooLarge()), None, [])
            theirs = isinstance(error, BodyTooLarge) or error.detail.startswith("request.")
            return Begun(self.problem(error if theirs else StoreFailed()), None, [])
        except OnceguardError as error:
            return Begun(self.problem(error), None, [])

    async def finish(self, io: Any, run: Run, held: Held, whole: bool) -> Optional[Answer]:
        """Settles by the handler's answer; if it is not whole, it goes out as it comes.
        None: it counts. Otherwise what the client gets instead."""
        members: "dict[str, Any]" = {"answer": {"status": held.status, "headers": held.headers}}
        if not whole:
            members["streamed"] = True
        body = b"".join(held.parts) if whole else b""
        try:
            settled = await self.client.make_settle(io, run, "complete", members, body)
        except OnceguardError as error:
            if run.observed:
                return None
            LOG.error("The end of operation %s did not reach the service: %s", run.operation, error)
            return self.problem(StoreFailed(
                "The answer is held back until it is recorded. Send the same request with the same "
                "key again after the time in Retry-After."))
        if run.observed or (settled.outcome == "settled" and settled.reply is None):
            return None
        return self.instead(settled)

    def instead(self, settled: Settled) -> Answer:
        """What the client gets instead of the handler's answer."""
        reply = settled.reply or settled.answer
        if reply is not None:
            return framed(reply)
        return self.problem(StoreFailed() if settled.outcome == "unrecorded" else OutcomeUnknown())

    async def threw(self, io: Any, run: Run, error: BaseException) -> Optional[Answer]:
        """Settles by what the handler raised. None: the framework answers."""
        settled = await self.client.settle_thrown(io, run, error)
        if settled is None or run.observed or (settled.outcome == "settled" and not settled.reply):
            return None
        return self.instead(settled)


def drop_reserved(environ: Any) -> None:
    """Removes what only Onceguard may set from a WSGI environment or Django's META."""
    for name in [name for name in environ if name.startswith("HTTP_") and is_reserved(name[5:])]:
        del environ[name]


def by_environ(environ: Mapping[str, Any]) -> "tuple[str, Headers, str]":
    """Target, fields and client address of a WSGI environment or Django's META."""
    from urllib.parse import quote, urlsplit
    target = environ.get("RAW_URI") or environ.get("REQUEST_URI") or ""
    if target and not target.startswith("/"):
        whole = urlsplit(target)
        target = (whole.path or "/") + ("?" + whole.query if whole.query else "")
    if not target:
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        target = quote(path.encode("latin-1"), safe="/~!$&'()*+,;=:@-._") or "/"
        if environ.get("QUERY_STRING"):
            target += "?" + environ["QUERY_STRING"]
    headers = [(name[5:].replace("_", "-").title(), str(value)) for name, value in environ.items()
               if name.startswith("HTTP_")]
    if environ.get("CONTENT_TYPE"):
        headers.append(("Content-Type", environ["CONTENT_TYPE"]))
    return target, headers, environ.get("REMOTE_ADDR") or ""
