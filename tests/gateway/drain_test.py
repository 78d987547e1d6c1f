"""What ends, and what does not, between SIGTERM and the end of the process."""

import contextlib
import signal
import threading

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.pattern import pattern
from support.waiting import Stopwatch

CONFIG = {"gateway": {"drain": "40s"}}
# Far below the drain, and far above what a slow machine needs.
SOON = 30
# A request that has begun has a second to arrive.
BEGUN = 0.9


class Drip:
    """A client that sends a byte now and then, for as long as the gateway takes it."""

    def __init__(self, gateway, begun, drop=b"x"):
        self.connection = gateway.connect()
        self.connection.send(begun)
        self.drop, self.done = drop, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while not self.done.wait(0.05):
                self.connection.send(self.drop)
        except OSError:
            pass

    def close(self):
        self.done.set()
        self.thread.join()
        self.connection.close()


HEADS = {
    "a head": request_bytes("GET", "/")[:-2] + b"X-Long: ",
    "a guarded body": request_bytes("POST", "/charges", fields_for("never-whole")
                                    + [("Content-Length", "100000")]),
    "a refused body": request_bytes("POST", "/charges", fields_for("never-whole")
                                    + [("Content-Length", "1048577")]),
    "an upload": request_bytes("POST", "/", [("Content-Length", "100000")]),
    "a chunked upload": request_bytes("POST", "/", [("Transfer-Encoding", "chunked")]),
}


@pytest.mark.parametrize("rest", ["drips", "never comes"])
@pytest.mark.parametrize("what", HEADS)
def test_a_request_that_is_not_whole_holds_nothing_up(start_gateway, own_upstream, what, rest):
    gateway = start_gateway(own_upstream, CONFIG)
    drop = b"1\r\nx\r\n" if "chunked" in what else b"x"
    if rest == "never comes":
        drop = b""
    drip = Drip(gateway, HEADS[what], drop)
    try:
        if "upload" in what:
            own_upstream.arrived(1, whole=False)
        else:
            assert drip.connection.silent_for(0.3) or what == "a refused body"
        clock = Stopwatch()
        gateway.signal(signal.SIGTERM)
        assert gateway.wait(SOON) == 0
        assert clock.seconds < SOON
    finally:
        drip.close()
    assert not any(request["whole"] for request in own_upstream.requests())
    gateway.start()
    assert gateway.keys() == []


def test_an_idle_connection_ends_before_one_that_began_a_request(start_gateway, own_upstream):
    def idle_ends_first():
        """None: this process looked so late that both may have ended."""
        gateway = start_gateway(own_upstream, CONFIG)
        with gateway.connect() as idle, gateway.connect() as begun:
            idle.send_request("GET", "/")
            assert_first(idle.read())
            begun.send(HEADS["a head"])
            assert begun.silent_for(0.5)
            clock = Stopwatch()
            gateway.signal(signal.SIGTERM)
            assert idle.closed_within(SOON)
            goes_on = begun.silent_for(0.1)
            in_time = clock.seconds < BEGUN
            assert begun.closed_within(SOON)
        assert gateway.wait() == 0
        return goes_on or (False if in_time else None)

    seen = None
    for _ in range(5):
        seen = idle_ends_first() if seen is None else seen
    assert seen


def test_an_answer_that_nobody_reads_holds_nothing_up(start_gateway, upstream, key):
    """It is stored: who wants it can have it again."""
    gateway = start_gateway(upstream, {**CONFIG, "defaults": {"max_answer_body": "16MiB"}})
    first = assert_first(gateway.post(key=key, body=b"x", plan={"size": 12_000_000}))
    with gateway.connect(receive_buffer=4096) as unread:
        unread.send_request("POST", "/charges", [("Content-Type", "application/json"),
                                                 *fields_for(key)], b"x")
        assert not unread.silent_for(60)
        clock = Stopwatch()
        gateway.signal(signal.SIGTERM)
        assert gateway.wait(SOON) == 0
        assert clock.seconds < SOON
    gateway.start()
    assert_replay_of(gateway.post(key=key, body=b"x"), first)


def test_a_body_that_comes_in_time_is_run(start_gateway, upstream, fresh_key):
    body = pattern(10_000)

    def is_run():
        """Not where a busy machine sends the rest too late."""
        gateway, key = start_gateway(upstream, CONFIG), fresh_key()
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            # Once the gateway asks for the body, the request has begun for it.
            connection.send(request_bytes("POST", "/charges", fields_for(key)
                                          + [("Content-Length", str(len(body))),
                                             ("Expect", "100-continue")]))
            assert connection.read_interim().status == 100
            connection.send(body[:5_000])
            upstream_busy = gateway.begin_post(f"/{key}", plan={"gate": key})
            upstream.arrived(1, path=f"/{key}")
            clock = Stopwatch()
            gateway.signal(signal.SIGTERM)
            gateway.await_closed_listener()
            with contextlib.suppress(ConnectionError):
                connection.send(body[5_000:])
            if clock.seconds > BEGUN:
                upstream_busy.close()
                upstream.open(key)
                return False
            answer = assert_first(connection.read())
            assert answer.get("Connection") == "close"
            assert connection.closed_within(SOON)
        # Longer than any request may still take to come: what runs by then is waited for.
        assert upstream_busy.silent_for(2)
        upstream.open(key)
        with upstream_busy:
            answer = assert_first(upstream_busy.read())
            assert answer.get("Connection") == "close"
        assert gateway.wait() == 0
        assert upstream.runs(key) == 1
        return True
    assert any(is_run() for _ in range(5))


@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "unguarded"])
def test_answers_say_that_the_connection_closes(start_gateway, upstream, key, guarded):
    """Clients that would send the next request on it find out from the answer."""
    gateway = start_gateway(upstream, CONFIG)
    with gateway.connect() as connection:
        connection.send_request("GET", "/")
        answer = connection.read()
        assert answer.get("Connection", "keep-alive") == "keep-alive"
        connection.send_request("POST", f"/{key}",
                                fields_for(key if guarded else None, {"gate": key}), b"x")
        upstream.arrived(1, path=f"/{key}")
        gateway.signal(signal.SIGTERM)
        gateway.await_closed_listener()
        upstream.open(key)
        first = assert_first(connection.read())
        assert first.all("Connection") == ["close"]
        assert connection.closed_within(SOON)
    assert gateway.wait() == 0
    if guarded:
        gateway.start()
        with gateway.connect() as connection:
            connection.send_request("POST", f"/{key}", fields_for(key), b"x")
            assert_replay_of(connection.read(), first)


def test_a_problem_says_so_too(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {**CONFIG, "defaults": {"on_busy": "wait", "wait": "300ms"}})
    with gateway.begin_post(key=key, plan={"gate": key}) as running, \
            gateway.begin_post(f"/{key}", plan={"gate": f"2-{key}"}) as second:
        upstream.arrived(1, key)
        upstream.arrived(1, path=f"/{key}")
        gateway.signal(signal.SIGTERM)
        gateway.await_closed_listener()
        upstream.cut()
        for one in (running, second):
            answer = one.read()
            assert (answer.status, answer.get("Connection")) == (502, "close")
        assert gateway.wait() == 0


ENDLESS = {"pieces": ["first", "second"], "gate_half": "never", "framing": "chunked",
           "headers": [["Content-Type", "text/event-stream"]]}


def begin_endless(gateway, what, key):
    """An answer that has begun and has no end of its own."""
    connection = gateway.connect()
    if what == "a tunnel":
        connection.reader.expect("GET")
        upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
        connection.send(request_bytes("GET", "/", upgrade + fields_for(None, {"upgrade": True})))
        assert connection.read().status == 101
    else:
        guarded = "guarded" in what
        connection.send_request("POST" if guarded else "GET", "/",
                                fields_for(key if guarded else None, ENDLESS),
                                b"x" if guarded else b"")
        assert connection.read_part(5).body == b"first"
    return connection


@pytest.mark.parametrize("what", ["a tunnel", "an event stream", "a guarded event stream"])
def test_an_answer_without_an_end_ends_early_in_the_drain(start_gateway, own_upstream, key, what):
    """Its client makes another connection, and a request that runs is waited for longer."""
    gateway = start_gateway(own_upstream, {"gateway": {"drain": "20s"}})
    with begin_endless(gateway, what, key) as endless, \
            gateway.begin_post("/running", plan={"gate": key}) as running:
        own_upstream.arrived(1, path="/running")
        gateway.signal(signal.SIGTERM)
        assert endless.silent_for(1)
        clock = Stopwatch()
        assert endless.closed_within(14), "it has no end, or looks whole"
        assert clock.seconds < 14
        own_upstream.open(key)
        assert_first(running.read())
        assert gateway.wait(SOON) == 0
    assert "upstream-broken" not in gateway.log()
