"""Middleware for Django, under WSGI and ASGI.

    MIDDLEWARE = ["onceguard.django.middleware", …]      # the first one: what clients get is kept
    ONCEGUARD = {"url": "unix:/run/onceguard/serve.sock"}  # and what Client and Guard take
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from typing import Any, Optional

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse, UnreadablePostError
from django.utils.decorators import sync_and_async_middleware

from . import http
from .calls import Run
from .client import RUNNING, Client
from .connections import blocking
from .errors import BadCall
from .wsgi import HalfABody, LengthRequired

OF_GUARD = ("service", "request_limit", "problem_base")


class Reply(HttpResponse):
    """An answer of the service: fields may stand there more than once."""

    def __init__(self, answer: http.Answer) -> None:
        super().__init__(answer.body, status=answer.status)
        del self["Content-Type"]
        self.repeated = []
        for name, value in answer.headers:
            if name in self or name.lower() == "set-cookie":
                self.repeated.append((name, value))
            else:
                self[name] = value

    def items(self) -> Any:
        return [*super().items(), *self.repeated]


@sync_and_async_middleware
def middleware(get_response: Any) -> Any:
    options = dict(settings.ONCEGUARD)
    of_guard = {name: options.pop(name) for name in OF_GUARD if name in options}
    client = options.pop("client", None) or Client(**options)
    guard = http.Guard(client, **of_guard)

    if asyncio.iscoroutinefunction(get_response):
        async def serve_async(request: Any) -> Any:
            return await serve(guard, client.loops, request, get_response)
        made: Any = serve_async
    else:
        def serve_sync(request: Any) -> Any:
            return blocking(serve(guard, client.threads, request, get_response))
        made = serve_sync
    made.process_exception = note_exception
    return made


def note_exception(request: Any, exception: BaseException) -> None:
    """Django makes an answer of what a view raised; its record is settled by the exception."""
    request.onceguard_exception = exception


async def serve(guard: http.Guard, io: Any, request: Any, get_response: Any) -> Any:
    http.drop_reserved(request.META)
    request.onceguard = None
    run: Optional[Run] = None
    if request.method not in http.SAFE:
        try:
            body = read_body(request, guard.request_limit)
        except BadCall as error:
            return Reply(guard.problem(error))
        begun = await guard.begin(io, request.method, *described(request), body)
        if begun.answer:
            return Reply(begun.answer)
        run = request.onceguard = begun.run
        request.META.update(begun.as_environ())
    request.__dict__.pop("headers", None)  # made from META at its first use
    entered = RUNNING.set(run)
    try:
        response = get_response(request)
        if inspect.isawaitable(response):
            response = await response
    except BaseException as error:  # the process is ending: views' exceptions do not come here
        if run:
            await guard.threw(io, run, error)
        raise
    finally:
        RUNNING.reset(entered)
    instead = await ended(guard, io, run, request, response) if run else None
    if instead:
        response.close()
        return Reply(instead)
    for name in http.MARKS:
        del response[name]
    return response


async def ended(guard: http.Guard, io: Any, run: Run, request: Any, response: Any,
                ) -> Optional[http.Answer]:
    """Settles by the response, or by the exception that it stands for."""
    raised = getattr(request, "onceguard_exception", None)
    if raised is not None and response.status_code == 500:
        return await guard.threw(io, run, raised)
    held = http.Held(run.answer_limit)
    held.start(response.status_code, [*response.items(), *(
        ("Set-Cookie", cookie.output(header="")) for cookie in response.cookies.values())])
    try:
        streams = await read_answer(response, held)
        whole = not streams and held.end()
    except BaseException as error:
        response.close()
        instead = await guard.threw(io, run, error)
        if instead is None:
            raise
        return instead
    if whole and not http.has_no_body(response.status_code):
        del response["Content-Length"]
        response["Content-Length"] = str(held.size)  # the last one, as that of a replay
    return await guard.finish(io, run, held, whole)


async def read_answer(response: Any, held: http.Held) -> bool:
    """Reads what a view answers, which is given on by the response. Whether the rest is to go out
    as it comes."""
    if not response.streaming:
        return held.add(response.content)
    content = response.streaming_content
    if getattr(response, "is_async", False):
        parts = content.__aiter__()
        streams = False
        async for part in parts:
            if streams := held.add(part):
                break

        async def whole_async() -> Any:
            for part in held.parts:
                yield part
            async for part in parts:
                yield part
        response.streaming_content = whole_async()
        return streams
    parts = iter(content)
    streams = any(map(held.add, parts))
    response.streaming_content = itertools.chain(held.parts, parts)
    return streams


def read_body(request: Any, limit: int) -> Optional[bytes]:
    """None: it is longer than that, and the view may read it."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower() and not length:
        if isinstance(request, WSGIRequest):
            raise LengthRequired("Django takes no chunked requests under WSGI. Send a length.")
    if length.isdigit() and int(length) > limit:
        return None
    try:
        body: bytes = request.body
    except UnreadablePostError as error:
        raise HalfABody() from error
    if length.isdigit() and len(body) < int(length):
        raise HalfABody()
    return body if len(body) <= limit else None


def described(request: Any) -> Any:
    """Target, fields and client address."""
    target, headers, address = http.by_environ(request.META)
    scope = getattr(request, "scope", None)
    if scope:
        from .asgi import target_of
        target = target_of(scope)
    return target, headers, address
