"""How slow a client may be that sends a body, or takes an answer."""

import contextlib
import socket
import threading

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.gateway import DEFAULT_BODY
from support.waiting import Stopwatch, wait_until

MIB = 1 << 20
HURRIED = {"gateway": {"body_timeout": "500ms", "write_timeout": "2s"},
           "route": [{"path": "/large", "max_answer_body": "16MiB"}]}


def drip(connection):
    """A byte now and then, until there is an answer."""
    clock = Stopwatch()
    with contextlib.suppress(ConnectionError):
        while connection.silent_for(0.05):
            connection.send(b"x")
            assert clock.seconds < 15, "it may go on like that"
    return connection.read()


@pytest.mark.parametrize("guarded", [False, True], ids=["unguarded", "guarded"])
@pytest.mark.parametrize("pause", [False, True], ids=["drips", "stalls"])
def test_a_body_that_does_not_come_in_time(start_gateway, upstream, key, guarded, pause):
    gateway = start_gateway(upstream, HURRIED)
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        fields = fields_for(key if guarded else None) + [("Content-Length", "100000")]
        connection.send(request_bytes("POST", f"/{key}", fields) + b"x")
        answer = connection.read() if pause else drip(connection)
        assert_problem(answer, 408, "request-timeout", True)
        assert answer.get("Connection") == "close"
        assert connection.closed_within(30)
    assert upstream.requests(path=f"/{key}", whole=True) == []
    assert upstream.runs(key) == 0
    assert_first(gateway.post(key=key))


@pytest.mark.parametrize("guarded", [False, True], ids=["unguarded", "guarded"])
@pytest.mark.parametrize("rate, piece", [("1KiB", 8 << 10), ("0", 1)], ids=["steady", "any rate"])
def test_a_body_may_come_for_long(start_gateway, upstream, fresh_key, guarded, rate, piece):
    gateway = start_gateway(upstream, {"gateway": {"body_timeout": "2s", "min_client_rate": rate}})

    def comes_whole():
        """Not where this client stands still for too long, on a busy machine."""
        key = fresh_key()
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            fields = fields_for(key if guarded else None) + [("Content-Length", str(16 * piece))]
            sent = Stopwatch()
            connection.send(request_bytes("POST", f"/{key}", fields))
            for _ in range(16):
                silent = connection.silent_for(0.2)
                if sent.seconds > 1.5:
                    return False
                assert silent
                before, sent = sent, Stopwatch()
                connection.send(b"x" * piece)
                if before.seconds > 1.5:
                    return False
            assert_first(connection.read())
            return True
    assert any(comes_whole() for _ in range(5))


def test_who_still_sends_a_refused_body_gets_the_refusal(start_gateway, upstream, fresh_key):
    """Many clients read nothing before all is sent, and a reset erases what they have not read."""
    gateway = start_gateway(upstream, {"defaults": {"max_request_body": "1KiB"}})
    pause = threading.Event()

    def gets_it():
        """Not where this client stands still for too long, on a busy machine."""
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            fields = fields_for(fresh_key()) + [("Content-Length", "1000000")]
            connection.send(request_bytes("POST", "/refused", fields))
            whole, sent = Stopwatch(), Stopwatch()
            while whole.seconds < 4:
                connection.send(b"x" * 100)
                pause.wait(0.1)
                before, sent = sent, Stopwatch()
                if before.seconds > 1.5:
                    return False
            assert_problem(connection.read(), 413, "request-too-large", False)
            return True
    assert any(gets_it() for _ in range(5))


class SlowService:
    """Takes what is sent to it a little at a time."""

    def __init__(self, size, pause):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)  # no more ahead
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.taken = 0
        self.thread = threading.Thread(target=self.serve, args=(size, pause), daemon=True)
        self.thread.start()

    def serve(self, size, pause):
        with self.listener.accept()[0] as connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(4096)
            self.taken = len(head.partition(b"\r\n\r\n")[2])
            while self.taken < size and (piece := connection.recv(64 * 1024)):
                self.taken += len(piece)
                threading.Event().wait(pause)
            connection.sendall(b"HTTP/1.1 201 Said\r\nContent-Length: 2\r\n\r\nok")

    def close(self):
        self.thread.join(30)
        self.listener.close()


def test_a_fast_client_is_not_blamed_for_a_slow_upstream(start_gateway, upstream):
    """It may be waited for, for 4 s in all; the upstream takes more than that before it is."""
    size = 8 * MIB

    def is_answered():
        """Not where it is slow itself, on a busy machine."""
        service = SlowService(size + 1, 0.04)
        with contextlib.closing(service):
            gateway = start_gateway(upstream, {
                "gateway": {"body_timeout": "2s", "min_client_rate": "4MiB"},
                "upstream": [{"name": "shop", "url": service.url}]})
            with gateway.connect(timeout=60) as connection:
                connection.reader.expect("POST")
                clock = Stopwatch()
                connection.send(request_bytes("POST", "/", [("Content-Length", str(size + 1))])
                                + b"x" * size)
                wait_until(lambda: service.taken == size, timeout=60)
                assert clock.seconds > 4.5
                waited_for = Stopwatch()
                silent = connection.silent_for(0.5)
                if waited_for.seconds > 1.5:
                    return False
                assert silent
                connection.send(b"y")
                if waited_for.seconds > 1.5:
                    return False
                assert connection.read().status == 201
                return True
    assert any(is_answered() for _ in range(5))


def test_a_client_that_takes_an_answer_too_slowly(start_gateway, upstream, key):
    """It takes something all the time, and never enough."""
    gateway = start_gateway(upstream, {
        **HURRIED, "gateway": {**HURRIED["gateway"], "min_client_rate": "8MiB"}})
    gateway.post("/large", key=key, plan={"size": 14 * MIB})
    with gateway.connect(receive_buffer=64 * 1024) as connection:
        connection.send_request("POST", "/large", fields_for(key)
                                + [("Content-Type", "application/json")], DEFAULT_BODY)
        clock = Stopwatch()
        taken = b""
        while clock.seconds < 6:
            taken += connection.socket.recv(16 * 1024)
            threading.Event().wait(0.03)
        with contextlib.suppress(ConnectionError):
            while piece := connection.socket.recv(256 * 1024):
                taken += piece
        assert len(taken) < 14 * MIB
