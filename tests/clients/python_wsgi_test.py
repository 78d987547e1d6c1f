"""The middleware for WSGI at its edges, with a decision service that a test writes."""

import io
import json
import pathlib
import sys

import pytest

from clients.scripted_service import RUN, SETTLED, answer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))

import onceguard  # noqa: E402
import onceguard.wsgi  # noqa: E402

REPLY = {"reply": {"status": 409, "headers": [["Link", "<a>"], ["Link", "<b>"], ["Date", "old"]]}}


def ask(service, app, method="POST", body=b"in", client=None, environ=(), **options):
    """Status, fields and body of a WSGI request to an app behind the middleware."""
    said = []
    guarded = onceguard.wsgi.Middleware(
        app, onceguard.Client(service.url, **client or {}), **options)
    answer = guarded({
        "REQUEST_METHOD": method, "RAW_URI": "/p%20a?q=1", "SCRIPT_NAME": "", "PATH_INFO": "/p a",
        "QUERY_STRING": "q=1", "HTTP_IDEMPOTENCY_KEY": '"k"', "CONTENT_TYPE": "a/b",
        "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "10.0.0.1",
        "wsgi.input": io.BytesIO(body), "wsgi.input_terminated": True, **dict(environ)},
        lambda *head: said.append(head))
    try:
        whole = b"".join(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()
    return said[-1][0], said[-1][1], whole


class Closing:
    """An answer that counts how often it was closed."""

    def __init__(self, pieces):
        self.pieces, self.closed = pieces, 0

    def __iter__(self):
        return iter(self.pieces)

    def close(self):
        self.closed += 1


def wsgi_app(pieces, status="201 Made", headers=()):
    def app(environ, start_response):
        start_response(status, list(headers))
        return pieces
    return app


def test_a_wsgi_request_is_described_as_it_came(scripted):
    seen = {}

    def app(environ, start_response):
        seen.update(environ, body=environ["wsgi.input"].read(), run=onceguard.running())
        start_response("201 Made", [("X", "1")])
        return [b"ma", b"de"]
    service = scripted()
    done = ask(service, app, environ={"HTTP_ONCEGUARD_TOKEN": "9", "HTTP_ONCEGUARD_X": "1"})
    assert service.calls[0].message["request"] == {
        "method": "POST", "target": "/p%20a?q=1", "client_address": "10.0.0.1",
        "headers": [["Idempotency-Key", '"k"'], ["Content-Type", "a/b"]]}
    assert (service.calls[0].body, seen["body"], seen["HTTP_ONCEGUARD_TOKEN"]) == (
        b"in", b"in", "7")
    assert "HTTP_ONCEGUARD_X" not in seen and seen["onceguard"] is seen["run"]
    assert service.calls[1].message["answer"] == {"status": 201, "headers": [["X", "1"]]}
    assert done == ("201 Made", [("X", "1"), ("Content-Length", "4")], b"made")


@pytest.mark.parametrize("environ, target", [
    ({"RAW_URI": "http://shop/a?b"}, "/a?b"), ({"RAW_URI": "http://shop"}, "/"),
    ({"RAW_URI": "", "SCRIPT_NAME": "/api", "PATH_INFO": "/\xc3\xa9 a"}, "/api/%C3%A9%20a?q=1")])
def test_a_target_of_wsgi_is_found(scripted, environ, target):
    service = scripted()
    ask(service, wsgi_app([b""]), environ=environ)
    assert service.calls[0].message["request"]["target"] == target


def test_an_answer_of_known_length_is_held_and_closed_once(scripted):
    service = scripted()
    pieces = Closing([b"one", b"two"])
    done = ask(service, wsgi_app(pieces, headers=[("Content-Length", "6")]))
    assert (service.calls[1].body, done[2], pieces.closed) == (b"onetwo", b"onetwo", 1)


@pytest.mark.parametrize("headers, pieces", [
    ((), [b"one" * 400, b"two"]), ([("Content-Length", "1100")], [b"x" * 1000, b"y" * 100]),
    ([("Content-Type", "text/event-stream"), ("Content-Length", "2")], [b"a", b"b"])],
    ids=["long", "longer than the limit", "events"])
def test_a_stream_of_wsgi_goes_out_as_it_comes(scripted, headers, pieces):
    service = scripted()
    made = Closing(pieces)
    done = ask(service, wsgi_app(made, headers=headers))
    assert service.calls[1].message["streamed"] is True and service.calls[1].body == b""
    assert (done[2], made.closed) == (b"".join(pieces), 1)


def test_a_stream_of_wsgi_that_can_be_kept_is_held_to_its_end(scripted):
    service = scripted()
    pieces = Closing([b"one", b"two"])
    done = ask(service, wsgi_app(pieces))
    assert (service.calls[1].body, done[2], pieces.closed) == (b"onetwo", b"onetwo", 1)
    assert ("Content-Length", "6") in done[1]


def test_a_stream_of_wsgi_that_raises_midway_is_not_recorded_as_done(scripted):
    def app(environ, start_response):
        start_response("200 OK", [])
        yield b"half"
        raise ZeroDivisionError
    service = scripted()
    with pytest.raises(ZeroDivisionError):
        ask(service, app)
    assert service.kinds() == ["claim", "exception"]


def test_an_app_that_writes_or_starts_late_is_held_too(scripted):
    def writes(environ, start_response):
        write = start_response("200 OK", [("Content-Length", "8")])
        write(b"writ")
        return [b"ten!"]

    def late(environ, start_response):
        start_response("200 OK", [("Content-Length", "4")])
        yield b"late"
    service = scripted()
    assert ask(service, writes)[2] == b"written!"
    assert ask(service, late)[2] == b"late"
    assert [call.body for call in service.calls if call.kind == "complete"] == [
        b"written!", b"late"]


def test_a_wsgi_handler_that_raises_is_settled(scripted):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Length", "9")])
        yield b"half"
        raise ZeroDivisionError
    service = scripted()
    with pytest.raises(ZeroDivisionError):
        ask(service, app)
    assert service.kinds() == ["claim", "exception"]
    replied = scripted(RUN, answer({"outcome": "replay", **REPLY}, b"the other one"))
    assert ask(replied, app)[2] == b"the other one"


def test_half_an_answer_of_wsgi_is_none(scripted):
    service = scripted()
    with pytest.raises(RuntimeError):
        ask(service, wsgi_app([b"four"], headers=[("Content-Length", "9")]))
    with pytest.raises(RuntimeError):
        ask(service, lambda environ, start_response: [])
    assert service.kinds() == ["claim", "exception"] * 2


def test_a_wsgi_answer_that_does_not_count_is_closed_and_not_sent(scripted):
    service = scripted(RUN, {"outcome": "superseded"}, RUN, {"outcome": "unrecorded"})
    stream = Closing([b"a" * 1001, b"b"])
    assert ask(service, wsgi_app(stream))[0] == "409 Conflict" and stream.closed == 1
    assert ask(service, wsgi_app([b"mine"]))[0] == "503 Service Unavailable"


@pytest.mark.parametrize("environ, status", [
    ({"CONTENT_LENGTH": "9"}, "400 Bad Request"),
    ({"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": False},
     "411 Length Required")])
def test_a_request_whose_end_is_not_seen_claims_nothing(scripted, environ, status):
    service = scripted()
    assert ask(service, wsgi_app([b"it ran"]), environ=environ)[0] == status
    assert service.calls == []


def test_a_chunked_request_of_wsgi_is_read_to_its_end(scripted):
    service = scripted()
    bodies = []

    def app(environ, start_response):
        bodies.append(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        return wsgi_app([b""])(environ, start_response)
    ask(service, app, environ={"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"})
    assert (service.calls[0].body, bodies) == (b"in", [b"in"])


@pytest.mark.parametrize("chunked", [False, True])
def test_a_long_body_of_wsgi_passes_unread(scripted, chunked):
    service = scripted({"verdict": "pass"}, RUN, SETTLED)
    bodies = []

    def app(environ, start_response):
        bodies.append(environ["wsgi.input"].read(100))
        return wsgi_app([b""])(environ, start_response)
    how = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"} if chunked else {}
    assert ask(service, app, body=b"x" * 30, environ=how, request_limit=10)[0] == "201 Made"
    assert bodies == [b"x" * 30]
    assert ask(service, app, body=b"x" * 30, environ=how, request_limit=10)[0].startswith("413")
    assert service.kinds() == ["claim", "claim", "release"] and len(bodies) == 1


def test_wsgi_while_the_service_is_away(scripted):
    service = scripted()
    service.away()
    status, headers, body = ask(service, wsgi_app([b"it ran"]))
    assert (status, dict(headers)["Retry-After"]) == ("503 Service Unavailable", "1")
    assert json.loads(body)["type"].endswith(":store-unreachable")
    seen = []

    def app(environ, start_response):
        seen.append(environ["HTTP_ONCEGUARD_UNGUARDED"])
        return wsgi_app([b"it ran"])(environ, start_response)
    assert ask(service, app, client={"open": True})[2] == b"it ran"
    assert seen == ["service"]
