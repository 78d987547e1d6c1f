"""Every phase has a timeout."""

import contextlib
import threading

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.gateway import DEFAULT_BODY
from support.waiting import Stopwatch, wait_until

CONFIG = {
    "gateway": {"header_timeout": "500ms", "body_timeout": "2500ms", "idle_timeout": "2s",
                "write_timeout": "2s", "min_client_rate": "0"},
    "route": [{"path": "/fast", "upstream_timeout": "1500ms"},
              {"path": "/large", "max_answer_body": "16MiB"}],
}


def taken(answer, *late):
    """None: a busy machine was late, and the test tries once more."""
    return None if answer.problem in late else answer


def test_a_slow_head(gateway):
    clock = Stopwatch()
    with gateway.connect() as connection:
        connection.reader.expect("GET")
        connection.send(b"GET / HTTP/1.1\r\nHo")
        assert connection.closed_within(9)  # and not after the 10 s that are the default
        assert 0.3 < clock.seconds < 9


def test_a_head_that_drips(gateway):
    """Each byte in time, the whole not."""
    with gateway.connect() as connection:
        ended = False
        try:
            for byte in b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 400:
                connection.send(bytes([byte]))
                if ended := connection.closed_within(0.05):
                    break
        except (BrokenPipeError, ConnectionResetError):
            ended = True
        assert ended


def test_a_head_that_drips_without_a_pause(gateway):
    """There is always something to read when the time is over."""
    with gateway.connect() as connection:
        clock = Stopwatch()
        try:
            connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
            while clock.seconds < 30:
                connection.send(b"y")
                if connection.closed_within(0.003):
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert clock.seconds < 20


def test_an_upstream_that_sends_only_interim_answers(gateway, key):
    answer = gateway.post("/fast", key=key, plan={"interim": [[102, []]], "interim_times": 3_000})
    assert_problem(answer, 504, "upstream-timeout", True)


def test_a_slow_body_of_a_guarded_request_runs_nothing(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", "/charges", fields_for(key)
                                      + [("Content-Length", "10")]) + b"half")
        assert_problem(connection.read(), 408, "request-timeout", True)
        assert connection.closed_within(5)
    assert upstream.runs(key) == 0
    assert_first(gateway.post(key=key))


def test_a_slow_body_of_an_unguarded_request(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", [("Content-Length", "10")]) + b"half")
        assert_problem(connection.read(), 408, "request-timeout", True)
        assert connection.closed_within(5)
    assert upstream.requests(path=f"/{key}", whole=True) == []


def test_a_body_that_drips_in_time_is_fine(gateway, key):
    def dripped():
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            connection.send(request_bytes("POST", "/charges", fields_for(key)
                                          + [("Content-Length", "12")]))
            for _ in range(12):
                if not connection.silent_for(0.25):
                    break
                connection.send(b"x")
            return taken(connection.read(), "request-timeout")
    assert_first(wait_until(dripped, what="a body that came in time"))


def test_an_idle_connection(gateway):
    with gateway.connect() as connection:
        clock = Stopwatch()
        connection.send_request("GET", "/")
        assert connection.read().status == 201
        assert connection.closed_within(30)
        assert 1.7 < clock.seconds < 30


def test_a_connection_that_says_nothing(gateway):
    with gateway.connect() as connection:
        assert connection.closed_within(30)


def test_an_upstream_that_does_not_answer_in_time(gateway, upstream, key):
    clock = Stopwatch()
    answer = gateway.post("/fast", key=key, plan={"gate": "never"})
    assert_problem(answer, 504, "upstream-timeout", True)
    assert 1.3 < clock.seconds < 30
    assert_problem(gateway.post("/fast", key=key), 409, "outcome-unknown", False)
    assert len(upstream.arrived(1, key)) == 1
    assert gateway.state(key) == "unknown"


def test_the_timeout_covers_the_whole_answer(gateway, key):
    answer = gateway.post("/fast", key=key, plan={"gate_half": "never", "size": 5000})
    assert_problem(answer, 504, "upstream-timeout", True)
    assert_problem(gateway.post("/fast", key=key), 409, "outcome-unknown", False)


def test_an_unguarded_request_times_out_too(gateway, key):
    answer = gateway.post(f"/fast/{key}", plan={"gate": "never"})
    assert_problem(answer, 504, "upstream-timeout", True)


@pytest.mark.parametrize("guarded", [False, True], ids=["unguarded", "guarded"])
def test_an_upload_may_take_longer_than_the_upstreams_timeout(gateway, fresh_key, guarded):
    """That is counted from the last byte of the request."""
    def uploaded():
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            key = fresh_key()
            fields = fields_for(key if guarded else None) + [("Content-Length", "8")]
            connection.send(request_bytes("POST", f"/fast/{key}", fields))
            for _ in range(8):
                if not connection.silent_for(0.25):
                    break
                connection.send(b"x")
            return taken(connection.read(), "upstream-timeout", "request-timeout")
    assert_first(wait_until(uploaded, what="an answer in time"))


def test_an_upload_that_went_through_piece_by_piece_times_out_too(gateway, key):
    """Its upstream has the last byte, and the time to answer runs from there."""
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        size = 300_000
        fields = fields_for(None, {"gate": "never"}) + [("Content-Length", str(size))]
        connection.send(request_bytes("POST", f"/fast/{key}", fields))
        connection.send(bytes(size - 1))
        assert connection.silent_for(0.2)
        connection.send(b"x")
        assert_problem(connection.read(), 504, "upstream-timeout", True)


def test_a_late_answer_is_not_the_next_ones(gateway, upstream, fresh_key):
    key = fresh_key()
    answer = gateway.post("/fast", key=key, plan={"gate": key, "body": "late"})
    assert answer.status == 504
    upstream.open(key)
    for _ in range(10):
        assert b"late" not in gateway.post("/fast", key=fresh_key()).body


def test_a_client_that_does_not_read(gateway, upstream, key):
    """What it asked for is given up, and its connection and the upstream's are freed."""
    with gateway.connect(receive_buffer=4096) as connection:
        connection.send_request("GET", f"/{key}", fields_for(None, {"stream": 64 << 20}))
        upstream.arrived(1, path=f"/{key}", closed=True)


def test_a_client_that_does_not_read_has_its_answer_recorded(gateway, key):
    with gateway.connect(receive_buffer=4096) as connection:
        connection.send_request("POST", "/charges", fields_for(key, {"size": 1 << 20}), b"x")
        wait_until(lambda: gateway.state(key) == "completed")
    again = gateway.ask("POST", "/charges", fields_for(key), b"x")
    assert again.replayed and len(again.body) == 1 << 20


def test_a_tunnel_without_traffic(gateway, upstream, key):
    def kept():
        with gateway.connect() as connection:
            fields = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
            connection.send_request("GET", f"/{key}", fields + fields_for(None, {"upgrade": True}))
            assert connection.read().status == 101
            for _ in range(4):  # traffic in either direction keeps it
                if not connection.silent_for(0.6):
                    return False  # a busy machine was late
                clock = Stopwatch()
                try:
                    connection.send(b"x")
                    assert connection.read_raw(6) == b"echo:x"
                except ConnectionError:
                    return False
            assert connection.closed_within(30)
            assert 1.7 < clock.seconds < 30
        return True
    wait_until(kept, what="a tunnel that traffic keeps")
    upstream.arrived(1, path=f"/{key}", closed=True)


def test_an_unguarded_answer_that_stalls_is_cut_off(gateway, key):
    plan = {"gate_half": "never", "size": 5000}
    with gateway.connect() as connection:
        connection.send_request("GET", f"/{key}", fields_for(None, plan))
        clock = Stopwatch()
        assert connection.read().truncated
        assert clock.seconds < 30


def test_a_client_that_reads_slowly_and_steadily_gets_all_of_it(gateway, key):
    """For longer than the timeout, which is for those who take nothing."""
    size = 12 << 20  # more than the kernel takes at once
    gateway.post("/large", key=key, plan={"size": size})

    def read_all():
        with gateway.connect(receive_buffer=64 * 1024) as connection:
            connection.send_request("POST", "/large", fields_for(key)
                                    + [("Content-Type", "application/json")], DEFAULT_BODY)
            clock = Stopwatch()
            got = 0
            with contextlib.suppress(ConnectionError):  # a busy machine stood still for too long
                while got < size and (piece := connection.socket.recv(64 * 1024)):
                    got += len(piece)
                    threading.Event().wait(0.02)
            return clock if got >= size else None
    clock = wait_until(read_all, what="all of it")
    assert clock.seconds > 3, "it read too fast to show anything"


def test_interim_answers_do_not_extend_the_upstreams_time(start_gateway, scripted):
    """Neither of a request without a body, nor of one whose body was forwarded as it came."""
    endless = scripted.add(("head",), ("rest",), ("drip", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
                           always=True)
    gateway = start_gateway(endless.url, {"defaults": {"upstream_timeout": "700ms"}})
    for method, body in (("GET", None), ("POST", b"x" * 200_000)):
        with gateway.connect() as connection:
            clock = Stopwatch()
            connection.send_request(method, "/", [], body)
            assert_problem(connection.read(), 504, "upstream-timeout", True)
            assert 0.5 < clock.seconds < 30
