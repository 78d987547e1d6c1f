"""What work may raise to say what it did, and what a caller gets instead of an answer."""

from __future__ import annotations

from typing import Any, Mapping, Optional


class NotDone(Exception):
    """Raised by work that provably did nothing: its key is free again."""


class TryLater(Exception):
    """Raised by work that did nothing and may run again, after `backoff` seconds."""

    def __init__(self, *what: object, backoff: Optional[float] = None) -> None:
        super().__init__(*what)
        self.backoff = backoff


class OnceguardError(Exception):
    """`kind` is the type of the problem; `retryable`: the same key may be sent again, and not
    before `retry_after` seconds."""

    kind = "outcome-unknown"
    status = 409
    title = "The outcome is not known"
    retryable = False
    retry_after: Optional[float] = None

    def __init__(self, detail: str = "", members: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        said = members or {}
        self.kind = str(said.get("kind", self.kind))
        self.retryable = bool(said.get("retryable", self.retryable))
        if "retry_after_ms" in said:
            self.retry_after = float(said["retry_after_ms"]) / 1000


class BadCall(OnceguardError):
    """The service refused the call itself: a token, a policy or a message that is wrong. A claim
    that was refused so ran nothing."""

    kind, status, title = "bad-request", 400, "The decision service refused the call"


class BodyTooLarge(BadCall):
    """The request is longer than the service takes."""

    kind, status, title = "request-too-large", 413, "The request body is too large"


class Refused(OnceguardError):
    """The work was not run."""


class Busy(Refused):
    """A twin is running."""

    kind, title, retryable = "in-progress", "The first request is still running", True


class BackingOff(Refused):
    """An attempt failed, and the next one comes later."""

    kind, title, retryable = "backing-off", "Failed, and to be tried again later", True


class Mismatch(Refused):
    """The key belongs to another operation."""

    kind, status, title = "key-reused", 422, "The key belongs to another request"


class OutcomeUnknown(Refused):
    """An earlier attempt may have taken effect, or this one was superseded."""


class AnswerNotKept(Refused):
    """It took effect before, but its answer was not kept."""

    kind, title = "answer-not-kept", "Done, but the answer was not kept"


class Rejected(Refused):
    """There is no such operation: a key that is malformed or missing."""

    kind, status, title = "key-malformed", 400, "The idempotency key is malformed"


class StoreFailed(Refused):
    """The store can't be reached: the same key again later. Work that ran may not be recorded."""

    kind, status, title = "store-unreachable", 503, "The record of requests can't be reached"
    retryable, retry_after = True, 1.0


class Overloaded(StoreFailed):
    """No capacity at the moment."""

    kind, title = "overloaded", "No capacity at the moment"


class Draining(Overloaded):
    """The process that was asked takes no claims any more: its successor does."""


class ServiceAway(StoreFailed):
    """The decision service can't be reached: as a store that can't."""


BY_VERDICT = {"busy": Busy, "backoff": BackingOff, "mismatch": Mismatch, "refused": Rejected,
              "store_failed": StoreFailed, "overloaded": Overloaded}
