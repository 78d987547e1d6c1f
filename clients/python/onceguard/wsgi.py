"""Middleware for WSGI: Flask and others.

    app.wsgi_app = onceguard.wsgi.Middleware(app.wsgi_app, onceguard.Client("unix:/run/…"))
"""

from __future__ import annotations

import io as streams
import itertools
from http import HTTPStatus
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from . import http
from .calls import LOG, Run
from .client import RUNNING, Client
from .connections import blocking
from .errors import BadCall
from .messages import Answer

Environ = Dict[str, Any]
PHRASES = {status.value: status.phrase for status in HTTPStatus}


class LengthRequired(BadCall):
    status, title = 411, "The server does not say where a chunked request ends"


class HalfABody(BadCall):
    status, title = 400, "The request ended before its body did"


class Middleware:
    def __init__(self, app: Any, client: Client, **options: Any) -> None:
        self.app, self.io = app, client.threads
        self.guard = http.Guard(client, **options)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        http.drop_reserved(environ)
        if environ["REQUEST_METHOD"] in http.SAFE:
            return self.pass_on(environ, start_response)
        try:
            body = read_body(environ, self.guard.request_limit)
        except BadCall as error:
            return send_answer(start_response, self.guard.problem(error))
        target, headers, address = http.by_environ(environ)
        begun = blocking(self.guard.begin(self.io, environ["REQUEST_METHOD"], target, headers,
                                          address, body))
        environ.update(begun.as_environ())
        if begun.answer:
            return send_answer(start_response, begun.answer)
        if begun.run:
            return self.run(environ, begun.run, start_response)
        return self.pass_on(environ, start_response)

    def pass_on(self, environ: Environ, start_response: Callable[..., Any]) -> Any:
        environ["onceguard"] = None
        return self.app(environ, lambda status, headers, *more: start_response(
            status, http.unmarked(headers), *more))

    def run(self, environ: Environ, run: Run, start_response: Callable[..., Any],
            ) -> Iterable[bytes]:
        environ["onceguard"] = run
        held = Held(run.answer_limit)
        entered = RUNNING.set(run)
        try:
            whole = held.call(self.app, environ)
        except BaseException as error:
            held.close()
            answer = blocking(self.guard.threw(self.io, run, error))
            if answer is None:
                raise
            LOG.exception("The handler of a guarded request raised")
            return send_answer(start_response, answer)
        finally:
            RUNNING.reset(entered)
        answer = blocking(self.guard.finish(self.io, run, held, whole))
        if answer:
            held.close()
            return send_answer(start_response, answer)
        start_response(held.line, held.answer().headers if whole else http.unmarked(held.headers))
        return held.parts if whole else held.rest()


class Held(http.Held):
    """Holds an answer back until its end, or until it is to go out as it comes."""

    line = ""
    made: Any = ()

    def begin(self, line: str, headers: Any, exc_info: Any = None) -> Callable[[bytes], Any]:
        self.line = line
        self.start(int(line[:3]), headers)
        return self.add

    def call(self, app: Any, environ: Environ) -> bool:
        """Runs the handler. Whether its answer is here as a whole."""
        self.made = app(environ, self.begin)
        self.pieces = iter(self.made)
        for piece in self.pieces:
            if self.add(piece):
                return False
        self.close()
        return self.end()

    def rest(self) -> Iterator[bytes]:
        """The answer as it comes."""
        try:
            yield from itertools.chain(self.parts, self.pieces)
        finally:
            self.close()

    def close(self) -> None:
        made, self.made = self.made, ()
        if hasattr(made, "close"):
            made.close()


class Rest(streams.RawIOBase):
    """A body whose beginning was read."""

    def __init__(self, begin: bytes, stream: Any) -> None:
        self.begin, self.stream = begin, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.begin[:len(buffer)] or self.stream.read(len(buffer))
        self.begin = self.begin[len(buffer):]
        buffer[:len(data)] = data
        return len(data)


def read_body(environ: Environ, limit: int) -> Optional[bytes]:
    """The body, which the handler gets once more. None: it is longer than that."""
    stream, length = environ["wsgi.input"], environ.get("CONTENT_LENGTH") or ""
    chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    if chunked and not environ.get("wsgi.input_terminated"):
        raise LengthRequired()
    if not chunked and (not length.isdigit() or int(length) > limit):
        return None if length.isdigit() else b""
    wanted = limit + 1 if chunked else int(length)
    body = b""
    while len(body) < wanted and (piece := stream.read(wanted - len(body))):
        body += piece
    if chunked and len(body) == wanted:
        environ["wsgi.input"] = streams.BufferedReader(Rest(body, stream))
        return None
    if not chunked and len(body) < wanted:
        raise HalfABody()
    environ["wsgi.input"] = streams.BytesIO(body)
    if environ.pop("HTTP_TRANSFER_ENCODING", None) or length:
        environ["CONTENT_LENGTH"] = str(len(body))
    return body


def send_answer(start_response: Callable[..., Any], answer: Answer) -> List[bytes]:
    start_response(f"{answer.status} {PHRASES.get(answer.status, 'Unknown')}", answer.headers)
    return [answer.body]
