"""The middleware for Django at its edges, with a decision service that a test writes."""

import asyncio
import pathlib
import sys

import django
import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse, StreamingHttpResponse
from django.test import AsyncRequestFactory, RequestFactory
from django.urls import path

from clients.scripted_service import RUN, answer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))

import onceguard  # noqa: E402
import onceguard.http  # noqa: E402

settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="none",
                   MIDDLEWARE=["onceguard.django.middleware"], LOGGING_CONFIG=None)
django.setup()

SEEN = {}


def view(request):
    SEEN.update(request=request, body=request.body, run=onceguard.running())
    made = SEEN["made"]
    if isinstance(made, BaseException):
        raise made
    return made


urlpatterns = [path("p", view)]


class Wsgi:
    def ask(self, **how):
        handler = WSGIHandler()
        request = RequestFactory().post("/p?q=1", how.pop("body", b"in"), "a/b", **how)
        return handler.get_response(request)


class Asgi:
    def ask(self, **how):
        async def run():
            handler = ASGIHandler()
            fields = {name.removeprefix("HTTP_").replace("_", "-"): value
                      for name, value in how.items() if name.startswith("HTTP_")}
            request = AsyncRequestFactory().post("/p?q=1", how.get("body", b"in"), "a/b", **fields)
            return await handler.get_response_async(request)
        return asyncio.run(run())


@pytest.fixture(params=[Wsgi, Asgi])
def asked(request, scripted, monkeypatch):  # noqa: F811
    """Asks a view that answers or raises `made`; the service goes by `script`."""
    def ask(made, *script, away=False, **how):
        service = scripted(*script)
        options = {"url": service.url, **how.pop("options", {})}
        monkeypatch.setattr(settings, "ONCEGUARD", options, raising=False)
        SEEN.clear()
        SEEN["made"] = made
        if away:
            service.away()
        return service, request.param().ask(HTTP_IDEMPOTENCY_KEY='"k"', **how)
    return ask


def test_a_request_is_described_as_it_came(asked):
    service, response = asked(HttpResponse(b"made", status=201), HTTP_ONCEGUARD_TOKEN="9",
                              HTTP_ONCEGUARD_LEASE="x")
    claim, complete = service.calls
    described = claim.message["request"]
    assert (described["method"], described["target"], claim.body) == ("POST", "/p?q=1", b"in")
    assert ["Idempotency-Key", '"k"'] in described["headers"]
    assert ["Content-Type", "a/b"] in described["headers"]
    assert not [name for name, _ in described["headers"] if name.startswith("Onceguard")]
    assert (SEEN["body"], SEEN["run"].token) == (b"in", 7)
    assert SEEN["request"].onceguard is SEEN["run"]
    assert SEEN["request"].headers["Onceguard-Token"] == "7"
    assert "Onceguard-Lease" not in SEEN["request"].headers
    assert complete.message["answer"]["status"] == 201 and complete.body == b"made"
    assert (response.status_code, response.content) == (201, b"made")
    assert response["Content-Length"] == "4"


def test_fields_and_cookies_of_an_answer_are_settled_but_marks_are_not_sent(asked):
    made = HttpResponse(b"", status=200)
    made["Onceguard-Outcome"] = "none"
    made.set_cookie("a", "1")
    made.set_cookie("b", "2")
    service, response = asked(made)
    headers = service.calls[1].message["answer"]["headers"]
    assert ["Onceguard-Outcome", "none"] in headers
    assert [value.split(";")[0].strip() for name, value in headers if name == "Set-Cookie"] == [
        "a=1", "b=2"]
    assert "Onceguard-Outcome" not in response


@pytest.mark.parametrize("raised, kind, status", [
    (onceguard.NotDone(), "release", 500), (onceguard.TryLater(), "fail", 500),
    (ZeroDivisionError(), "exception", 500), (PermissionDenied(), "complete", 403)])
def test_what_a_view_raises_says_how_it_ended(asked, raised, kind, status):
    service, response = asked(raised)
    assert (service.calls[1].kind, response.status_code) == (kind, status)


def test_a_reply_to_an_exception_is_sent(asked):
    reply = {"reply": {"status": 409, "headers": [["Link", "<a>"], ["Link", "<b>"]]}}
    _, response = asked(ZeroDivisionError(), RUN,
                        answer({"outcome": "settled", **reply}, b"nobody knows"))
    assert (response.status_code, response.content) == (409, b"nobody knows")
    assert [field for field in response.items() if field[0] == "Link"] == [
        ("Link", "<a>"), ("Link", "<b>")]


@pytest.mark.parametrize("kind, body", [
    (StreamingHttpResponse, [b"a" * 1001, b"b"]), (HttpResponse, [b"x" * 1001])])
def test_what_is_not_kept_is_settled_by_its_status(asked, kind, body):
    service, response = asked(kind(body))
    assert service.calls[1].message["streamed"] is True and service.calls[1].body == b""
    assert b"".join(response) == b"".join(body)


def test_a_stream_that_can_be_kept_is_held_to_its_end(asked):
    service, response = asked(StreamingHttpResponse([b"a", b"b"]))
    assert (service.calls[1].body, b"".join(response)) == (b"ab", b"ab")
    assert response["Content-Length"] == "2"


@pytest.mark.parametrize("raised, kind", [(ZeroDivisionError(), "exception"),
                                          (onceguard.NotDone(), "release")])
def test_a_stream_that_raises_midway_is_not_recorded_as_done(asked, raised, kind):
    def half():
        yield b"half"
        raise raised
    service, response = asked(StreamingHttpResponse(half()))
    assert (service.kinds(), response.status_code) == (["claim", kind], 500)


@pytest.mark.parametrize("parts, streams", [([b"a", b"b"], False), ([b"a" * 1001, b"b"], True)])
def test_an_asynchronous_stream_is_read_like_another(parts, streams):
    class Streaming(dict):  # what newer versions of Django have
        streaming, is_async = True, True

    async def made():
        for part in parts:
            yield part

    async def read():
        import onceguard.django  # needs the settings
        answer = Streaming()
        answer.streaming_content = made()
        held = onceguard.http.Held(1000)
        held.start(200, [])
        streamed = await onceguard.django.read_answer(answer, held)
        return streamed, [part async for part in answer.streaming_content]
    assert asyncio.run(read()) == (streams, parts)


def test_an_answer_that_does_not_count_is_not_sent(asked):
    _, response = asked(HttpResponse(b"mine"), RUN, {"outcome": "superseded"})
    assert (response.status_code, b"outcome-unknown" in response.content) == (409, True)


def test_a_long_body_passes_unread(asked):
    how = {"body": b"x" * 30, "options": {"request_limit": 10}}
    service, response = asked(HttpResponse(b"passed"), {"verdict": "pass"}, **how)
    assert service.calls[0].message["request"]["body_omitted"] is True
    assert (response.content, SEEN["body"]) == (b"passed", b"x" * 30)
    _, refused = asked(HttpResponse(b"it ran"), **how)
    assert refused.status_code == 413 and "body" not in SEEN


def test_the_service_is_away(asked):
    _, refused = asked(HttpResponse(b"it ran"), away=True)
    assert (refused.status_code, refused["Retry-After"]) == (503, "1")
    _, opened = asked(HttpResponse(b"it ran"), away=True, options={"open": True})
    assert opened.content == b"it ran"
    assert SEEN["request"].headers["Onceguard-Unguarded"] == "service"


def test_chunks_are_refused_under_wsgi(asked, request):
    if "Asgi" in request.node.name:
        return
    service, refused = asked(HttpResponse(b"it ran"), HTTP_TRANSFER_ENCODING="chunked",
                             CONTENT_LENGTH="")
    assert (refused.status_code, service.calls) == (411, [])
