"""Upstreams that can't be reached, break off, or answer nonsense."""

import base64
import socket

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.ports import Port

HEAD = "HTTP/1.1 200 OK\r\n"

NONSENSE = {
    "no HTTP": "hello world\r\n\r\n",
    "two lengths that differ": HEAD + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    "two equal lengths": HEAD + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "length list": HEAD + "Content-Length: 2, 2\r\n\r\nab",
    "length is no number": HEAD + "Content-Length: 2x\r\n\r\nab",
    "length and chunked": HEAD + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 "2\r\nab\r\n0\r\n\r\n",
    "unknown coding": HEAD + "Transfer-Encoding: gzip\r\n\r\nab",
    "gzip and chunked": HEAD + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "folded line": HEAD + "X: a\r\n b\r\nContent-Length: 2\r\n\r\nab",
    "folded length": HEAD + "Content-Length:\r\n 2\r\n\r\nab",
    "NUL in a value": HEAD + "X: a\0b\r\nContent-Length: 2\r\n\r\nab",
    "bare CR in a value": HEAD + "X: a\rb\r\nContent-Length: 2\r\n\r\nab",
    "bare LF": "HTTP/1.1 200 OK\nContent-Length: 2\n\nab",
    "HTTP/2.0": "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nab",
    "status of two digits": "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nab",
    "status of four digits": "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nab",
    "space before the colon": HEAD + "Content-Length : 2\r\n\r\nab",
    "empty name": HEAD + ": x\r\nContent-Length: 2\r\n\r\nab",
    "half a head": HEAD + "Content-Len",
    "only an interim answer": "HTTP/1.1 102 Processing\r\n\r\n",
    "truncated body": HEAD + "Content-Length: 10\r\n\r\nabc",
    "truncated chunks": HEAD + "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "no last chunk": HEAD + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    "broken chunk": HEAD + "Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
    "switching protocols": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                           "Connection: Upgrade\r\n\r\n",
    "nothing at all": "",
}


def raw(text):
    return {"raw": base64.b64encode(text.encode("latin-1")).decode()} if text else {"drop": "body"}


@pytest.mark.parametrize("text", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_broken_answer_leaves_the_outcome_unknown(gateway, upstream, key, text):
    answer = gateway.post(key=key, plan=raw(text))
    assert_problem(answer, 502, "upstream-broken", True)
    again = gateway.post(key=key)
    assert_problem(again, 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1
    assert gateway.state(key) == "unknown"


WHOLE_AT_THE_HEAD = ("truncated body", "truncated chunks", "no last chunk", "broken chunk",
                     "only an interim answer", "switching protocols")


@pytest.mark.parametrize("name", [n for n in NONSENSE if n not in WHOLE_AT_THE_HEAD])
def test_a_broken_answer_to_an_unguarded_request(gateway, upstream, key, name):
    answer = gateway.post(f"/{key}", plan=raw(NONSENSE[name]))
    assert_problem(answer, 502, "upstream-broken", True)
    assert len(upstream.requests(path=f"/{key}")) == 1


@pytest.mark.parametrize("name", ["truncated body", "truncated chunks", "no last chunk",
                                  "broken chunk"])
def test_a_truncated_answer_is_never_made_whole(gateway, key, name):
    answer = gateway.get(f"/{key}", plan=raw(NONSENSE[name]))
    assert answer.truncated or answer.status == 502, answer


@pytest.mark.parametrize("drop", ["head", "body", "half", "quarter-reset"])
def test_a_connection_that_breaks(gateway, upstream, key, drop):
    answer = gateway.post(key=key, plan={"drop": drop, "size": 40_000})
    assert_problem(answer, 502, "upstream-broken", True)
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


def test_an_http_1_0_upstream_with_a_length_is_kept(gateway, upstream, key):
    text = "HTTP/1.0 201 Created\r\nContent-Length: 4\r\nX-Old: 1\r\n\r\nbody"
    first = assert_first(gateway.post(key=key, plan=raw(text)))
    assert (first.version, first.body) == ("HTTP/1.1", b"body")
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_an_http_1_0_upstream_without_a_length_is_not_kept(gateway, upstream, key):
    first = assert_first(gateway.post(key=key, plan=raw("HTTP/1.0 200 OK\r\n\r\nbody")), 200)
    assert first.body == b"body"
    assert_problem(gateway.post(key=key), 409, "answer-not-kept", False)
    assert upstream.runs(key) == 1


def test_bytes_after_an_answer_are_not_the_next_answer(gateway, fresh_key):
    poison = ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
              "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
    for _ in range(5):
        first = gateway.post(key=fresh_key(), plan={**raw(poison), "hold_open": True})
        assert first.body in (b"ok", b"") or first.status == 502
        assert gateway.get("/next").body != b"poison"
        assert b"poison" not in gateway.post(key=fresh_key()).body


def test_a_refused_connection_releases_the_key(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    own_upstream.refuse()
    for _ in range(3):
        assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    assert_problem(gateway.get("/"), 502, "upstream-unreachable", True)
    own_upstream.listen()
    assert_first(gateway.post(key=key))
    run = own_upstream.requests(key)
    assert len(run) == 1
    assert int(run[0]["attempt"]) == 4, "attempts go on through a release"


def test_another_request_may_have_the_key_after_a_refused_connection(start_gateway, key):
    port = Port()
    gateway = start_gateway(f"http://127.0.0.1:{port.number}")
    assert_problem(gateway.post(key=key, body=b"a"), 502, "upstream-unreachable", True)
    assert_problem(gateway.post(key=key, body=b"b"), 502, "upstream-unreachable", True)
    port.close()


@pytest.fixture
def full_listener():
    """A port that neither accepts nor refuses: its queue is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        waiting.append(client)
    yield listener.getsockname()[1]
    for each in [*waiting, listener]:
        each.close()


def test_a_connection_that_is_never_made_releases_the_key(start_gateway, full_listener, key):
    gateway = start_gateway(f"http://127.0.0.1:{full_listener}",
                            {"gateway": {"connect_timeout": "1s"}})
    answer = gateway.post(key=key)
    assert answer.status in (502, 504)
    assert answer.problem == "upstream-unreachable"
    assert gateway.state(key) in (None, "released")


def test_a_name_that_does_not_exist(start_gateway, key):
    gateway = start_gateway("http://nowhere.invalid:80")
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    assert gateway.state(key) in (None, "released")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_our_own_answer_to_head_has_no_body(start_gateway, own_upstream, method):
    """What followed the head would be taken for the next answer."""
    gateway = start_gateway(own_upstream)
    own_upstream.refuse()
    with gateway.connect() as connection:
        connection.send_request("HEAD", "/")
        answer = connection.read()
        assert answer.status == 502 and int(answer.get("Content-Length")) > 0
        connection.send_request(method, "/", body=b"")
        assert_problem(connection.read(), 502, "upstream-unreachable", True)
