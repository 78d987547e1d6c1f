"""Limits: inclusive, and each with its own answer."""

import resource

import pytest

from support.client import Connection, fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.waiting import SANITIZED, wait_until

CONFIG = {
    "gateway": {"max_header_bytes": "8KiB", "max_header_count": 20},
    "route": [{"path": "/small", "max_request_body": "1KiB"}],
}


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
def test_exactly_the_body_limit_passes(gateway, upstream, fresh_key, chunked):
    key = fresh_key()
    assert_first(gateway.post("/small", key=key, body=b"x" * 1024, chunked=chunked))
    assert upstream.requests(key)[0]["size"] == 1024
    key = fresh_key()
    answer = gateway.post("/small", key=key, body=b"x" * 1025, chunked=chunked)
    assert_problem(answer, 413, "request-too-large", False)
    assert upstream.runs(key) == 0
    assert_first(gateway.post("/small", key=key, body=b"y", chunked=chunked))


def test_the_default_body_limit_is_a_mebibyte(gateway, fresh_key):
    assert_first(gateway.post(key=fresh_key(), body=b"x" * (1 << 20)))
    answer = gateway.post(key=fresh_key(), body=b"x" * ((1 << 20) + 1))
    assert_problem(answer, 413, "request-too-large", False)


def test_unguarded_bodies_have_no_limit(gateway, upstream, key):
    assert_first(gateway.post(f"/small/{key}", body=b"x" * 3_000_000))
    assert upstream.requests(path=f"/small/{key}")[0]["size"] == 3_000_000


@pytest.mark.parametrize("chunks", [1024, 1025])
def test_many_small_chunks_count_as_one_body(gateway, upstream, key, chunks):
    head = request_bytes("POST", "/small", fields_for(key) + [("Transfer-Encoding", "chunked")])
    with Connection(gateway.address) as connection:
        connection.reader.expect("POST")
        connection.send(head + b"1\r\nx\r\n" * chunks + b"0\r\n\r\n")
        if chunks == 1024:
            assert_first(connection.read())
        else:
            assert_problem(connection.read(), 413, "request-too-large", False)
            assert upstream.runs(key) == 0


def head_of(count, size, key):
    """A request with exactly so many fields (Host included) and bytes."""
    fields = [(f"X-{n:03}", "v") for n in range(count - 2)]
    bare = len(request_bytes("GET", f"/{key}", fields + [("X-Pad", "")]))
    return request_bytes("GET", f"/{key}", fields + [("X-Pad", "p" * (size - bare))])


@pytest.mark.parametrize("count, size, fits", [
    (20, 500 + 20 * 20, True), (21, 500 + 20 * 20, False), (100, 5000, False),
    (5, 8192, True), (5, 8193, False), (5, 100_000, False)])
def test_heads_have_limits(gateway, upstream, key, count, size, fits):
    with Connection(gateway.address) as connection:
        connection.reader.expect("GET")
        connection.send(head_of(count, size, key))
        answer = connection.read()
        if fits:
            assert answer.status == 201, answer
            return
        assert answer.status == 431, answer
        assert answer.problem == "bad-request"
        assert connection.closed_within(9)
    assert upstream.requests(path=f"/{key}") == []


def test_a_head_without_end_is_cut_off(gateway):
    with Connection(gateway.address) as connection:
        connection.reader.expect("GET")
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        try:
            for _ in range(200):
                connection.send(b"y" * 1000)
        except (BrokenPipeError, ConnectionResetError):
            return
        assert connection.read().status == 431
        assert connection.closed_within(9)


def test_a_target_without_end_is_refused(start_gateway, upstream):
    gateway = start_gateway(upstream)
    answer = gateway.get("/" + "a" * 40_000)
    assert answer.status in (414, 431)
    assert answer.problem == "bad-request"


def served(connection):
    try:
        connection.send_request("GET", "/")
        return connection.read().status == 201
    except (ConnectionError, TimeoutError, OSError):
        return False


def test_connections_have_a_limit(start_gateway, upstream):
    gateway = start_gateway(upstream, {"gateway": {"max_connections": 4, "threads": 1}})
    held = []
    try:
        for _ in range(4):
            held.append(gateway.connect())
            assert wait_until(lambda: served(held[-1]) or reconnect(gateway, held))
        with gateway.connect(timeout=1.0) as fifth:
            assert not served(fifth)
        assert "max_connections" in gateway.logged("overloaded")[0]["why"]
        assert all(served(connection) for connection in held)
        held.pop().close()

        def served_again():
            with gateway.connect(timeout=1.0) as another:
                return served(another)
        wait_until(served_again, what="a place for another connection")
    finally:
        for connection in held:
            connection.close()


def reconnect(gateway, held):
    """The connection that saw the gateway come up may still count."""
    held.pop().close()
    held.append(gateway.connect())
    return False


def test_buffered_bodies_have_a_bound(start_gateway, upstream, fresh_key):
    """Beyond it new claims get 503, and what is under way finishes."""
    gateway = start_gateway(upstream, {"gateway": {"max_buffered": "2MiB", "replay_cache": "0"},
                                       "defaults": {"max_answer_body": "64KiB"}})
    gate = fresh_key()
    running, refused = [], []
    try:
        for _ in range(8):
            key = fresh_key()
            connection = gateway.begin_post(key=key, body=b"x" * 600_000, plan={"gate": gate})
            found = wait_until(lambda: upstream.runs(key) or not connection.silent_for(0.05))
            assert found
            (running if upstream.runs(key) else refused).append((key, connection))
        assert 1 <= len(running) <= 4
        assert refused
        for key, connection in refused:
            assert_problem(connection.read(), 503, "overloaded", True, retry_after=True)
            assert upstream.runs(key) == 0
        upstream.open(gate)
        for _, connection in running:
            assert_first(connection.read())
        for key, _ in refused:
            wait_until(lambda: gateway.post(key=key, body=b"x" * 600_000).status == 201)
            assert upstream.runs(key) == 1
    finally:
        for _, connection in running + refused:
            connection.close()


def test_bodies_that_never_come_take_no_memory(start_gateway, upstream, fresh_key):
    """A length is a promise; memory follows what has come."""
    gateway = start_gateway(upstream, {"gateway": {"max_buffered": "8MiB"}})
    before = gateway.memory()
    held = []
    try:
        for _ in range(100):
            connection = gateway.connect()
            fields = fields_for(fresh_key()) + [("Content-Length", str(1 << 20))]
            connection.send(request_bytes("POST", "/charges", fields) + b"x")
            held.append(connection)
        assert gateway.get("/").status == 201
        assert gateway.memory() - before < (24 << 20) * (4 if SANITIZED else 1)
        assert gateway.get("/").status == 201
    finally:
        for connection in held:
            connection.close()


def test_buffered_bytes_that_are_given_up_are_given_back(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {"gateway": {"max_buffered": "2MiB"},
                                       "defaults": {"max_answer_body": "64KiB"}})
    for _ in range(12):
        fields = fields_for(fresh_key()) + [("Content-Length", "900000")]
        with gateway.connect() as connection:
            connection.send(request_bytes("POST", "/charges", fields) + b"x" * 800_000)
    wait_until(lambda: gateway.post(key=fresh_key(), body=b"x" * 900_000).status == 201)


def test_a_thousand_idle_connections_are_cheap(start_gateway, upstream, key):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    gateway = start_gateway(upstream, {"gateway": {"idle_timeout": "10m"}})
    idle = []
    try:
        for number in range(1000):
            connection = gateway.connect()
            idle.append(connection)
            connection.send_request("POST", "/charges", fields_for(key), b"x")
            assert connection.read().replayed is (number > 0)
        assert gateway.memory() < (64 << 20) * (4 if SANITIZED else 1)
        idle[0].send_request("GET", "/")
        assert idle[0].read().status == 201
    finally:
        for connection in idle:
            connection.close()
