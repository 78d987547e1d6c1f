"""Claims and settles over the socket, as requests and by their parts."""

import base64
import json
import uuid

import pytest

from support.decisions import as_request, parts, undated

# ---- by parts


def test_an_operation_runs_once_and_is_replayed(call):
    wanted = parts()
    begun = call.claim(**wanted)
    assert begun["verdict"] == "run"
    assert begun["attempt"] == 1 and begun["token"] >= 1 and 0 < begun["lease_ms"] <= 30000
    assert begun["lease"].startswith("OG1-")
    names = [name for name, _ in begun["headers"]]
    assert names == ["Onceguard-Scope", "Onceguard-Attempt", "Onceguard-Token", "Onceguard-Lease"]
    assert call.complete(begun["operation"]) == {"outcome": "settled"}
    again = call.claim(**wanted)
    assert again["verdict"] == "replay" and again["kept"] == "full"
    assert again["answer"] == {"status": 201, "headers": [["X-Made", "once"]], "body": "done"}


@pytest.mark.parametrize("wanted", [parts, as_request])
def test_the_first_answer_stays_whatever_is_completed_later(service, wanted):
    """With the same id, while the service has the operation no longer."""
    wanted = wanted()
    call = service.connect()
    operation = call.claim(**wanted)["operation"]
    assert call.complete(operation, body="first")["outcome"] == "settled"
    first = call.claim(**wanted)
    again = call.complete(operation, body="second")
    assert again["outcome"] == "replay"
    known = again.get("answer") or again["reply"]
    assert known["body"] == "first"
    assert undated(call.claim(**wanted)) == undated(first)
    assert call.complete(operation, body="first")["outcome"] == "settled"


def test_a_twin_is_busy(service, call):
    wanted = parts()
    call.claim(**wanted)
    twin = service.connect().claim(**wanted)
    assert twin["verdict"] == "busy" and twin["kind"] == "busy" and twin["retryable"]
    assert twin["retry_after_ms"] > 0
    assert twin["reply"]["status"] == 409
    assert json.loads(twin["reply"]["body"])["type"] == "urn:onceguard:problem:in-progress"


def test_another_fingerprint_is_a_mismatch(call):
    wanted = parts()
    call.claim(**wanted)
    other = call.claim(**{**wanted, "fingerprint": "charge 11"})
    assert other["verdict"] == "mismatch" and other["reply"]["status"] == 422
    assert "answer" not in other


def test_a_twin_that_waits_gets_the_first_answer(service, call):
    wanted = parts()
    begun = call.claim(**wanted)
    twin = service.connect()
    twin.send_post("/v1/operations", {**wanted, "wait_ms": 20000})
    call.complete(begun["operation"], body="first")
    status, got = twin.read()
    assert status == 200 and got["verdict"] == "replay" and got["answer"]["body"] == "first"


def test_fail_backs_off_and_release_frees_the_key(call):
    wanted = parts()
    failed = call.settle(call.claim(**wanted)["operation"], "fail", backoff_ms=60000)
    assert failed["outcome"] == "settled"
    again = call.claim(**wanted)
    assert again["verdict"] == "backoff" and 0 < again["retry_after_ms"] <= 60000
    other = parts()
    call.settle(call.claim(**other)["operation"], "release")
    begun = call.claim(**{**other, "fingerprint": "charge 99"})
    assert begun["verdict"] == "run" and begun["attempt"] == 2


def test_what_failed_is_no_other_attempts(service, call):
    """Nobody else began: the words say so."""
    for wanted in (parts(), as_request()):
        operation = call.claim(**wanted)["operation"]
        assert call.settle(operation, "fail", backoff_ms=60000)["outcome"] == "settled"
        assert call.settle(operation, "fail")["outcome"] == "settled"
        late = call.complete(operation)
        assert late["outcome"] == "backoff" and "answer" not in late
        assert late["reply"]["status"] == 409
        assert json.loads(late["reply"]["body"])["type"] == "urn:onceguard:problem:backing-off"
        assert service.connect().claim(**wanted)["verdict"] == "backoff"


@pytest.mark.parametrize("kind", ("abandon", "exception"))
def test_who_does_not_know_leaves_the_outcome_unknown(call, kind):
    wanted = parts()
    call.settle(call.claim(**wanted)["operation"], kind)
    again = call.claim(**wanted)
    assert again["verdict"] == "unknown" and again["reply"]["status"] == 409
    assert "retry_after_ms" not in again


def test_a_dispatch_says_that_the_work_begins(service, call):
    wanted = parts(dispatch=False)
    begun = call.claim(**wanted)
    assert service.state(wanted["key"]) == "started"
    sent = call.settle(begun["operation"], "dispatch")
    assert sent["outcome"] == "dispatched" and sent["lease_ms"] > 0
    assert service.state(wanted["key"]) == "in_progress"
    assert call.complete(begun["operation"])["outcome"] == "settled"


def test_bytes_that_are_no_text_travel_as_base64(call):
    wanted = parts()
    made = base64.b64encode(bytes(range(256))).decode()
    operation = call.claim(**wanted)["operation"]
    call.settle(operation, "complete",
                answer={"status": 200, "headers": [["X-Bytes", "\u00e9\u00ff"]],
                        "body_base64": made})
    answer = call.claim(**wanted)["answer"]
    assert answer["body_base64"] == made and answer["headers"] == [["X-Bytes", "\u00e9\u00ff"]]


def test_an_answer_that_is_not_here_is_not_kept(call):
    wanted = parts()
    operation = call.claim(**wanted)["operation"]
    call.settle(operation, "complete", answer={"status": 200}, streamed=True)
    again = call.claim(**wanted)
    assert again["verdict"] == "replay" and again["kept"] == "none"
    assert again["kind"] == "answer-not-kept" and again["reply"]["status"] == 409


def test_a_malformed_key_is_refused(call):
    refused = call.claim(**parts("k" * 256))
    assert refused["verdict"] == "refused" and refused["reply"]["status"] == 400
    assert refused["kind"] == "invalid-request" and not refused["retryable"]


def test_nobody_claims_what_would_be_the_mark_of_a_pepper(call):
    refused = call.claim(**{**parts("onceguard-pepper"), "scope": "",
                            "scope_kind": "onceguard pepper"})
    assert refused["verdict"] == "refused" and refused["reply"]["status"] == 400


# ---- as requests

def test_a_request_is_guarded_by_its_key(call):
    wanted = as_request()
    begun = call.claim(**wanted)
    assert begun["verdict"] == "run" and begun["answer_limit"] == 1 << 20
    assert call.complete(begun["operation"]) == {"outcome": "settled"}
    again = call.claim(**wanted)
    assert again["verdict"] == "replay" and again["kept"] == "full"
    reply = again["reply"]
    assert reply["status"] == 201 and reply["body"] == "done"
    assert ["Idempotent-Replayed", "true"] in reply["headers"]
    assert ["X-Made", "once"] in reply["headers"]


def test_a_request_without_a_key_passes(call):
    assert call.claim(request={"method": "POST", "target": "/charges", "headers": []}) == {
        "verdict": "pass"}


def test_a_malformed_key_of_a_request_is_refused(call):
    wanted = as_request()
    wanted["request"]["headers"][0][1] = '"broken'
    refused = call.claim(**wanted)
    assert refused["verdict"] == "refused" and refused["reply"]["status"] == 400


def test_a_target_is_refused_that_takes_long_to_read(call):
    """Whatever it is made of: other servers take targets of a megabyte."""
    longest = 64 << 10

    def claim_of(target):
        wanted = as_request()
        wanted["request"]["target"] = target
        return call.claim(**wanted)
    for target in ("/" + "a/../" * 200_000, "/" * 1_000_000, "/" + "a" * longest):
        refused = claim_of(target)
        assert (refused["verdict"], refused["reply"]["status"]) == ("refused", 414)
    assert claim_of("/" + "a" * (longest - 1))["verdict"] == "run"


def test_another_body_is_a_mismatch(call):
    key = uuid.uuid4().hex
    call.claim(**as_request(key))
    other = call.claim(**as_request(key, body='{"amount": 1}'))
    assert other["verdict"] == "mismatch" and other["reply"]["status"] == 422


def test_a_status_decides_how_a_request_ends(call):
    wanted = as_request()
    released = call.complete(call.claim(**wanted)["operation"], status=422)
    assert released["outcome"] == "settled"
    assert call.claim(**wanted)["attempt"] == 2
    other = as_request()
    call.complete(call.claim(**other)["operation"], status=500)
    assert call.claim(**other)["verdict"] == "unknown"


def test_a_body_that_is_left_out_is_too_long_for_a_key(call):
    left_out = as_request(body="", body_omitted=True)
    refused = call.claim(**left_out)
    assert refused["verdict"] == "refused" and refused["reply"]["status"] == 413
    left_out["request"]["headers"] = []
    assert call.claim(**left_out)["verdict"] == "pass"


# ---- framed

def test_a_framed_message_has_its_body_as_it_is(call):
    wanted, body = as_request(), bytes(range(256)) + b"\n{}\n"
    del wanted["request"]["body"]
    status, begun, _ = call.post_framed("/v1/operations", wanted, body)
    assert (status, begun["verdict"]) == (200, "run")
    path = f"/v1/operations/{begun['operation']}/complete"
    _, ended, rest = call.post_framed(path, {"answer": {"status": 200, "headers": []}}, body)
    assert ended == {"outcome": "settled"} and rest == b""
    _, again, replayed = call.post_framed("/v1/operations", wanted, body)
    assert again["verdict"] == "replay" and "body" not in again["reply"] and replayed == body
    _, other, problem = call.post_framed("/v1/operations", wanted, body + b"!")
    assert other["verdict"] == "mismatch" and json.loads(problem)["status"] == 422


def test_one_body_is_one_operation_in_either_form(call):
    wanted = as_request(body="{\"amount\": 5}")
    call.complete(call.claim(**wanted)["operation"])
    body = wanted["request"].pop("body").encode()
    assert call.post_framed("/v1/operations", wanted, body)[1]["verdict"] == "replay"
