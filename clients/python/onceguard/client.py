"""Work that runs between a claim and its settle."""

from __future__ import annotations

import contextvars
import dataclasses
import functools
import inspect
import json
from typing import Any, Callable, Mapping, Optional, TypeVar, Union

from .calls import LOG, Calls, Run
from .connections import blocking
from .errors import AnswerNotKept, OnceguardError, OutcomeUnknown, ServiceAway, StoreFailed
from .messages import Answer

T = TypeVar("T")
Policy = Union[str, Mapping[str, Any], None]
RUNNING: "contextvars.ContextVar[Optional[Run]]" = contextvars.ContextVar("run", default=None)


def running() -> Optional[Run]:
    """The lease of the work that runs here, if one guards it."""
    return RUNNING.get()


class Client(Calls):
    """Thread-safe, for any number of event loops, and good in forked children. `timeout`: seconds
    for a claim, besides `wait`, the longest that it may wait for a twin by the policy. `open`:
    while the service is away, work runs unguarded."""

    def execute(self, *, scope: str, key: str, fingerprint: str, work: Callable[[], T],
                policy: Policy = None, path: str = "",
                dump: Callable[[T], Any] = json.dumps, load: Callable[..., T] = json.loads) -> T:
        """Runs `work` once, and gives every repeat its first value. Raises Refused."""
        async def call() -> T:
            return work()
        claim = parts(scope, key, fingerprint, policy, path)
        return blocking(self.carry_out(self.threads, claim, call, dump, load))

    async def execute_async(self, *, scope: str, key: str, fingerprint: str,
                            work: Callable[[], Any],
                            policy: Policy = None, path: str = "",
                            dump: Callable[[Any], Any] = json.dumps,
                            load: Callable[..., Any] = json.loads) -> Any:
        """The same in an event loop; `work` may be a coroutine function."""
        async def call() -> Any:
            made = work()
            return await made if inspect.isawaitable(made) else made
        claim = parts(scope, key, fingerprint, policy, path)
        return await self.carry_out(self.loops, claim, call, dump, load)

    def once(self, *, key: Union[str, Callable[..., Any]], scope: Union[str, Callable[..., Any]],
             fingerprint: Optional[Callable[..., str]] = None, **how: Any) -> Callable[[Any], Any]:
        """Decorates a function, also one of a coroutine. `key` and `scope` may be functions of its
        arguments. Without `fingerprint` its name and its arguments as JSON count."""
        def decorate(function: Any) -> Any:
            name = f"{function.__module__}.{function.__qualname__}"

            def named(*args: Any, **kwargs: Any) -> Any:
                def of(what: Any) -> str:
                    return str(what(*args, **kwargs) if callable(what) else what)
                print_of = fingerprint or functools.partial(default_fingerprint, name)
                return {"key": of(key), "scope": of(scope), "path": name, **how,
                        "fingerprint": str(print_of(*args, **kwargs)),
                        "work": functools.partial(function, *args, **kwargs)}

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                return self.execute(**named(*args, **kwargs))

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                return await self.execute_async(**named(*args, **kwargs))

            return call_async if inspect.iscoroutinefunction(function) else call
        return decorate

    async def carry_out(self, io: Any, message: Mapping[str, Any], call: Callable[[], Any],
                        dump: Callable[[Any], Any], load: Callable[..., Any]) -> Any:
        try:
            claim = await self.make_claim(io, message, b"")
        except ServiceAway as away:
            if not self.open:
                raise
            LOG.warning("Work runs unguarded: %s", away)
            return await call()
        if claim.verdict in ("pass", "unguarded"):
            return await call()
        if claim.verdict == "replay":
            return replayed(claim.answer, claim.members, load)
        run = claim.run
        if run is None:
            claim.refuse()
        entered = RUNNING.set(run)
        try:
            value = await call()
        except BaseException as error:
            await self.settle_thrown(io, run, error)
            raise
        finally:
            RUNNING.reset(entered)
        try:
            settled = await self.make_settle(io, run, "complete", *kept(run, value, dump))
        except OnceguardError as error:
            if not run.observed:
                raise StoreFailed("The work ran, and its outcome could not be recorded. Send the "
                                  f"same key again. {error}") from error
            return value
        if run.observed or settled.outcome == "settled":
            return value
        if settled.outcome == "replay":
            return replayed(settled.answer, settled.members, load)
        if settled.outcome == "unrecorded":
            raise StoreFailed(str(settled.members.get("detail", "")), settled.members)
        raise OutcomeUnknown(str(settled.members.get("detail", "")))


def parts(scope: str, key: str, fingerprint: str, policy: Any, path: str) -> "dict[str, Any]":
    """A claim by its parts."""
    message = {"scope": scope, "key": key, "fingerprint": fingerprint}
    if policy is not None:
        message["policy"] = policy
    if path:
        message["path"] = path
    return message


def default_fingerprint(name: str, *args: Any, **kwargs: Any) -> str:
    """The function's name and its arguments."""
    def plain(value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.asdict(value)
        raise TypeError(f"onceguard: {type(value).__name__} is no JSON: give once() a fingerprint")
    return json.dumps([name, args, kwargs], sort_keys=True, default=plain)


def kept(run: Run, value: Any, dump: Callable[[Any], Any]) -> "tuple[dict[str, Any], bytes]":
    """A value as the answer to keep. The work is done, even if its value can't be kept."""
    media = "application/json" if dump is json.dumps else "application/octet-stream"
    members: "dict[str, Any]" = {"answer": {"status": 200, "headers": [["Content-Type", media]]}}
    try:
        made = dump(value)
        body = made if isinstance(made, bytes) else str(made).encode()
    except Exception as error:
        LOG.warning("The value of operation %s can't be kept: %s", run.operation, error)
        return {**members, "streamed": True}, b""
    if len(body) > run.answer_limit:
        return {**members, "streamed": True}, b""
    return members, body


def replayed(answer: Optional[Answer], members: Mapping[str, Any], load: Callable[..., T]) -> T:
    """The value of the first run."""
    if answer is None or members.get("kept", "full") != "full":
        raise AnswerNotKept()
    return load(answer.body)
