"""Middleware for ASGI: FastAPI, Starlette and others.

    app.add_middleware(onceguard.asgi.Middleware, client=onceguard.Client("unix:/run/…"))
"""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Dict, Iterable, List, Optional, Tuple
from urllib.parse import quote

from . import http
from .calls import Run
from .client import RUNNING, Client

Message = Dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]


class Replaced(OSError):
    """Ends a handler that streams an answer that does not count."""


class Middleware:
    def __init__(self, app: Any, client: Client, **options: Any) -> None:
        self.app, self.io = app, client.loops
        self.guard = http.Guard(client, **options)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = [field for field in scope["headers"] if not http.is_reserved(text(field[0]))]
        scope = {**scope, "headers": headers, "onceguard": None}
        if scope["method"] in http.SAFE:
            await self.app(scope, receive, unguarded(send))
            return
        read = await read_body(receive, self.guard.request_limit)
        if read is None:  # the client has left amid its request
            return
        begun = await self.guard.begin(
            self.io, scope["method"], target_of(scope), fields_of(headers),
            str(scope["client"][0]) if scope.get("client") else "", read[1])
        scope["headers"] = headers + raw(begun.headers)
        if begun.answer:
            await send_answer(send, begun.answer)
        elif begun.run:
            await self.run(scope, begun.run, read[0], receive, send)
        else:
            await self.app(scope, given_again(read[0], receive), unguarded(send))

    async def run(self, scope: Message, run: Run, body: List[Message], receive: Receive,
                  send: Send) -> None:
        held = Held(self.guard, self.io, run, send)
        scope["onceguard"] = run
        scope["extensions"] = {}  # answers that take another way could not be held back

        async def receive_while_held() -> Message:
            # That the client has left changes nothing: a repeat wants the answer.
            await held.opened.wait()
            return await receive()

        entered = RUNNING.set(run)
        try:
            await self.app(scope, given_again(body, receive_while_held), held)
            if not held.ended:
                raise RuntimeError("onceguard: the handler ended without a whole answer")
        except BaseException as error:
            if held.replaced and isinstance(error, Exception):  # Replaced, perhaps in a group
                return
            if not held.ended:
                held.ended = True
                answer = await self.guard.threw(self.io, run, error)
                if answer:
                    await send_answer(send, answer)
            raise
        finally:
            RUNNING.reset(entered)


def unguarded(send: Send) -> Send:
    """Sends what a handler sends, without the marks that are not for clients."""
    async def onward(message: Message) -> None:
        await send(unmarked(message) if message["type"] == "http.response.start" else message)
    return onward


class Held(http.Held):
    """Holds an answer back until its settle was answered. `ended`: it is being settled; `opened`:
    it was."""

    def __init__(self, guard: http.Guard, io: Any, run: Run, send: Send) -> None:
        super().__init__(run.answer_limit)
        self.guard, self.io, self.run, self.onward = guard, io, run, send
        self.opened, self.ended, self.replaced = asyncio.Event(), False, False
        self.first: Message = {}

    async def __call__(self, message: Message) -> None:
        if self.replaced:
            raise Replaced("onceguard: another answer counts")
        if self.opened.is_set():
            await self.onward(message)
        elif message["type"] == "http.response.start":
            self.first = message
            self.start(message["status"], fields_of(message.get("headers", ())))
        elif message["type"] == "http.response.body":
            streams = self.add(message.get("body", b""))
            more = message.get("more_body", False)
            if streams or not more:
                await self.settle(more, streams)

    async def settle(self, more: bool, streams: bool) -> None:
        whole = not more and self.end() and not streams
        self.ended = True
        instead = await self.guard.finish(self.io, self.run, self, whole)
        self.opened.set()
        self.replaced = instead is not None
        if instead or not more:
            await send_answer(self.onward, instead or self.answer())
            if more:
                raise Replaced("onceguard: another answer counts")
            return
        await self.onward(unmarked(self.first))
        body = b"".join(self.parts)
        await self.onward({"type": "http.response.body", "body": body, "more_body": True})


def text(data: bytes) -> str:
    return data.decode("latin-1")


def fields_of(headers: Iterable[Tuple[bytes, bytes]]) -> http.Headers:
    return [(text(name), text(value)) for name, value in headers]


def raw(headers: http.Headers) -> "List[Tuple[bytes, bytes]]":
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def unmarked(start: Message) -> Message:
    return {**start, "headers": [field for field in start.get("headers", ())
                                 if text(field[0]).lower() not in http.MARKS]}


def target_of(scope: Message) -> str:
    path = scope.get("raw_path") or quote(scope["path"], safe="/~!$&'()*+,;=:@-._").encode()
    query = scope.get("query_string", b"")
    if isinstance(query, str):  # of Django's test client
        query = query.encode()
    return text(path.partition(b"?")[0] + (b"?" + query if query else b""))


async def read_body(receive: Receive, limit: int,
                    ) -> "Optional[Tuple[List[Message], Optional[bytes]]]":
    """The messages of a body, and the body, if it is no longer than that. None: the client has
    left."""
    read, size, more = [], 0, True
    while more and size <= limit:
        message = await receive()
        if message["type"] != "http.request":
            return None
        read.append(message)
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    if size > limit:
        return read, None
    body = b"".join(message.get("body", b"") for message in read)
    return [{"type": "http.request", "body": body, "more_body": False}], body


def given_again(read: List[Message], onward: Receive) -> Receive:
    """Gives messages that were read once more, and then those that come."""
    waiting = list(read)

    async def receive() -> Message:
        return waiting.pop(0) if waiting else await onward()
    return receive


async def send_answer(send: Send, answer: http.Answer) -> None:
    await send({"type": "http.response.start", "status": answer.status,
                "headers": raw(answer.headers)})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
