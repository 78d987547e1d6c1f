"""The Python client against a service that answers late, wrongly, newly, or not at all."""

import asyncio
import dataclasses
import pathlib
import sys
import time

import pytest

from clients.scripted_service import RUN, SETTLED, answer
from support.waiting import Stopwatch, least_seconds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))

import onceguard  # noqa: E402
import onceguard.calls  # noqa: E402

WHAT = {"scope": "shop", "key": "order-17", "fingerprint": "charge 1000"}
DRAINING = answer({"type": "urn:onceguard:problem:draining", "detail": "it ends"}, status=503,
                  kind="application/problem+json")


class Blocking:
    """The client's calls from a thread."""

    def execute(self, client, work=lambda: "done", **more):
        return client.execute(work=work, **{**WHAT, **more})


class Looping:
    """The same from an event loop, which stays, as in a server."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()

    def execute(self, client, work=lambda: "done", **more):
        return self.loop.run_until_complete(
            client.execute_async(work=work, **{**WHAT, **more}))


@pytest.fixture(params=[Blocking, Looping])
def way(request):
    made = request.param()
    yield made
    if isinstance(made, Looping):
        made.loop.close()


@pytest.fixture
def short_settles(monkeypatch):
    monkeypatch.setattr(onceguard.calls, "SETTLE_AGAIN", 0.4)


def test_work_runs_between_its_claim_and_its_settle_on_one_connection(scripted, way):
    service = scripted()
    client = onceguard.Client(service.url, token="secret")
    seen = []
    for _ in range(2):
        assert way.execute(client, lambda: seen.append(onceguard.running()) or {"paid": 1}) == {
            "paid": 1}
    assert [(run.token, run.attempt, run.lease) for run in seen] == [(7, 2, "lease-text")] * 2
    assert onceguard.running() is None
    claim, complete = service.calls[:2]
    assert {**claim.message, **WHAT} == claim.message and len(claim.message["claim"]) == 32
    assert complete.path == "/v1/operations/op-1/complete"
    assert complete.message["answer"]["status"] == 200
    assert complete.body == b'{"paid": 1}'
    assert {call.connection for call in service.calls} == {0}
    assert {call.fields["Authorization"] for call in service.calls} == {"Bearer secret"}
    assert service.calls[2].message["claim"] != claim.message["claim"]


def test_a_claim_without_an_answer_is_sent_again_with_its_id_on_another_connection(scripted, way):
    service = scripted(None, None, RUN)
    assert way.execute(onceguard.Client(service.url)) == "done"
    assert service.kinds() == ["claim", "claim", "claim", "complete"]
    assert len({call.message["claim"] for call in service.calls[:3]}) == 1
    assert [call.connection for call in service.calls] == [0, 1, 2, 2]


def test_a_claim_goes_on_to_the_successor_of_a_process_that_drains(scripted, way):
    def seconds():
        service = scripted(RUN, SETTLED, DRAINING, RUN)
        client = onceguard.Client(service.url)
        clock = Stopwatch()
        assert [way.execute(client) for _ in range(2)] == ["done"] * 2
        took = clock.seconds
        assert service.kinds() == ["claim", "complete", "claim", "claim", "complete"]
        assert service.calls[2].message == service.calls[3].message
        assert [call.connection for call in service.calls] == [0, 0, 0, 1, 1]
        return took
    assert least_seconds(seconds, enough=1) < 1


def test_a_process_that_drains_without_a_successor_is_away(scripted, way):
    for _ in range(5):  # a busy machine may find the time for fewer tries
        service = scripted(*[DRAINING] * 100)
        began = time.monotonic()
        with pytest.raises(onceguard.ServiceAway, match="it ends") as refusal:
            way.execute(onceguard.Client(service.url, timeout=60), lambda: pytest.fail("it ran"))
        assert time.monotonic() - began < 30
        assert (refusal.value.kind, refusal.value.retry_after) == ("store-unreachable", 1.0)
        if len(service.calls) > 2:
            break
    assert len(service.calls) > 2 and len({call.connection for call in service.calls}) > 2
    service.away()
    assert way.execute(onceguard.Client(service.url, open=True)) == "done"


def test_who_is_not_there_after_a_process_that_drains_is_away_at_once(scripted, way):
    service = scripted(DRAINING)
    service.ends_after(1)
    began = time.monotonic()
    with pytest.raises(onceguard.ServiceAway):
        way.execute(onceguard.Client(service.url, timeout=60), lambda: pytest.fail("it ran"))
    assert time.monotonic() - began < 30 and len(service.calls) == 1


@pytest.mark.parametrize("nonsense", [
    b"HTTP/1.1 200 OK\r\n\r\n{}", b"SSH-2.0\r\n\r\n", answer(RUN) + b"more",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnone", answer([1]), answer({"verdict": "run"})],
    ids=["no length", "not HTTP", "longer", "chunks", "no JSON", "no object", "no operation"])
def test_what_is_no_answer_of_the_service_leaves_the_claim_in_doubt(scripted, way, nonsense):
    service = scripted(nonsense, RUN)
    assert way.execute(onceguard.Client(service.url)) == "done"
    assert service.calls[0].message == service.calls[1].message
    assert service.calls[1].connection == 1


def test_nothing_runs_while_the_service_is_away(scripted, way):
    service = scripted()
    client = onceguard.Client(service.url, timeout=60)
    way.execute(client)
    service.away()
    began = time.monotonic()
    with pytest.raises(onceguard.ServiceAway) as refusal:
        way.execute(client, lambda: pytest.fail("it ran"))
    assert time.monotonic() - began < 30  # nothing was sent: nobody waits
    assert (refusal.value.kind, refusal.value.retryable, refusal.value.retry_after) == (
        "store-unreachable", True, 1.0)
    service.open()
    assert way.execute(client) == "done"


def test_a_claim_stays_in_doubt_no_longer_than_the_timeout(scripted, way):
    for _ in range(5):  # a busy machine may find the time for fewer tries
        service = scripted(*[None] * 100)
        with pytest.raises(onceguard.ServiceAway):
            way.execute(onceguard.Client(service.url, timeout=2), lambda: pytest.fail("it ran"))
        assert len(service.calls) < 9
        assert len({call.message["claim"] for call in service.calls}) == 1
        if len(service.calls) > 2:
            break
    assert len(service.calls) > 2


def test_a_service_that_hangs_is_away(scripted, way):
    def seconds():
        service, clock = scripted(b"HTTP/1.1 200"), Stopwatch()
        with pytest.raises(onceguard.ServiceAway):
            way.execute(onceguard.Client(service.url, timeout=0.2, wait=0.2),
                        lambda: pytest.fail("it ran"))
        return clock.seconds
    assert least_seconds(seconds, enough=4, tries=3) < 4  # the usual times are 5 s and more


def test_a_client_that_is_open_runs_work_unguarded_instead(scripted, way):
    service = scripted()
    service.away()
    client = onceguard.Client(service.url, open=True)
    assert way.execute(client, lambda: str(onceguard.running())) == "None"


def test_an_idle_connection_that_has_ended_is_no_service_that_is_away(scripted, way):
    service = scripted()
    client = onceguard.Client(service.url)
    way.execute(client)
    service.away()
    service.open()
    assert way.execute(client) == "done"
    assert service.kinds() == ["claim", "complete"] * 2


@pytest.mark.parametrize("verdict, kind", [
    ("busy", onceguard.Busy), ("backoff", onceguard.BackingOff),
    ("mismatch", onceguard.Mismatch), ("unknown", onceguard.OutcomeUnknown),
    ("refused", onceguard.Rejected), ("store_failed", onceguard.StoreFailed),
    ("overloaded", onceguard.Overloaded), ("of next year", onceguard.OutcomeUnknown)])
def test_each_verdict_that_is_no_run_is_an_exception(scripted, way, verdict, kind):
    service = scripted({"verdict": verdict, "detail": "Why not.", "retryable": True,
                        "kind": "of-the-service", "retry_after_ms": 1500, "newer": [1]})
    with pytest.raises(kind, match="Why not.") as refusal:
        way.execute(onceguard.Client(service.url), lambda: pytest.fail("it ran"))
    assert type(refusal.value) is kind
    assert (refusal.value.kind, refusal.value.retry_after) == ("of-the-service", 1.5)


@pytest.mark.parametrize("verdict", ["pass", "unguarded"])
def test_work_that_is_not_guarded_settles_nothing(scripted, way, verdict):
    service = scripted({"verdict": verdict})
    assert way.execute(onceguard.Client(service.url)) == "done"
    assert service.kinds() == ["claim"]


def test_observed_work_is_its_own_answer_whatever_the_service_says(scripted, way, short_settles):
    service = scripted({"verdict": "observe", "operation": "o"}, {"outcome": "superseded"},
                       {"verdict": "observe", "operation": "o"}, *[None] * 50)
    client = onceguard.Client(service.url)
    assert [way.execute(client), way.execute(client)] == ["done", "done"]


def test_a_replay_is_the_first_value(scripted, way):
    replay = {"verdict": "replay", "kept": "full", "answer": {"status": 200, "headers": []}}
    in_json = {"verdict": "replay", "answer": {"status": 200, "body": "[1]"}}
    in_base64 = {"verdict": "replay", "answer": {"status": 200, "body_base64": "WzJd"}}
    service = scripted(answer(replay, b'{"paid": 1}'), answer(in_json, kind="application/json"),
                       answer(in_base64, kind="application/json"), {**replay, "kept": "none"})
    client = onceguard.Client(service.url)
    assert [way.execute(client, lambda: pytest.fail("it ran")) for _ in range(3)] == [
        {"paid": 1}, [1], [2]]
    with pytest.raises(onceguard.AnswerNotKept):
        way.execute(client)


@pytest.mark.parametrize("raised, kind, members", [
    (onceguard.NotDone("no stock"), "release", {}),
    (onceguard.TryLater("busy", backoff=1.5), "fail", {"backoff_ms": 1500}),
    (onceguard.TryLater(), "fail", {}), (ZeroDivisionError("half of it"), "exception", {})])
def test_what_work_raises_says_how_it_ended(scripted, way, raised, kind, members):
    def work():
        raise raised
    service = scripted()
    with pytest.raises(type(raised)) as refusal:
        way.execute(onceguard.Client(service.url), work)
    assert refusal.value is raised
    assert (service.calls[1].kind, service.calls[1].message) == (kind, members)


def test_a_settle_is_repeated_until_it_is_answered(scripted, way):
    service = scripted(RUN, None, b"HTTP/1.1 nonsense\r\n\r\n", DRAINING, SETTLED)
    assert way.execute(onceguard.Client(service.url)) == "done"
    assert service.kinds() == ["claim"] + ["complete"] * 4
    assert len({(call.path, call.body) for call in service.calls[1:]}) == 1


def test_an_end_that_is_not_recorded_gives_no_value(scripted, way, monkeypatch):
    monkeypatch.setattr(onceguard.calls, "SETTLE_AGAIN", 2)
    for _ in range(5):  # a busy machine may find the time for fewer tries
        service = scripted(RUN, *[None] * 100)
        with pytest.raises(onceguard.StoreFailed, match="The work ran") as refusal:
            way.execute(onceguard.Client(service.url))
        assert refusal.value.retryable
        if service.kinds().count("complete") > 2:
            break
    assert service.kinds().count("complete") > 2


def test_a_raised_exception_is_not_hidden_by_a_service_that_went_away(scripted, way, short_settles):
    service = scripted(RUN, *[None] * 100)
    with pytest.raises(ZeroDivisionError):
        way.execute(onceguard.Client(service.url), lambda: 1 // 0)


@pytest.mark.parametrize("outcome, kind", [
    ("superseded", onceguard.OutcomeUnknown), ("unrecorded", onceguard.StoreFailed),
    ("of next year", onceguard.OutcomeUnknown), ("replay", onceguard.AnswerNotKept)])
def test_a_value_that_does_not_count_is_never_given(scripted, way, outcome, kind):
    service = scripted(RUN, {"outcome": outcome, "newer": 1})
    with pytest.raises(kind):
        way.execute(onceguard.Client(service.url))


def test_another_attempts_value_is_given_instead_of_ones_own(scripted, way):
    other = {"outcome": "replay", "answer": {"status": 200, "headers": []}}
    service = scripted(RUN, answer(other, b'"the other one"'))
    assert way.execute(onceguard.Client(service.url)) == "the other one"


def test_an_answer_that_the_service_finds_too_long_is_settled_without_its_body(scripted, way):
    service = scripted(RUN, answer({"type": "…:body-too-large"}, status=413, kind="a/b"), SETTLED)
    assert way.execute(onceguard.Client(service.url)) == "done"
    assert (service.calls[2].message["streamed"], service.calls[2].body) == (True, b"")


@pytest.mark.parametrize("value", ["x" * 1001, {1, 2}])
def test_a_value_that_can_not_be_kept_is_a_fact_all_the_same(scripted, way, value):
    service = scripted()
    assert way.execute(onceguard.Client(service.url), lambda: value) == value
    assert (service.calls[1].message["streamed"], service.calls[1].body) == (True, b"")


@pytest.mark.parametrize("status", [400, 401, 404, 413])
def test_a_call_that_the_service_refuses_runs_nothing(scripted, way, status):
    service = scripted(answer({"type": "…:x", "detail": "policy: none"}, status=status, kind="a/b"))
    with pytest.raises(onceguard.BadCall, match="policy: none"):
        way.execute(onceguard.Client(service.url), lambda: pytest.fail("it ran"))


@dataclasses.dataclass
class Order:
    id: str
    amount: int


def test_a_decorated_function_is_named_by_its_arguments(scripted):
    service = scripted()
    client = onceguard.Client(service.url)

    @client.once(scope=lambda order, *_: "shop", key=lambda order, *_: order.id, policy="payments")
    def charge(order, note=None):
        return order.amount

    @client.once(scope="shop", key="the one", fingerprint=lambda order: order.id)
    async def charge_later(order):
        return order.amount + 1

    assert charge(Order("a", 5)) == 5
    assert charge(Order("a", 6)) == 6
    assert asyncio.run(charge_later(Order("a", 5))) == 6
    first, other, last = (call.message for call in service.calls if call.kind == "claim")
    assert (first["key"], first["scope"], first["policy"]) == ("a", "shop", "payments")
    assert first["path"].endswith("charge") and charge.__name__ == "charge"
    assert first["fingerprint"] != other["fingerprint"]
    assert (last["key"], last["fingerprint"]) == ("the one", "a")
    with pytest.raises(TypeError, match="give once\\(\\) a fingerprint"):
        charge(Order("a", 5), object())


def test_claims_and_settles_may_be_made_one_by_one(scripted):
    service = scripted()
    client = onceguard.Client(service.url)
    claim = client.claim({**WHAT, "renew": "client", "wait_ms": 5})
    assert (claim.verdict, claim.run.operation, claim.run.lease_ms) == ("run", "op-1", 30000)
    service.script = [{"outcome": "renewed", "lease_ms": 5}]
    assert client.settle(claim.run, "renew").members["lease_ms"] == 5
    assert client.settle(claim.run, "abandon").outcome == "settled"
    assert {call.connection for call in service.calls} == {0}


@pytest.mark.parametrize("url", ["", "unix:", "ftp://a", "127.0.0.1:80", "http://a/path"])
def test_an_address_that_is_none_is_said_at_once(url):
    with pytest.raises(ValueError, match="is not unix:PATH"):
        onceguard.Client(url)


def test_a_token_goes_on_one_line():
    with pytest.raises(ValueError, match="printable"):
        onceguard.Client("unix:/s", token="a\r\nb")
