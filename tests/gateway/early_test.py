"""Expect: 100-continue, and answers that come before the request was wholly sent."""

import base64

import pytest

from support.client import chunks, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.pattern import pattern
from support.waiting import Stopwatch

CONFIG = {"route": [{"path": "/required", "required": True}]}
EXPECT = [("Expect", "100-continue")]


def test_a_guarded_request_gets_100_continue_from_the_gateway(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", "/charges", fields_for(key, None, EXPECT)
                                      + [("Content-Length", "4")]))
        assert connection.read_interim().status == 100
        assert upstream.runs(key) == 0, "the body is not there yet"
        connection.send(b"body")
        assert_first(connection.read())
    request = upstream.requests(key)[0]
    assert "expect" not in request["head"].lower()
    assert request["body"] == "body"


def test_a_refused_head_gets_no_100(gateway):
    with gateway.connect() as connection:
        connection.send_request("POST", "/required", EXPECT + [("Content-Length", "4")])
        answer = connection.read()
        assert_problem(answer, 400, "key-missing", False)
        assert answer.interim == []


def test_a_body_that_will_be_too_large_gets_no_100(gateway, key):
    with gateway.connect() as connection:
        fields = fields_for(key, None, EXPECT) + [("Content-Length", str((1 << 20) + 1))]
        connection.send_request("POST", "/charges", fields)
        answer = connection.read()
        assert_problem(answer, 413, "request-too-large", False)
        assert answer.interim == []


def test_a_repeat_with_expect_is_replayed(gateway, key):
    first = assert_first(gateway.post(key=key))
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        fields = fields_for(key, None, EXPECT) + [("Content-Type", "application/json"),
                                                  ("Content-Length", "14")]
        connection.send(request_bytes("POST", "/charges", fields))
        assert connection.read_interim().status == 100
        connection.send(b'{"amount":100}')
        assert_replay_of(connection.read(), first)


def test_an_unguarded_request_gets_100_continue(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", EXPECT + [("Content-Length", "4")]))
        assert connection.read_interim().status == 100
        connection.send(b"body")
        assert_first(connection.read())
    assert upstream.requests(path=f"/{key}")[0]["body"] == "body"


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
def test_a_body_sent_without_waiting_is_fine(gateway, key, chunked):
    with gateway.connect() as connection:
        connection.send_request("POST", "/charges", fields_for(key, None, EXPECT), b"body",
                                chunked=chunked)
        assert_first(connection.read())
        connection.send_request("POST", "/charges", fields_for(key, None, EXPECT), b"body",
                                chunked=chunked)
        assert connection.read().replayed


@pytest.mark.parametrize("status, repeat", [(200, "replay"), (401, "run"), (413, "run"),
                                            (500, "outcome-unknown")])
def test_an_early_answer_is_the_answer(gateway, upstream, key, status, repeat):
    """The upstream answers at the head, and does not read the megabyte behind it."""
    body = pattern(1 << 20)
    plan = {"early": True, "status": status, "body": "early"}
    first = assert_first(gateway.post(key=key, body=body, plan=plan), status)
    assert first.body == b"early"
    again = gateway.post(key=key, body=body)
    if repeat == "replay":
        assert_replay_of(again, first)
    elif repeat == "run":
        assert_first(again)
    else:
        assert_problem(again, 409, repeat, False)
    assert upstream.runs(key) == (2 if repeat == "run" else 1)


def test_an_early_answer_is_read_although_writing_fails(gateway, key):
    """The upstream answers at the head and closes: writing on fails, the answer is there."""
    raw = base64.b64encode(b"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n"
                           b"Connection: close\r\n\r\nearly").decode()
    answer = gateway.post(key=key, body=pattern(1 << 20), plan={"early": True, "raw": raw})
    assert_first(answer, 413)
    assert answer.body == b"early"
    assert_first(gateway.post(key=key, body=pattern(1 << 20)))


def test_an_early_answer_to_an_unguarded_request(gateway, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        fields = fields_for(None, {"early": True, "status": 403, "body": "no"})
        connection.send(request_bytes("POST", f"/{key}", fields + [("Content-Length", "9000000")]))
        connection.send(b"x" * 1000)
        answer = connection.read()
        assert (answer.status, answer.body) == (403, b"no")


def test_an_unguarded_upload_gets_an_early_refusal(gateway, key):
    plan = {"early": True, "status": 403, "body": "no"}
    answer = gateway.post(f"/{key}", body=pattern(3 << 20), plan=plan, chunked=True)
    assert (answer.status, answer.body) == (403, b"no")


def is_sent(connection, *parts):
    """Not where a busy machine needs longer than the two seconds for which the rest is dropped."""
    clock = Stopwatch()
    try:
        for part in parts:
            connection.send(part)
    except ConnectionError:
        assert clock.seconds > 1.5, "a reset"
        return False
    return True


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
def test_a_client_sees_a_refusal_although_it_is_still_sending(gateway, key, chunked):
    """What is left of the body is read and dropped for a while, so that no reset eats it."""
    body = pattern(4 << 20)
    fields = fields_for(key) + ([("Transfer-Encoding", "chunked")] if chunked else
                                [("Content-Length", str(len(body)))])
    parts = [request_bytes("POST", "/charges", fields), chunks(body) if chunked else body]

    def is_seen():
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            if not is_sent(connection, *parts):
                return False
            answer = connection.read()
            assert_problem(answer, 413, "request-too-large", False)
            assert answer.get("Connection", "").lower() == "close"
            assert connection.closed_within(9)
            return True
    assert any(is_seen() for _ in range(5))


@pytest.mark.parametrize("status", [401, 413])
@pytest.mark.parametrize("end", ["kept", "closed"])
@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
def test_an_upload_answered_early_is_answered_and_not_reset(gateway, key, chunked, end, status):
    """The client is in the middle of its body; a reset would take the answer from it."""
    body = pattern(6 << 20)
    plan = {"early": True, "status": status, "body": "early", "headers": [["X-Why", "no"]]}
    if end == "closed":
        plan["raw"] = base64.b64encode(b"HTTP/1.1 %d No\r\nContent-Length: 5\r\nX-Why: no\r\n"
                                       b"Connection: close\r\n\r\nearly" % status).decode()
    request = request_bytes("POST", f"/{key}", fields_for(None, plan), body, chunked=chunked)
    answered = 0
    for _ in range(15):
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            if not is_sent(connection, request):
                continue
            answer = connection.read()
            assert (answer.status, answer.body) == (status, b"early")
            assert (answer.get("X-Why"), answer.get("Connection")) == ("no", "close")
            assert connection.closed_within(9)
        answered += 1
        if answered == 10:
            break
    assert answered == 10
