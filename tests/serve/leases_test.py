"""Leases live with the connection of their claim; an operation's id outlives both."""

import contextlib
import json
import signal
import socket
import sqlite3
import uuid

import pytest

from support.decisions import as_request, parts, stays, taken_over
from support.waiting import wait_until

SHORT = ("--lease", "2s")
# A busy machine may renew a little late.
RENEWED, LONGER = ("--lease", "3s"), 5


def in_time(act, tries=3):
    """What the act returned that was not nothing: what is never renewed is late each time."""
    for _ in range(tries):
        if made := act():
            return made
    raise AssertionError("the lease was not renewed")


def test_a_lease_is_renewed_while_its_connection_lives(start_service):
    service = start_service(options=RENEWED)
    holder, other = service.connect(), service.connect()

    def held():
        wanted = parts()
        begun = holder.claim(**wanted)
        return stays(lambda: other.claim(**wanted)["verdict"] == "busy", LONGER) and begun
    begun = in_time(held)
    assert holder.complete(begun["operation"])["outcome"] == "settled"


def test_it_runs_out_after_the_connection_and_a_late_settle_counts(start_service):
    service = start_service(options=SHORT)
    for wanted in (parts(), as_request()):
        holder, other = service.connect(), service.connect()
        begun = holder.claim(**wanted)
        holder.close()
        wait_until(lambda: other.claim(**wanted)["verdict"] == "unknown", what="the end")
        assert other.complete(begun["operation"])["outcome"] == "settled"
        assert other.claim(**wanted)["verdict"] == "replay"


def test_it_is_renewed_for_as_long_as_the_work_may_take_and_no_longer(start_service):
    service = start_service(options=(*SHORT, "--upstream-timeout", "3s"))
    holder, other, wanted = service.connect(), service.connect(), parts()
    begun = holder.claim(**wanted)
    wait_until(lambda: other.claim(**wanted)["verdict"] == "unknown", what="the end")
    assert holder.complete(begun["operation"])["outcome"] == "settled"


def test_a_client_may_renew_by_itself(start_service):
    service = start_service(options=RENEWED)
    client, wanted = service.connect(), parts(renew="client")
    begun = client.claim(**wanted)

    def is_renewed():
        renewed = client.settle(begun["operation"], "renew")
        return renewed["outcome"] == "renewed" and renewed["lease_ms"] > 500
    assert stays(is_renewed, LONGER)
    wait_until(lambda: client.claim(**wanted)["verdict"] == "unknown", what="the end")


def test_a_renewal_on_another_connection_binds_the_lease_to_it(start_service):
    service = start_service(options=RENEWED)

    def inherited():
        wanted = parts()
        begun = service.connect().claim(**wanted)
        service.kill()
        service.start()
        heir, other = service.connect(), service.connect()
        assert heir.settle(begun["operation"], "renew")["outcome"] == "renewed"
        kept = stays(lambda: other.claim(**wanted)["verdict"] == "busy", LONGER)
        return kept and (heir, other, wanted)
    heir, other, wanted = in_time(inherited)
    heir.close()
    wait_until(lambda: other.claim(**wanted)["verdict"] == "unknown", what="the end")


def test_a_settle_may_come_on_any_connection_and_again(service):
    wanted = parts()
    begun = service.connect().claim(**wanted)
    for _ in range(3):
        assert service.connect().complete(begun["operation"])["outcome"] == "settled"


def test_an_operation_is_settled_after_a_kill(start_service):
    service = start_service()
    for wanted in (parts(), as_request()):
        begun = service.connect().claim(**wanted)
        service.kill()
        service.start()
        caller = service.connect()
        assert caller.claim(**wanted)["verdict"] == "busy"
        assert caller.complete(begun["operation"])["outcome"] == "settled"
        again = caller.claim(**wanted)
        assert again["verdict"] == "replay" and again["kept"] == "full"


def test_a_claim_that_is_sent_again_takes_over_from_its_first_try(start_service):
    service = start_service()
    for wanted in (parts(claim=uuid.uuid4().hex), {**as_request(), "claim": uuid.uuid4().hex}):
        first = service.connect()
        begun = first.claim(**wanted)
        second = service.connect()
        same = second.claim(**wanted)
        assert (same["operation"], same["token"]) == (begun["operation"], begun["token"])
        first.close()  # the lease lives with the second one now
        service.kill()
        service.start()
        third = service.connect()
        later = third.claim(**wanted)
        assert later["verdict"] == "run" and int(later["token"]) > int(begun["token"])
        assert third.complete(begun["operation"])["outcome"] == "superseded"
        assert third.complete(later["operation"])["outcome"] == "settled"
        assert third.claim(**wanted)["verdict"] == "replay"


def test_a_client_that_leaves_before_its_answer_leaves_the_key_free(service, call):
    wanted = parts()
    begun = call.claim(**wanted)
    waiting = service.connect()
    waiting.send_post("/v1/operations", {**wanted, "wait_ms": 60000, "claim": "ab" * 16})
    other = service.connect()
    wait_until(lambda: other.claim(**wanted)["verdict"] == "busy")
    waiting.close()
    call.settle(begun["operation"], "release")
    # Nobody got it in the meantime, or what the leaver got was given back.
    wait_until(lambda: other.claim(**wanted)["verdict"] == "run", what="a free key")


OTHER_MEMBERS = ({"fingerprint": "charge 11"}, {"scope": "another"}, {"key": "another"},
                 {"policy": {"lease": "20s"}}, {"dispatch": False}, {"renew": "client"})


@pytest.mark.parametrize("other", OTHER_MEMBERS)
def test_a_claim_id_belongs_to_what_was_asked(start_service, other):
    service = start_service()
    wanted = parts(claim=uuid.uuid4().hex)
    holder = service.connect()
    begun = holder.claim(**wanted)
    status, problem = service.connect().post("/v1/operations", {**wanted, **other})
    assert status == 422 and problem["type"] == "urn:onceguard:problem:claim-reused"
    assert problem["detail"].startswith("claim: ") and not problem["retryable"]
    # After a restart nobody remembers: whatever it gets, it is not the first one's lease.
    service.kill()
    service.start()
    got = service.connect().claim(**{**wanted, **other})
    assert got.get("lease") != begun["lease"]
    if "scope" not in other and "key" not in other:
        assert got["verdict"] == ("mismatch" if "fingerprint" in other else "busy")
    service.kill()
    service.start()
    same = service.connect().claim(**wanted)
    assert same["verdict"] == "run" and int(same["token"]) > int(begun["token"])
    assert service.connect().settle(same["operation"], "complete",
                                    answer={"status": 200})["outcome"] == "settled"


def test_a_claim_that_begins_to_wait_less_is_the_same(call):
    wanted = parts(claim=uuid.uuid4().hex)
    begun = call.claim(**wanted, wait_ms=5000)
    assert call.claim(**wanted, wait_ms=10)["lease"] == begun["lease"]


def test_the_released_claim_of_a_leaver_begins_anew(start_service):
    """Each claim leaves at once: whatever its service came to, the same claim runs after it."""
    service = start_service(options=("--lease", "60s"))
    for _ in range(30):
        wanted = parts(claim=uuid.uuid4().hex)
        leaver = service.connect()
        leaver.send_post("/v1/operations", wanted)
        leaver.sock.shutdown(socket.SHUT_RDWR)
        leaver.close()
        again = service.connect()
        begun = again.claim(**wanted)
        assert begun["verdict"] == "run"
        assert again.complete(begun["operation"])["outcome"] == "settled"
        assert again.claim(**wanted)["verdict"] == "replay"


def test_a_late_complete_never_gets_its_own_answer_through(start_service):
    service = start_service(options=(*SHORT, "--unknown", "rerun"))
    for wanted in (parts(), as_request()):
        slow, quick = service.connect(), service.connect()
        begun = slow.claim(**wanted)
        slow.close()
        taken = taken_over(quick, wanted)
        assert taken["token"] > begun["token"]
        late = service.connect()
        ended = late.complete(begun["operation"], body="late")
        assert ended["outcome"] == "superseded" and ended["reply"]["status"] == 409
        assert late.settle(begun["operation"], "renew")["outcome"] == "superseded"
        assert quick.complete(taken["operation"], body="quick")["outcome"] == "settled"
        ended = late.complete(begun["operation"], body="late")
        assert ended["outcome"] == "replay"
        shown = ended.get("answer") or ended["reply"]
        assert shown["body"] == "quick"


def test_a_late_complete_never_gets_another_operations_answer(service, call):
    """The key was released, and another request has it since."""
    for wanted in (parts(), as_request()):
        begun = call.claim(**wanted)
        call.settle(begun["operation"], "release")
        other = json.loads(json.dumps(wanted))
        if "request" in other:
            other["request"]["body"] = '{"amount": 7}'
        else:
            other["fingerprint"] = "charge 7"
        call.complete(call.claim(**other)["operation"], body="of another")
        ended = service.connect().complete(begun["operation"], body="late")
        assert ended["outcome"] == "superseded" and ended["reply"]["status"] == 409
        assert "of another" not in json.dumps(ended)


def test_a_drain_takes_settles_and_no_claims(start_service):
    service = start_service()
    holder, other = service.connect(), service.connect()
    begun = holder.claim(**parts())
    other.claim(**parts())
    service.signal(signal.SIGTERM)
    wait_until(lambda: "draining" in service.log(), what="the drain")
    status, refused = other.post("/v1/operations", parts())
    assert status == 503 and refused["type"].endswith("draining")
    assert holder.complete(begun["operation"])["outcome"] == "settled"
    other.close()
    assert service.process.wait(60) == 0
    assert not service.socket.exists()


def test_a_drain_ends_in_its_time_and_what_runs_is_settled_later(start_service):
    service = start_service(options=("--drain", "300ms"))
    wanted = parts()
    begun = service.connect().claim(**wanted)
    assert service.stop() == 0
    service.start()
    caller = service.connect()
    assert caller.claim(**wanted)["verdict"] == "busy"
    assert caller.complete(begun["operation"])["outcome"] == "settled"


def test_a_reload_takes_new_rules_and_refuses_wrong_ones(start_service):
    service = start_service(config='[[route]]\npath = "/charges"\nrequired = true\n')
    caller = service.connect()
    keyless = {"request": {"method": "POST", "target": "/charges", "headers": []}}
    assert caller.claim(**keyless)["verdict"] == "refused"
    service.write_config("[[route]]\npath = 7\n")
    service.signal(signal.SIGHUP)
    wait_until(lambda: "reload-refused" in service.log(), what="the refusal")
    assert caller.claim(**keyless)["verdict"] == "refused"
    service.write_config('[[route]]\npath = "/others"\n')
    service.signal(signal.SIGHUP)
    wait_until(lambda: "reloaded" in service.log(), what="the reload")
    assert caller.claim(**keyless)["verdict"] == "pass"


def test_what_the_store_has_not_recorded_is_not_settled_yet(start_service):
    """The work ran. Its answer counts once the store has it, and not before."""
    service = start_service(config={"store": {"timeout": "300ms"},
                                    "gateway": {"settle_wait": "300ms"}})
    with contextlib.closing(sqlite3.connect(service.store.partition(":")[2])) as locked:
        for wanted in (parts(), as_request()):
            client = service.connect()
            begun = wait_until(lambda wanted=wanted, client=client:
                               (got := client.claim(**wanted))["verdict"] == "run" and got,
                               what="a claim")  # it has 300 ms
            locked.execute("BEGIN EXCLUSIVE")
            ended = client.complete(begun["operation"])
            assert ended["outcome"] == "unrecorded"
            assert ended["reply"]["status"] == 503
            locked.rollback()
            wait_until(lambda wanted=wanted, client=client:
                       client.claim(**wanted)["verdict"] == "replay", what="the record")
