"""Unguarded requests and answers of any size stream through without being buffered."""

import contextlib
import hashlib
import socket

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first
from support.pattern import BLOCK, blocks, pattern
from support.waiting import SANITIZED, scaled

SIZE = scaled(256, least=64) << 20
# What a gateway may grow by, whatever passes through it; instrumented builds need more.
ROOM = (32 << 20) * (4 if SANITIZED else 1)


class Hash:
    """A sink that keeps nothing."""

    def __init__(self):
        self.sha = hashlib.sha256()
        self.size = 0

    def append(self, piece):
        self.sha.update(piece)
        self.size += len(piece)


def expected_hash():
    sink = Hash()
    for block in blocks(SIZE):
        sink.append(block)
    return sink.sha.hexdigest()


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
def test_a_large_request_streams_in(gateway, upstream, key, chunked):
    before = gateway.memory()
    framing = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(SIZE))
    with gateway.connect(timeout=120) as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", [framing]))
        for block in blocks(SIZE):
            if chunked:
                connection.send(b"%x\r\n" % len(block))
            connection.send(block)
            if chunked:
                connection.send(b"\r\n")
        if chunked:
            connection.send(b"0\r\n\r\n")
        assert_first(connection.read())
    request = upstream.requests(path=f"/{key}")[0]
    assert request["size"] == SIZE
    assert request["sha"] == expected_hash()
    assert gateway.memory("VmHWM") - before < ROOM


@pytest.mark.parametrize("framing", ["length", "chunked", "eof"])
def test_a_large_answer_streams_out(gateway, key, framing):
    before = gateway.memory()
    sink = Hash()
    with gateway.connect(timeout=120, sink=sink) as connection:
        connection.send_request("GET", f"/{key}", fields_for(None, {"stream": SIZE,
                                                                   "framing": framing}))
        answer = connection.read()
    assert not answer.truncated
    assert (sink.size, sink.sha.hexdigest()) == (SIZE, expected_hash())
    assert gateway.memory("VmHWM") - before < ROOM


def test_a_guarded_answer_over_its_limit_streams_out(gateway, key):
    """Once it is settled, nothing of it needs to be held."""
    before = gateway.memory()
    sink = Hash()
    with gateway.connect(timeout=120, sink=sink) as connection:
        connection.send_request("POST", "/charges", fields_for(key, {"stream": SIZE}), b"x")
        answer = connection.read()
    assert answer.status == 201 and not answer.truncated
    assert (sink.size, sink.sha.hexdigest()) == (SIZE, expected_hash())
    assert gateway.memory("VmHWM") - before < ROOM


def test_the_first_bytes_arrive_before_the_last_are_sent(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", [("Content-Length", str(2 * len(BLOCK)))])
                        + BLOCK)
        upstream.arrived(1, path=f"/{key}", whole=False)
        connection.send(BLOCK)
        assert_first(connection.read())


def test_the_head_is_not_held_back_for_the_body(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", [("Content-Length", "5")]))
        upstream.arrived(1, path=f"/{key}")
        connection.send(b"hello")
        assert_first(connection.read())


@pytest.mark.parametrize("framing", ["length", "chunked", "eof"])
def test_an_answer_arrives_piece_by_piece(gateway, upstream, key, framing):
    plan = {"pieces": ["first", "second"], "gate_half": key, "framing": framing}
    with gateway.connect() as connection:
        connection.send_request("GET", f"/{key}", fields_for(None, plan))
        assert connection.read_part(5).body == b"first"
        upstream.open(key)
        assert connection.read().body == b"firstsecond"


def test_a_slow_reader_holds_the_upstream_back(gateway, key):
    before = gateway.memory()
    plan = {"stream": SIZE}
    sink = Hash()
    with gateway.connect(receive_buffer=8192, timeout=120, sink=sink) as connection:
        connection.send_request("GET", f"/{key}", fields_for(None, plan))
        assert connection.read_part(0).status == 201
        for _ in range(20):
            assert gateway.get("/").status == 201
        assert gateway.memory() - before < ROOM
        assert sink.size < SIZE


def test_a_client_that_leaves_an_unguarded_answer(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send_request("GET", f"/{key}", fields_for(None, {"stream": SIZE}))
        connection.read_part(1)
        connection.reset()
    upstream.arrived(1, path=f"/{key}", closed=True)
    assert gateway.post(body=pattern(10)).status == 201


def test_a_long_guarded_answer_holds_no_room_for_its_rest(start_gateway, upstream, fresh_key):
    """Its beginning was buffered; the rest may come for hours."""
    gateway = start_gateway(upstream, {"gateway": {"max_buffered": "4MiB", "replay_cache": "0"},
                                       "defaults": {"max_answer_body": "1MiB"}})
    plan = {"size": 2_400_000, "gate_half": "never", "framing": "chunked"}
    with contextlib.ExitStack() as held:
        for _ in range(12):
            connection = held.enter_context(gateway.connect())
            connection.send_request("POST", "/charges", fields_for(fresh_key(), plan), b"x")
            assert connection.read_part(1 << 20).status == 201
        assert_first(gateway.post(key=fresh_key(), body=b"x" * 100_000, plan={"size": 500_000}))


def test_half_an_answer_to_an_http_1_0_client_does_not_look_whole(start_gateway, scripted):
    # For such a client the end of the connection is the end of the answer.
    upstream = scripted.add(
        ("head",), ("rest",),
        ("send", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"),
        ("gate", "received"), ("fin",))
    gateway = start_gateway(upstream.url)
    with socket.create_connection(gateway.address, timeout=30) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        received = b""
        while b"first" not in received:
            received += client.recv(65536)
        scripted.open(upstream, "received")
        with pytest.raises(ConnectionResetError):
            while client.recv(65536):
                pass
            raise AssertionError("it ended in order")
