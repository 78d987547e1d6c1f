"""The middleware for ASGI at its edges, with a decision service that a test writes."""

import asyncio
import json
import pathlib
import sys

import pytest

from clients.scripted_service import RUN, SETTLED, answer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))

import onceguard  # noqa: E402
import onceguard.asgi  # noqa: E402

KEY = [(b"idempotency-key", b'"k"'), (b"content-type", b"a/b")]
REPLY = {"reply": {"status": 409, "headers": [["Link", "<a>"], ["Link", "<b>"], ["Date", "old"]]}}


class Asked:
    """An ASGI request to an app behind the middleware, and what came of it."""

    def __init__(self, scripted, app, method="POST", headers=(), body=(b"in",), left=False,
                 **options):
        self.sent, self.error = [], None
        self.client = onceguard.Client(scripted.url, **options.pop("client", {}))
        guarded = onceguard.asgi.Middleware(app, self.client, **options)
        self.messages = [{"type": "http.request", "body": each, "more_body": True}
                         for each in body]
        if left:
            self.messages.append({"type": "http.disconnect"})
        elif self.messages:
            self.messages[-1]["more_body"] = False
        scope = {"type": "http", "method": method, "path": "/p a", "raw_path": b"/p%20a",
                 "query_string": b"q=1", "headers": [*KEY, *headers], "client": ("10.0.0.1", 5)}
        try:
            asyncio.run(asyncio.wait_for(guarded(scope, self.receive, self.send), 60))
        except Exception as error:
            self.error = error

    async def receive(self):
        return self.messages.pop(0) if self.messages else {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def headers(self):
        return [(name.decode(), value.decode()) for name, value in self.sent[0]["headers"]]

    @property
    def body(self):
        return b"".join(message.get("body", b"") for message in self.sent[1:])


def started(status=201, *headers):
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def part(body, more=False):
    return {"type": "http.response.body", "body": body, "more_body": more}


def answers(*messages, then=None):
    async def app(scope, receive, send):
        for message in messages:
            await send(message)
        if then:
            raise then
    return app


def test_an_asgi_request_is_described_as_it_came(scripted):
    seen = {}

    async def app(scope, receive, send):
        seen.update(scope=scope, body=(await receive())["body"], run=onceguard.running())
        await answers(started(), part(b"made"))(scope, receive, send)
    service = scripted()
    asked = Asked(service, app, body=[b"one ", b"two"], service="shop",
                  headers=[(b"onceguard-token", b"9"), (b"Onceguard_Lease", b"x"),
                           (b"x", b"\xe9")])
    claim, complete = service.calls
    assert claim.message["request"] == {
        "method": "POST", "target": "/p%20a?q=1", "client_address": "10.0.0.1",
        "headers": [["idempotency-key", '"k"'], ["content-type", "a/b"], ["x", "\xe9"]]}
    assert (claim.message["service"], claim.body) == ("shop", b"one two")
    assert seen["body"] == b"one two"
    assert seen["scope"]["headers"] == [*KEY, (b"x", b"\xe9"), (b"onceguard-token", b"7")]
    assert seen["scope"]["onceguard"] is seen["run"] and seen["run"].token == 7
    assert complete.message == {"answer": {"status": 201, "headers": []}}
    assert (complete.body, asked.status, asked.body) == (b"made", 201, b"made")
    assert asked.headers == [("content-length", "4")]


def test_safe_methods_pass_without_a_call(scripted):
    service = scripted()
    asked = Asked(service, answers(started(200, (b"onceguard-outcome", b"done")), part(b"read")),
                  method="GET", headers=[(b"onceguard-token", b"9")])
    assert (asked.body, asked.headers, service.calls) == (b"read", [], [])


def test_an_answer_is_held_back_until_its_settle_was_answered(scripted):
    service = scripted()
    sent_before = []

    async def app(scope, receive, send):
        await send(started(201, (b"content-length", b"6")))
        await send(part(b"one", True))
        sent_before.append(len(service.calls))
        await send(part(b"two"))
    asked = Asked(service, app)
    assert (sent_before, service.calls[1].body, asked.body) == ([1], b"onetwo", b"onetwo")


def test_a_stream_that_can_be_kept_is_held_to_its_end(scripted):
    service = scripted()
    asked = Asked(service, answers(started(), part(b"a", True), part(b"b", True), part(b"")))
    assert (service.calls[1].body, asked.body) == (b"ab", b"ab")
    assert ("content-length", "2") in asked.headers


@pytest.mark.parametrize("raised, kind", [(ZeroDivisionError(), "exception"),
                                          (onceguard.NotDone(), "release")])
def test_a_stream_that_raises_midway_is_not_recorded_as_done(scripted, raised, kind):
    service = scripted()
    asked = Asked(service, answers(started(), part(b"half", True), then=raised))
    assert (service.kinds(), asked.sent, asked.error) == (["claim", kind], [], raised)


@pytest.mark.parametrize("head, parts, first", [
    ((), [(b"a" * 1001, True), (b"b", True), (b"", False)], b"a" * 1001),
    ([(b"content-type", b"text/event-stream"), (b"content-length", b"2")],
     [(b"a", True), (b"b", False)], b"a"),
    ([(b"content-length", b"2000")], [(b"a" * 1000, True), (b"b" * 1000, False)], b"a" * 1000)],
    ids=["long", "events", "longer than the limit"])
def test_a_stream_goes_out_as_it_comes_after_its_status_was_recorded(scripted, head, parts, first):
    service = scripted()
    asked = Asked(service, answers(started(200, *head), *(part(*one) for one in parts)))
    assert service.calls[1].message["streamed"] is True and service.calls[1].body == b""
    assert asked.sent[1] == part(first, True) and len(asked.sent) == len(parts) + 1


def test_the_longest_answer_that_is_kept(scripted):
    for size, streamed in ((1000, None), (1001, True)):
        service = scripted()
        asked = Asked(service, answers(started(), part(b"x" * size)))
        assert (service.calls[1].message.get("streamed"), len(asked.body)) == (streamed, size)


def test_marks_of_a_handler_are_not_for_clients(scripted):
    service = scripted()
    marks = [(b"Onceguard-Outcome", b"none"), (b"idempotent-replayed", b"true"), (b"x", b"1")]
    asked = Asked(service, answers(started(500, *marks), part(b"")))
    assert ["Onceguard-Outcome", "none"] in service.calls[1].message["answer"]["headers"]
    assert asked.headers == [("x", "1"), ("content-length", "0")]


def test_a_handler_that_raises_is_settled_and_raises_on(scripted):
    service = scripted(RUN, {"outcome": "settled", **REPLY})
    asked = Asked(service, answers(then=ZeroDivisionError("half of it")))
    assert service.kinds() == ["claim", "exception"]
    assert isinstance(asked.error, ZeroDivisionError)
    assert (asked.status, asked.headers) == (
        409, [("link", "<a>"), ("link", "<b>"), ("content-length", "0")])


def test_a_handler_that_did_nothing_releases(scripted):
    service = scripted()
    asked = Asked(service, answers(then=onceguard.NotDone("none left")))
    assert (service.kinds(), asked.sent) == (["claim", "release"], [])


@pytest.mark.parametrize("messages", [
    (), (started(),), (started(201, (b"content-length", b"9")), part(b"four", True)),
    (started(201, (b"content-length", b"9")), part(b"four"))],
    ids=["none", "a head", "a part", "a short one"])
def test_half_an_answer_is_none(scripted, messages):
    service = scripted()
    asked = Asked(service, answers(*messages))
    assert (service.kinds(), asked.sent) == (["claim", "exception"], [])
    assert isinstance(asked.error, RuntimeError)


def test_what_is_raised_after_the_answer_changes_nothing(scripted):
    service = scripted()
    asked = Asked(service, answers(started(), part(b"made"), then=ZeroDivisionError()))
    assert (service.kinds(), asked.body) == (["claim", "complete"], b"made")


def test_an_answer_that_does_not_count_is_not_sent(scripted):
    service = scripted(RUN, answer({"outcome": "replay", **REPLY}, b"the other one"))
    asked = Asked(service, answers(started(), part(b"mine")))
    assert (asked.status, asked.body, asked.error) == (409, b"the other one", None)


def test_a_stream_that_does_not_count_is_ended(scripted):
    service = scripted(RUN, {"outcome": "superseded"})

    async def app(scope, receive, send):
        await send(started())
        while True:
            await send(part(b"endless" * 100, True))
    asked = Asked(service, app)
    assert (asked.status, json.loads(asked.body)["type"], asked.error) == (
        409, "urn:onceguard:problem:outcome-unknown", None)


def test_that_a_client_left_is_hidden_while_its_answer_is_held(scripted):
    received = []

    async def app(scope, receive, send):
        await receive()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(receive(), 0.05)
        await send(started(200, (b"content-type", b"text/event-stream")))
        await send(part(b"begin", True))
        received.append((await receive())["type"])
        await send(part(b"", False))
    Asked(scripted(), app)
    assert received == ["http.disconnect"]


def test_a_cancelled_settle_of_an_answer_is_no_exception_of_its_handler(scripted):
    service = scripted(RUN, b"", SETTLED)
    guarded = onceguard.asgi.Middleware(answers(started(), part(b"made")),
                                        client := onceguard.Client(service.url))

    async def receive():
        return {"type": "http.request", "body": b"in", "more_body": False}

    async def run():
        task = asyncio.ensure_future(guarded({"type": "http", "method": "POST", "path": "/",
                                              "headers": KEY}, receive, None))
        await asyncio.get_running_loop().run_in_executor(
            None, lambda: service.wait_for(lambda: len(service.calls) == 2))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while client.loops.tasks:
            await asyncio.wait(list(client.loops.tasks))
    asyncio.run(run())
    assert service.kinds() == ["claim", "complete", "complete"]


def test_half_a_request_claims_nothing(scripted):
    service = scripted()
    asked = Asked(service, answers(started(), part(b"")), body=[b"half"], left=True)
    assert (service.calls, asked.sent) == ([], [])


@pytest.mark.parametrize("verdict, status", [({"verdict": "pass"}, 201), (RUN, 413)])
def test_a_body_over_the_limit_is_not_held(scripted, verdict, status):
    bodies = []

    async def app(scope, receive, send):
        more = True
        while more:
            message = await receive()
            bodies.append(message["body"])
            more = message["more_body"]
        await answers(started(), part(b"taken"))(scope, receive, send)
    service = scripted(verdict)
    asked = Asked(service, app, body=[b"a" * 6, b"b" * 6, b"c" * 6], request_limit=10)
    assert service.calls[0].message["request"]["body_omitted"] is True
    assert service.calls[0].body == b"" and asked.status == status
    if status == 201:
        assert b"".join(bodies) == b"a" * 6 + b"b" * 6 + b"c" * 6
    else:
        assert (service.kinds(), bodies) == (["claim", "release"], [])


def test_refusals_are_sent_as_they_are(scripted):
    busy = {"verdict": "busy", **REPLY}
    asked = Asked(scripted(answer(busy, b"wait")), answers(then=AssertionError("it ran")))
    assert (asked.status, asked.body, asked.error) == (409, b"wait", None)
    unknown = Asked(scripted({"verdict": "of next year"}), answers(then=AssertionError("it ran")))
    assert (unknown.status, dict(unknown.headers)["onceguard-retry"]) == (409, "no")


def test_nothing_runs_while_the_service_is_away(scripted):
    service = scripted()
    service.away()
    asked = Asked(service, answers(then=AssertionError("it ran")))
    assert (asked.status, asked.error) == (503, None)
    assert dict(asked.headers)["retry-after"] == "1"
    problem = json.loads(asked.body)
    assert (problem["type"], problem["retryable"], problem["status"]) == (
        "urn:onceguard:problem:store-unreachable", True, 503)


@pytest.mark.parametrize("status, kind, answered, problem", [
    (503, "overloaded", 503, "overloaded"), (400, "bad-request", 400, "bad-request"),
    (401, "unauthorized", 503, "store-unreachable"),
    (413, "body-too-large", 413, "request-too-large")])
def test_a_call_that_the_service_refuses_is_a_refusal(scripted, status, kind, answered, problem):
    detail = "request.target: expected a path" if status == 400 else "no"
    refusal = answer({"type": f"urn:onceguard:problem:{kind}", "detail": detail}, status=status,
                     kind="a/b")
    asked = Asked(scripted(refusal), answers(then=AssertionError("it ran")),
                  client={"open": True})
    assert (asked.status, asked.error) == (answered, None)
    assert json.loads(asked.body)["type"] == f"urn:onceguard:problem:{problem}"


def test_an_open_client_marks_what_runs_unguarded(scripted):
    seen = []

    async def app(scope, receive, send):
        seen.extend(scope["headers"])
        await answers(started(), part(b"done"))(scope, receive, send)
    service = scripted()
    service.away()
    asked = Asked(service, app, client={"open": True},
                  headers=[(b"onceguard-unguarded", b"store")])
    assert (asked.status, seen) == (201, [*KEY, (b"onceguard-unguarded", b"service")])
