"""Claims and settles: the calls of the protocol, and their repeats.

Each is written once, as a coroutine. Over `Threads` it never waits for a loop, so that `blocking`
runs it to its end; over `Loops` it is awaited.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
import ssl
import time
from typing import Any, Callable, Mapping, NoReturn, Optional, TypeVar

from . import connections, messages
from .connections import blocking
from .errors import (BY_VERDICT, BadCall, BodyTooLarge, Draining, NotDone, OnceguardError,
                     OutcomeUnknown, Overloaded, ServiceAway, TryLater)
from .messages import Answer
from .watch import Watch

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # between repeats of a call that is in doubt
SETTLE_AGAIN, SETTLE_TIMEOUT = 10.0, 15.0
SUCCESSION = 1.0  # in which new connections find the successor of a process that drains
USUAL_LIMIT = 1 << 20  # of an answer
LATE_CLAIMS = 3  # of a process that stands still longer than its lease, again and again
GOES_ON = ("renew", "dispatch")  # settles after which the lease is still there
LOG = logging.getLogger("onceguard")
T = TypeVar("T")


@dataclasses.dataclass(eq=False)
class Run:
    """The right to run one operation. `token` grows with each attempt: a database that keeps the
    highest one can refuse earlier attempts. `lease` is for `onceguard.complete` in SQL."""

    operation: str
    lease: str = ""
    token: int = 0
    attempt: int = 0
    lease_ms: int = 0
    answer_limit: int = 0
    headers: messages.Headers = dataclasses.field(default_factory=list)
    observed: bool = False
    stream: Any = dataclasses.field(default=None, repr=False)  # on which it was claimed
    rebound: Any = dataclasses.field(default=None, repr=False)  # and, after its end, the next one


@dataclasses.dataclass
class Claim:
    """What a claim came to: `run` has the lease, if the work is to run under one."""

    verdict: str
    members: Mapping[str, Any]
    reply: Optional[Answer] = None
    answer: Optional[Answer] = None
    run: Optional[Run] = None

    def refuse(self) -> NoReturn:
        """Raises what this verdict means for a caller."""
        kind = BY_VERDICT.get(self.verdict, OutcomeUnknown)
        raise kind(str(self.members.get("detail", "")), self.members)


@dataclasses.dataclass
class Settled:
    """What a settle came to. Only after `settled` one's own answer counts."""

    outcome: str
    members: Mapping[str, Any]
    reply: Optional[Answer] = None
    answer: Optional[Answer] = None


def settle_of(error: BaseException) -> "tuple[str, dict[str, Any]]":
    """How work ends that raised this."""
    if isinstance(error, NotDone):
        return "release", {}
    if isinstance(error, TryLater):
        more = {} if error.backoff is None else {"backoff_ms": round(error.backoff * 1000)}
        return "fail", more
    return "exception", {}


def clocks() -> "tuple[float, float]":
    return time.monotonic(), time.time()


def since(then: "tuple[float, float]") -> float:
    """Seconds. The monotonic clock stands still while a machine is suspended, the other may be
    put back."""
    return max(now - before for now, before in zip(clocks(), then))


class Calls:
    """The calls of one client. `make_…` takes where they run: `threads` or `loops`."""

    def __init__(self, url: str, token: Optional[str] = None, *, open: bool = False,
                 timeout: float = 5.0, wait: float = 10.0, tls: Optional[ssl.SSLContext] = None,
                 ) -> None:
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ValueError("onceguard: a token is printable ASCII")
        self.address = connections.Address(url, tls)
        self.token, self.open, self.timeout, self.wait = token, open, timeout, wait
        self.threads = connections.Threads(self.address)
        self.loops = connections.Loops(self.address)
        self.watch = Watch(self)

    # ---- the calls of the protocol

    def claim(self, message: Mapping[str, Any], body: bytes = b"") -> Claim:
        """`message` has `request`, or `scope`, `key` and `fingerprint`. Raises ServiceAway."""
        return blocking(self.make_claim(self.threads, message, body))

    async def claim_async(self, message: Mapping[str, Any], body: bytes = b"") -> Claim:
        return await self.make_claim(self.loops, message, body)

    def settle(self, run: Run, kind: str, members: Optional[Mapping[str, Any]] = None,
               body: bytes = b"") -> Settled:
        """`kind`: complete, fail, release, abandon, exception, dispatch, renew."""
        return blocking(self.make_settle(self.threads, run, kind, members or {}, body))

    async def settle_async(self, run: Run, kind: str, members: Optional[Mapping[str, Any]] = None,
                           body: bytes = b"") -> Settled:
        return await self.make_settle(self.loops, run, kind, members or {}, body)

    def bytes_of(self, path: str, message: Mapping[str, Any], body: bytes) -> bytes:
        return messages.request(self.address.host, self.token, path, message, body)

    async def make_claim(self, io: Any, message: Mapping[str, Any], body: bytes) -> Claim:
        asked = {"claim": secrets.token_hex(16), **message}
        try:
            return await self.claim_surely(io, asked, body)
        except asyncio.CancelledError:
            io.later(self.take_back(io, {**asked, "wait_ms": 0}, body))
            raise

    async def claim_surely(self, io: Any, message: "dict[str, Any]", body: bytes) -> Claim:
        wait = message["wait_ms"] / 1000 if "wait_ms" in message else self.wait
        for _ in range(LATE_CLAIMS):
            asked = clocks()
            claim = await self.repeat(io, "/v1/operations", message, body, None,
                                      self.timeout + wait,
                                      lambda *answer: self.read_claim(io, *answer))
            if not claim.run or claim.run.observed or await self.holds(io, claim.run, asked):
                return claim
            message["claim"] = secrets.token_hex(16)
        # Not for `open`: the service is there.
        raise Overloaded("The lease ended before the work could begin. Nothing was run.")

    async def holds(self, io: Any, run: Run, asked: "tuple[float, float]") -> bool:
        """Whether the work may begin. This process may have stood still since it asked, for longer
        than its lease: then another may have run the work."""
        for _ in range(LATE_CLAIMS):
            if since(asked) * 3000 <= run.lease_ms * 2:
                return True
            asked = clocks()
            try:
                renewed = await self.make_settle(io, run, "renew", {}, b"")
            except BadCall:  # the service does not know the operation any more
                return False
            except OnceguardError:  # nothing began
                await self.settle_after_all(io, run, "release", {}, b"")
                raise
            if renewed.outcome != "renewed":
                self.watch.remove(run)
                io.give_back(run.stream)
                return False
        await self.make_settle(io, run, "release", {}, b"")
        return False

    async def repeat(self, io: Any, path: str, message: Mapping[str, Any], body: bytes,
                     run: Optional[Run], timeout: float, read: Callable[..., T]) -> T:
        """Makes a call until `read` has read its answer: a settle of this run, or a claim, which
        did not happen where nothing was sent."""
        call = self.bytes_of(path, message, body)
        began, until, pause, sent = time.monotonic(), None, 0.0, False
        stream = drained = None
        while True:
            doubt = sent
            try:
                if run:
                    stream, run.stream = run.stream, None
                stream = stream or await io.stream(began + timeout, fresh=sent or bool(drained))
                sent = True  # from now on it may have been carried out
                reply = await messages.exchange(stream, call, began + timeout)
                return read(stream, reply)
            except BaseException as error:
                if stream is not None and not isinstance(error, OnceguardError):
                    stream.close()  # nothing good can come of it
                stream = None
                if not isinstance(error, (OSError, Draining)):
                    raise
                now = time.monotonic()
                if isinstance(error, Draining):  # nothing was claimed by this try
                    drained, sent = drained or now, doubt
                    ends = now + pause >= drained + SUCCESSION
                else:
                    sent = sent and (doubt or not connections.refuses_certificate(error))
                    until = until or (began + SETTLE_AGAIN if run else
                                      min(now + self.timeout, began + timeout))
                    ends = not (sent or run) or now + pause >= until
                if ends:
                    raise ServiceAway(f"The decision service is away: {error}") from error
            await io.sleep(pause)  # at first none: an idle connection has ended, perhaps
            pause = min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)

    async def take_back(self, io: Any, message: Mapping[str, Any], body: bytes) -> None:
        """Releases what a claim got whose caller was cancelled."""
        try:
            claim = await self.make_claim(io, message, body)
            if claim.run and not claim.run.observed:
                await self.make_settle(io, claim.run, "release", {}, b"")
        except OnceguardError as error:
            LOG.warning("A claim that was cancelled could not be taken back: %s", error)

    def read_claim(self, io: Any, stream: Any, reply: messages.Reply) -> Claim:
        said = reply.said
        if reply.status != 200:
            stream.reusable = stream.reusable and not reply.draining
            io.give_back(stream)
            refuse_call(reply)
        claim = Claim(str(said.get("verdict")), said, reply.answer("reply"), reply.answer("answer"))
        if claim.verdict not in ("run", "observe"):
            io.give_back(stream)
            return claim
        if not isinstance(said.get("operation"), str):
            raise ConnectionError("the service's answer names no operation")
        observed = claim.verdict == "observe"
        claim.run = Run(
            said["operation"], str(said.get("lease", "")), int(said.get("token", 0)),
            int(said.get("attempt", 0)), int(said.get("lease_ms", 0)),
            0 if observed else int(said.get("answer_limit", USUAL_LIMIT)),
            [(name, value) for name, value in said.get("headers", ())], observed, stream)
        self.watch.add(claim.run)
        return claim

    async def make_settle(self, io: Any, run: Run, kind: str, members: Mapping[str, Any],
                          body: bytes) -> Settled:
        try:
            return await self.settle_surely(io, run, kind, members, body)
        except asyncio.CancelledError:
            if kind not in GOES_ON:
                io.later(self.settle_after_all(io, run, kind, members, body))
            raise

    async def settle_surely(self, io: Any, run: Run, kind: str, members: Mapping[str, Any],
                            body: bytes) -> Settled:
        if kind not in GOES_ON:
            self.watch.remove(run)

        def read(stream: Any, reply: messages.Reply) -> messages.Reply:
            if reply.status == 503:  # not yet
                raise ConnectionError(reply.said.get("detail", ""))
            if kind in GOES_ON and reply.status == 200:
                run.stream = stream  # the lease lives as long as this
            else:
                io.give_back(stream)
            return reply
        reply = await self.repeat(
            io, f"/v1/operations/{run.operation}/{kind}", members, body, run, SETTLE_TIMEOUT, read)
        if reply.status == 413 and body:  # the answer is longer than the service takes
            return await self.settle_surely(io, run, kind, {**members, "streamed": True}, b"")
        if reply.status != 200:
            refuse_call(reply)
        return Settled(str(reply.said.get("outcome")), reply.said, reply.answer("reply"),
                       reply.answer("answer"))

    async def settle_after_all(self, *settle: Any) -> None:
        """A settle whose caller was cancelled: the work has ended all the same."""
        try:
            await self.settle_surely(*settle)
        except OnceguardError as error:
            LOG.warning("A settle that was cancelled did not reach the service: %s", error)

    async def settle_thrown(self, io: Any, run: Run, error: BaseException) -> Optional[Settled]:
        """Ends work that raised this; nobody's answer waits for it."""
        kind, members = settle_of(error)
        try:
            return await self.make_settle(io, run, kind, members, b"")
        except OnceguardError as why:
            LOG.error("The end of operation %s did not reach the service: %s", run.operation, why)
            return None


def refuse_call(reply: messages.Reply) -> NoReturn:
    """Raises what a status of the service itself means."""
    problem = reply.said
    detail = str(problem.get("detail") or problem.get("title") or f"status {reply.status}")
    if reply.status == 503:
        seconds = reply.fields.get("retry-after", "")
        later = float(seconds) * 1000 if seconds.isdigit() else 1000
        said = {"kind": reply.kind or "overloaded", "retry_after_ms": later}
        raise Draining(detail, said) if reply.draining else Overloaded(detail, said)
    if reply.status == 413:
        raise BodyTooLarge(detail)
    LOG.error("The decision service refused a call with %d: %s", reply.status, detail)
    raise BadCall(detail)
