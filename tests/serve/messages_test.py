"""What is no message, or a bad one; slow, endless and many clients."""

import json
import select
import socket

import pytest

from support.decisions import FRAMED, as_request, parts
from support.waiting import Stopwatch, wait_until

WRONG_CLAIMS = {
    "scope: is missing": {"key": "k"},
    "key: is missing": {"scope": "s"},
    "key: expected a text": parts(7) | {"key": 7},
    "fingerprnt: there is no such member": parts(fingerprnt="x"),
    "fingerprint: is there twice: as text and as base64": parts(fingerprint_base64="AA=="),
    "claim: expected 32 hex digits": parts(claim="xyz"),
    "wait_ms: expected a whole number": parts(wait_ms="1s"),
    "renew: expected": parts(renew="never"),
    "dispatch: expected true or false": parts(dispatch=0),
    "policy: expected a name or an object of options": parts(policy=3),
    "policy: there is no policy": parts(policy="nobody-knows-it"),
    "request: expected an object": {"request": []},
    "request.target: is missing": {"request": {"method": "POST"}},
    "request.method: expected a method": {"request": {"method": "PO ST", "target": "/"}},
    "request.target: expected a path": {"request": {"method": "POST", "target": "http://a/b"}},
    "request.headers[1]: expected a pair":
        {"request": {"method": "POST", "target": "/", "headers": [["A", "b"], ["C"]]}},
    "request.headers[0]: the name": {"request": {"method": "P", "target": "/",
                                                 "headers": [["A B", "c"]]}},
    "request.headers[0]: the value has a control":
        {"request": {"method": "P", "target": "/", "headers": [["A", "b\r\nC: d"]]}},
    "request.headers[0]: the value has a character":
        {"request": {"method": "P", "target": "/", "headers": [["A", "\u20ac"]]}},
    "request.client_address: expected an IP address": as_request(client_address="shop:80"),
    "request.client_certificate: expected": as_request(client_certificate="00"),
    "request.body_base64: expected base64":
        {"request": {"method": "P", "target": "/", "body_base64": "*"}},
    "request.body: is there twice": as_request(body_base64="AA=="),
    "policy: a request has": {**as_request(), "policy": {"lease": "1s"}},
    "scope: stands in the request": {**as_request(), "scope": "s"},
    "request.zz: there is no such member": as_request(zz=1),
}


@pytest.mark.parametrize("fault", WRONG_CLAIMS)
def test_a_wrong_member_is_named(call, fault):
    status, problem = call.post("/v1/operations", WRONG_CLAIMS[fault])
    assert status == 400 and problem["type"] == "urn:onceguard:problem:bad-request"
    assert problem["detail"].startswith(fault)
    assert call.claim(**parts())["verdict"] == "run"  # the connection goes on


WRONG_SETTLES = {
    ("complete", "answer.status: is missing"): {"answer": {}},
    ("complete", "answer.status: expected a status"): {"answer": {"status": 99}},
    ("complete", "answer: expected an object"): {"answer": "done"},
    ("fail", "answer: there is no such member"): {"answer": {"status": 200}},
    ("fail", "backoff_ms: expected a whole number"): {"backoff_ms": -1},
    ("release", "backoff_ms: belongs to fail"): {"backoff_ms": 1},
    ("fail", "backoff_ms: at most 86400000, a day"): {"backoff_ms": 86400001},
}


@pytest.mark.parametrize("kind, fault", WRONG_SETTLES)
def test_a_wrong_settle_settles_nothing(call, kind, fault):
    operation = call.claim(**parts())["operation"]
    status, problem = call.post(f"/v1/operations/{operation}/{kind}",
                                WRONG_SETTLES[kind, fault])
    assert status == 400 and problem["detail"].startswith(fault)
    assert call.complete(operation)["outcome"] == "settled"


def test_what_is_null_is_missing_whatever_its_name(call):
    assert call.claim(**parts(zz=None, policy=None))["verdict"] == "run"
    assert call.claim(**as_request(zz=None))["verdict"] == "run"


def test_a_member_that_is_there_twice_is_refused(call):
    for text, fault in ((b'{"scope":"s","key":"first","key":"second"}', "key: is there twice"),
                        (b'{"request":{"method":"POST","target":"/","target":"/b"}}',
                         "request.target: is there twice"),
                        (b'{"calls":[{"call":"claim","scope":"s","scope":"t"}]}',
                         "calls[0].scope: is there twice")):
        path = "/v1/batch" if b"calls" in text else "/v1/operations"
        call.request("POST", path, text, {"Content-Type": "application/json"})
        status, problem = call.read()
        assert status == 400 and problem["detail"] == fault


def test_the_answer_of_a_request_is_needed(call):
    operation = call.claim(**as_request())["operation"]
    status, problem = call.post(f"/v1/operations/{operation}/complete")
    assert status == 400 and problem["detail"].startswith("answer: is missing")
    assert call.complete(operation)["outcome"] == "settled"


@pytest.mark.parametrize("text, why", (
    (b"{", "not JSON"), (b"[]", "no JSON object"), (b"\xff", "not JSON"),
    (b'{"a":' * 100, "nested too deep"), (b'{"a":[' + b"0," * 200000 + b"0]}", "too many values"),
    (b'{"a":1e999}', "not JSON")))
def test_what_is_no_message_is_refused(call, text, why):
    call.request("POST", "/v1/operations", text, {"Content-Type": "application/json"})
    status, problem = call.read()
    assert status == 400 and why in problem["detail"]


def test_a_framed_message_needs_its_line_feed(call):
    call.request("POST", "/v1/operations", b"{}", {"Content-Type": FRAMED})
    assert "line feed" in call.read()[1]["detail"]
    call.request("POST", "/v1/operations", b'{"scope":"s","key":"k"}\nbody',
                 {"Content-Type": FRAMED})
    assert call.read()[1]["detail"].startswith("request: a body")


@pytest.mark.parametrize("target", ("/", "/v1", "/v2/operations", "/v1/operations/",
                                    "/v1/operations/x", "/v1/operations/x/explode",
                                    "/v1/operations//complete"))
def test_an_unknown_path_is_not_found(call, target):
    status, problem = call.post(target, {})
    assert status == 404 and problem["type"].endswith("not-found")


@pytest.mark.parametrize("operation", ("x", "1-", "2-00", "1-" + "0" * 64 + "-" + "0" * 16,
                                       "1-" + "z" * 200))
def test_an_id_that_is_none_is_not_found(call, operation):
    status, problem = call.post(f"/v1/operations/{operation}/complete", {})
    assert status == 404 and "no operation" in problem["detail"]


def test_an_operation_that_nobody_claimed_is_superseded(call):
    operation = call.claim(**parts())["operation"]
    other = operation.replace(operation[2:12], "0123456789", 1)
    ended = call.settle(other, "complete", answer={"status": 200})
    assert ended["outcome"] == "superseded" and ended["reply"]["status"] == 409


@pytest.mark.parametrize("held", (True, False))
def test_an_id_with_the_mark_of_another_operation_is_none(service, held):
    call = service.connect()
    begun = call.claim(**parts())
    operation = begun["operation"]
    if not held:
        call.close()
        call = service.connect()
    numbers, mark, last = operation.rsplit("-", 2)
    wrong = f"{numbers}-{'0' * len(mark)}-{last}"
    for kind in ("complete", "renew", "release"):
        status, problem = call.post(f"/v1/operations/{wrong}/{kind}", {})
        assert status == 404 and "no operation" in problem["detail"]
    assert call.complete(operation)["outcome"] == "settled"


def test_methods_and_types_are_checked(call):
    call.request("GET", "/v1/operations")
    assert call.read()[0] == 405
    call.request("POST", "/v1/operations", b"{}", {"Content-Type": "text/plain"})
    status, problem = call.read()
    assert status == 400 and "Content-Type" in problem["detail"]


def test_health_and_readiness(service, call):
    for target, said in (("/healthz", "ok"), ("/readyz", "ready")):
        call.request("GET", target)
        assert call.read() == (200, {"status": said})


def test_a_message_that_is_too_long_is_refused(service):
    call = service.connect()
    status, problem = call.post("/v1/operations", as_request(body="x" * (3 << 20)))
    assert status == 413 and problem["type"].endswith("request-too-large")
    # Half more than the longest body, and 64 KiB.
    assert problem["detail"] == f"The body is longer than {(3 << 19) + (64 << 10)} bytes."


def raw(service):
    out = socket.socket(socket.AF_UNIX)
    out.settimeout(60)
    out.connect(str(service.socket))
    return out


def test_a_slow_client_is_closed(start_service):
    service = start_service(options=("--serve-message-timeout", "300ms",
                                     "--serve-idle-timeout", "300ms"))
    for begin in (b"", b"POST /v1/oper", b"POST /v1/operations HTTP/1.1\r\nHost: a\r\n"
                  b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"):
        with raw(service) as slow:
            slow.sendall(begin)
            while slow.recv(4096):
                pass
    # One that holds an operation may be silent.
    holder = service.connect()
    operation = holder.claim(**parts())["operation"]
    passed = Stopwatch()
    wait_until(lambda: passed.seconds > 1, what="more than its time")
    assert holder.complete(operation)["outcome"] == "settled"


def test_who_does_not_read_is_closed_and_stalls_nobody(start_service):
    service = start_service(options=("--serve-write-timeout", "300ms",
                                     "--max-answer-body", "8MiB", "--serve-threads", "1"))
    wanted, caller = parts(), service.connect()
    big = "x" * (6 << 20)
    caller.complete(caller.claim(**wanted)["operation"], body=big)
    text = json.dumps(wanted).encode()
    with raw(service) as silent:
        silent.sendall(b"POST /v1/operations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json"
                     b"\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        ended = select.poll()
        ended.register(silent, select.POLLRDHUP)

        def served_until_its_end():
            assert caller.claim(**parts())["verdict"] == "run"
            return ended.poll(0)
        wait_until(served_until_its_end, what="the end of who does not read")
        got = 0
        while piece := silent.recv(1 << 20):
            got += len(piece)
        assert got < len(big)


def test_many_connections_are_bounded(start_service):
    service = start_service(options=("--serve-max-connections", "50"))
    many = [raw(service) for _ in range(50)]
    more = raw(service)
    assert b" 503 " in more.recv(4096).split(b"\r\n")[0]
    for each in (*many, more):
        each.close()
    wait_until(lambda: service.answers(), what="room")


def test_strangers_bodies_leave_room_for_settles(start_service):
    service = start_service(options=("--serve-max-messages", "256KiB"))
    caller = service.connect()
    operation = caller.claim(**parts())["operation"]
    begin = (b"POST /v1/operations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
             b"Content-Length: 60000\r\n\r\n")
    many = [raw(service) for _ in range(10)]
    for each in many:
        each.sendall(begin)

    def is_full():
        refused, problem = service.connect().post("/v1/operations", as_request(body="x" * 60000))
        return refused == 503 and problem["type"].endswith("overloaded")
    wait_until(is_full, what="no room for claims")
    ended = caller.complete(operation, body="x" * 60000)
    assert ended["outcome"] == "settled"
    for each in many:
        each.close()
