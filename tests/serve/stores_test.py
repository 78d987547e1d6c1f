"""The decision service over each store that outlives it: the same answers, whatever keeps them."""

import json
import uuid

import pytest

from support.decisions import DecisionService, as_request, parts, stays, taken_over, undated
from support.waiting import wait_until

SECOND = ("--lease", "1s")


@pytest.fixture
def start(onceguard, tmp_path, store):
    """Starts services over one store: start(name, *options)."""
    made = []
    rest = {name: value for name, value in store.items() if name != "url"}

    def begin(name="one", *options):
        folder = tmp_path / name
        folder.mkdir()
        url = store.get("url") or f"sqlite:{tmp_path}/keys.db"
        made.append(DecisionService(onceguard, folder, {"store": rest}, store=url,
                                    options=options))
        return made[-1].start()

    yield begin
    for each in made:
        each.close()


@pytest.fixture
def service(start):
    return start()


@pytest.fixture(params=[parts, as_request])
def wanted(request):
    """A claim with a fresh key, in each way in which it may be named."""
    return request.param()


def changed(wanted):
    """The same key for another operation."""
    other = json.loads(json.dumps(wanted))
    if "request" in other:
        other["request"]["body"] = '{"amount": 7}'
    else:
        other["fingerprint"] = "charge 7"
    return other


def running(call, make):
    """A claim that runs; a busy machine may leave too little of one second for others."""
    def runs():
        wanted = make()
        got = call.claim(**wanted)
        assert got["verdict"] in ("run", "overloaded", "store_failed"), got
        return got["verdict"] == "run" and (got, wanted)
    return wait_until(runs, what="a claim that runs")


def body_of(answer):
    return (answer.get("answer") or answer["reply"])["body"]


def test_an_operation_runs_once_and_its_answer_is_replayed(service, wanted):
    one, other = service.connect(), service.connect()
    begun = one.claim(**wanted)
    assert (begun["verdict"], begun["attempt"]) == ("run", 1)
    assert one.complete(begun["operation"]) == {"outcome": "settled"}
    again = other.claim(**wanted)
    assert (again["verdict"], again["kept"], body_of(again)) == ("replay", "full", "done")
    assert other.claim(**changed(wanted))["verdict"] == "mismatch"
    # A settle that comes again changes nothing.
    assert one.complete(begun["operation"]) == {"outcome": "settled"}
    assert body_of(one.complete(begun["operation"], body="another")) == "done"
    assert undated(other.claim(**wanted)) == undated(again)


def test_a_twin_is_busy_or_waits_at_another_process(start, wanted):
    one, two = start("one"), start("two")
    begun = one.connect().claim(**wanted)
    twin = two.connect().claim(**wanted)
    assert (twin["verdict"], twin["reply"]["status"]) == ("busy", 409)
    assert two.connect().claim(**changed(wanted))["verdict"] == "mismatch"
    waiting = [each.connect() for each in (one, two)]
    for each in waiting:
        each.send_post("/v1/operations", {**wanted, "wait_ms": 30000})
    assert one.connect().complete(begun["operation"], body="first")["outcome"] == "settled"
    for each in waiting:
        status, got = each.read()
        assert (status, got["verdict"], body_of(got)) == (200, "replay", "first")


def test_a_failure_backs_off_and_a_release_frees_the_key(service):
    call, failed, free = service.connect(), parts(), parts()
    call.settle(call.claim(**failed)["operation"], "fail", backoff_ms=60000)
    again = call.claim(**failed)
    assert again["verdict"] == "backoff" and 0 < again["retry_after_ms"] <= 60000
    begun = call.claim(**free)
    call.settle(begun["operation"], "release")
    taken = call.claim(**changed(free))
    assert taken["verdict"] == "run" and taken["token"] > begun["token"]


def test_a_lease_lives_with_its_connection_and_the_outcome_is_unknown_after_it(start):
    service = start("one", "--lease", "3s")
    other = service.connect()
    for _ in range(3):  # a busy machine may renew too late, and not each time
        claims = [parts(), as_request()]
        holders = [service.connect() for _ in claims]
        begun = [holder.claim(**wanted) for holder, wanted in zip(holders, claims)]
        if kept := stays(
                lambda: all(other.claim(**wanted)["verdict"] == "busy" for wanted in claims), 5):
            break
    assert kept
    for holder in holders:
        holder.close()
    for wanted, lost in zip(claims, begun):
        said = wait_until(lambda wanted=wanted: (got := other.claim(**wanted))["verdict"] != "busy"
                          and got, what="the end of the lease")
        assert (said["verdict"], said["reply"]["status"]) == ("unknown", 409)
        # Who comes after all counts: nobody else has begun.
        assert other.complete(lost["operation"], body="late")["outcome"] == "settled"
        again = other.claim(**wanted)
        assert (again["verdict"], body_of(again)) == ("replay", "late")


def test_work_that_never_began_leaves_its_key_free(start):
    service = start("one", *SECOND)
    holder, other = service.connect(), service.connect()
    begun, wanted = running(holder, lambda: parts(dispatch=False))
    holder.close()
    assert taken_over(other, wanted)["token"] > begun["token"]


@pytest.mark.parametrize("make", [parts, as_request])
def test_a_takeover_fences_the_attempt_before(start, make):
    service = start("one", *SECOND, "--unknown", "rerun")
    slow, quick, late = service.connect(), service.connect(), service.connect()
    begun, wanted = running(slow, make)
    slow.close()
    taken = taken_over(quick, wanted)
    assert taken["token"] > begun["token"]
    assert late.complete(begun["operation"], body="late")["outcome"] == "superseded"
    assert quick.complete(taken["operation"], body="quick")["outcome"] == "settled"
    assert body_of(late.complete(begun["operation"], body="late")) == "quick"


def test_an_operation_is_settled_by_its_id_after_a_restart(start):
    service, other = start("one", "--drain", "200ms", "--lease", "6s"), start("two")
    for number, wanted in enumerate((parts(), as_request(), as_request(), parts())):
        begun = service.connect().claim(**wanted)
        if number < 2:
            service.kill()
        else:
            service.signal(15)  # whoever ends in order hands nothing on either
            service.process.wait(60)
        # The one that lives takes the settle at once, and the one that comes back knows of it.
        settling = other if number % 2 else service.start()
        assert settling.connect().claim(**wanted)["verdict"] == "busy"
        assert settling.connect().complete(begun["operation"])["outcome"] == "settled"
        if settling is other:
            service.start()
        again = service.connect().claim(**wanted)
        assert (again["verdict"], body_of(again)) == ("replay", "done")


def test_a_claim_in_doubt_gets_its_lease_after_a_restart(service, wanted):
    wanted = {**wanted, "claim": uuid.uuid4().hex}
    begun = service.connect().claim(**wanted)
    service.kill()
    service.start()
    call = service.connect()
    same = call.claim(**wanted)
    assert same["verdict"] == "run" and int(same["token"]) > int(begun["token"])
    # What the former process might still do for that lease is void.
    assert call.settle(begun["operation"], "release")["outcome"] == "superseded"
    assert call.claim(**{**wanted, "claim": uuid.uuid4().hex})["verdict"] == "busy"


def test_calls_of_a_batch_are_carried_out_together(service):
    call, claims, twin = service.connect(), [parts() for _ in range(40)], parts()
    _, answer = call.post("/v1/batch", {"calls": [
        {"call": "claim", **each} for each in [*claims, *[twin] * 10]]})
    verdicts = [each["verdict"] for each in answer["results"]]
    assert verdicts[:40] == ["run"] * 40
    assert sorted(verdicts[40:]) == ["busy"] * 9 + ["run"]
    settles = [{"call": "complete", "operation": each["operation"],
                "answer": {"status": 200, "body": str(number)}}
               for number, each in enumerate(answer["results"][:40])]
    _, answer = call.post("/v1/batch", {"calls": settles})
    assert answer["results"] == [{"status": 200, "outcome": "settled"}] * 40
    _, answer = call.post("/v1/batch", {"calls": [{"call": "claim", **each} for each in claims]})
    assert [body_of(each) for each in answer["results"]] == [str(n) for n in range(40)]
