"""A gateway that stands still in the middle of a call, past its lease or its timeouts."""

import contextlib
import pathlib
import signal
import sqlite3

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.pattern import pattern
from support.waiting import Stopwatch, wait_until

POLICY = {"defaults": {"lease": "2s", "max_request_body": "16MiB"}}


def begin_upload(gateway, upstream, key, size, least):
    """Of which so much has come upstream: a busy machine may leave too little of the lease, and
    then the client comes again."""
    fields = [("Content-Type", "application/octet-stream")] + fields_for(key)

    def begun():
        connection = gateway.connect()
        connection.send_request("POST", "/charges", fields, pattern(size))
        wait_until(lambda: upstream.taken >= least or not connection.silent_for(0),
                   what="the beginning of the request")
        if upstream.taken >= least:
            return connection
        with connection:
            answer = connection.read()
        assert gateway.left_no_time(answer), answer
        # It may have connected, and sent nothing: what it did not keep for the next one has ended,
        # and the script begins again.
        clock = Stopwatch()
        wait_until(lambda: upstream.ended == upstream.accepted or clock.seconds > 0.3)
        if upstream.ended == upstream.accepted:
            upstream.begun = upstream.scripted = upstream.cut_short = upstream.was_reset = False
            upstream.accepted = upstream.ended = 0
        return None
    return wait_until(begun, what="a lease that is long enough")


def stop_between_writes(gateway):
    """Where it holds no lock of the store, in which others write meanwhile."""
    def stopped():
        gateway.signal(signal.SIGSTOP)
        with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None,
                                                timeout=0)) as file:
            try:
                file.execute("BEGIN IMMEDIATE")
                file.execute("ROLLBACK")
                return True
            except sqlite3.OperationalError:
                gateway.signal(signal.SIGCONT)
                return False
    wait_until(stopped, what="a stop between two writes")


def is_stopped(gateway):
    stat = pathlib.Path(f"/proc/{gateway.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


class Silence:
    """Has nothing more of the scripted request come for a second?"""

    def __init__(self, upstream):
        self.upstream, self.taken, self.clock = upstream, -1, Stopwatch()

    def __call__(self):
        if self.taken != self.upstream.taken:
            self.taken, self.clock = self.upstream.taken, Stopwatch()
        return self.clock.seconds > 1


def run_elsewhere(other, key, size, upstream):
    """The operator frees the key, and somebody else's retry runs it."""
    wait_until(lambda: other.state(key) == "unknown", what="the end of the lease")
    released = other.command("keys", "release", key, "--force")
    assert released.returncode == 0, released
    fields = [("Content-Type", "application/octet-stream")] + fields_for(key)

    def answered():
        """Nothing where a busy machine left too little of the lease to begin."""
        answer = other.ask("POST", "/charges", fields, pattern(size))
        return None if answer.get("Onceguard-Retry") == "same-key" else answer

    first = assert_first(wait_until(answered, what="the retry that runs"))
    assert upstream.runs(key) == 1
    return first


@pytest.mark.parametrize("wakes", ["before the upstream reads on", "after it has read all"])
@pytest.mark.parametrize("size", [400_000, 8_000_000])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_half_a_request_is_never_made_whole_after_the_lease(start_gateway, own_upstream, scripted,
                                                            authority, key, size, wakes, scheme):
    """Neither by the gateway that wakes up, nor by its kernel while it sleeps."""
    slow = scripted.add(("head",), ("body", 10_000), ("gate", "on"), ("rest",), ("answer",),
                        window=4096, tls=authority.issue("slow") if scheme == "https" else None)
    tls = {"tls_ca": authority.file} if scheme == "https" else {}
    stopped = start_gateway(slow.url, {
        **POLICY, "upstream": [{"name": "shop", "url": slow.url, **tls}]})
    other = start_gateway(own_upstream, POLICY, database=stopped.database)
    with begin_upload(stopped, slow, key, size, 10_000) as waiting, \
            contextlib.ExitStack() as last:
        stop_between_writes(stopped)
        last.callback(stopped.signal, signal.SIGCONT)
        first = run_elsewhere(other, key, size, own_upstream)
        if wakes == "after it has read all":
            scripted.open(slow, "on")
            wait_until(Silence(slow), what="the upstream has read all that there is")
            assert slow.whole[key] == 0, "the kernel sent the rest"
        stopped.signal(signal.SIGCONT)
        scripted.open(slow, "on")
        answer = waiting.read()
        wait_until(lambda: slow.scripted, what="the end of the first call")
    assert slow.whole[key] == 0, "all of it came, after somebody else's had run"
    assert slow.was_reset
    assert_replay_of(answer, first)
    assert_replay_of(other.post(key=key, body=pattern(size),
                                content_type="application/octet-stream"), first)
    assert own_upstream.runs(key) == 1
    assert slow.accepted == 1


def test_half_a_request_that_nobody_took_over_is_unknown(start_gateway, scripted, key):
    """Its lease ran out, and another might have it by now: it is not made whole."""
    slow = scripted.add(("head",), ("body", 10_000), ("gate", "on"), ("rest",), ("answer",),
                        window=4096)
    gateway = start_gateway(slow.url, POLICY)
    with begin_upload(gateway, slow, key, 400_000, 10_000) as waiting:
        stop_between_writes(gateway)
        wait_until(lambda: gateway.state(key) == "unknown", what="the end of the lease")
        # It can't renew the lease when it wakes, nor learn what became of it.
        with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as locked:
            locked.execute("BEGIN IMMEDIATE")
            gateway.signal(signal.SIGCONT)
            scripted.open(slow, "on")
            wait_until(lambda: slow.scripted, what="the end of the call")
        assert_problem(waiting.read(), 409, "outcome-unknown", False)
    assert slow.was_reset and slow.whole[key] == 0
    again = gateway.post(key=key, body=pattern(400_000), content_type="application/octet-stream")
    assert_problem(again, 409, "outcome-unknown", False)
    assert slow.accepted == 1


def test_a_stale_holder_s_own_fields_are_not_on_the_stored_answer(start_gateway, own_upstream,
                                                                  scripted, key):
    """A cookie of the answer that came too late is of a session that the client must not join."""
    late = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nSet-Cookie: late=1\r\n\r\nno"
    slow = scripted.add(("head",), ("rest",), ("gate", "on"), ("send", late))
    stopped = start_gateway(slow.url, POLICY)
    other = start_gateway(own_upstream, POLICY, database=stopped.database)
    with begin_upload(stopped, slow, key, 100, 100) as waiting:
        wait_until(lambda: slow.whole[key] == 1, what="the request")
        stop_between_writes(stopped)
        first = run_elsewhere(other, key, 100, own_upstream)
        scripted.open(slow, "on")
        wait_until(lambda: slow.scripted, what="the late answer")
        stopped.signal(signal.SIGCONT)
        answer = waiting.read()
    assert_replay_of(answer, first)
    assert answer.all("Set-Cookie") == []
    assert own_upstream.runs(key) == 1


# ---- an answer that came in time


def freeze_past_the_timeout(gateway, upstream, gate, since=None):
    """Stops it while it waits for the answer, and lets the upstream answer meanwhile. Returns the
    seconds until the stop."""
    clock = Stopwatch()
    gateway.signal(signal.SIGSTOP)
    stopped_after = (since or clock).seconds
    upstream.open(gate)
    wait_until(lambda: clock.seconds > 4, what="the end of the upstream's time")
    gateway.signal(signal.SIGCONT)
    return stopped_after


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", [100, 60_000, 1_000_000])
def test_an_answer_that_came_while_the_gateway_stood_still_counts(start_gateway, own_upstream,
                                                                 fresh_key, size, framing):
    """However much of it waits: the upstream answered in time."""
    gateway = start_gateway(own_upstream, {"defaults": {"upstream_timeout": "3s"}})

    def counts():
        """Not where a busy machine stops the gateway when the time is over already."""
        key, begun = fresh_key(), Stopwatch()
        plan = {"gate": key, "size": size, "framing": framing}
        with gateway.begin_post(key=key, plan=plan) as waiting:
            own_upstream.arrived(1, key, whole=True)
            in_time = freeze_past_the_timeout(gateway, own_upstream, key, since=begun) < 2.5
            answer = waiting.read()
        if not in_time and answer.status == 504:
            return False
        first = assert_first(answer)
        assert first.body == pattern(size)
        assert_replay_of(gateway.post(key=key), first)
        assert own_upstream.runs(key) == 1
        return True
    assert any(counts() for _ in range(5))


def test_the_rest_of_an_answer_in_the_kernel_is_read(start_gateway, scripted, fresh_key):
    """The kernel had no room for all of the answer: what it held back comes a moment later."""
    body = pattern(60_000)
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + body[:30_000]

    def rest_is_read():
        """Not where a busy machine sends the rest later than a moment."""
        upstream = scripted.add(("head",), ("rest",), ("gate", "half"), ("send", half),
                                ("gate", "rest"), ("send", body[30_000:]))
        gateway = start_gateway(upstream.url, {"defaults": {"upstream_timeout": "2s"}})
        key, begun = fresh_key(), Stopwatch()
        with gateway.begin_post(key=key) as waiting:
            wait_until(lambda: upstream.whole[key] == 1, what="the request")
            frozen_for = Stopwatch()
            gateway.signal(signal.SIGSTOP)
            if begun.seconds > 1.5:
                gateway.signal(signal.SIGCONT)
                return False
            scripted.open(upstream, "half")
            wait_until(lambda: frozen_for.seconds > 3.5, what="the end of the upstream's time")
            awake_for = Stopwatch()
            gateway.signal(signal.SIGCONT)
            silent = waiting.silent_for(0.1)
            scripted.open(upstream, "rest")
            if awake_for.seconds > 0.5:
                return False
            assert silent
            assert assert_first(waiting.read(), 200).body == body
            return True
    assert any(rest_is_read() for _ in range(5))


def test_what_the_upstream_did_not_answer_is_still_late(start_gateway, own_upstream, key):
    """Half an answer lies there: the other half gets a moment, and no more."""
    gateway = start_gateway(own_upstream, {"defaults": {"upstream_timeout": "3s"}})
    plan = {"gate": key, "gate_half": "never", "size": 60_000}
    with gateway.begin_post(key=key, plan=plan) as waiting:
        own_upstream.arrived(1, key, whole=True)
        freeze_past_the_timeout(gateway, own_upstream, key)
        clock = Stopwatch()
        assert_problem(waiting.read(), 504, "upstream-timeout", True)
        assert clock.seconds < 10
    assert gateway.state(key) == "unknown"


@pytest.mark.parametrize("frozen", [False, True], ids=["awake", "frozen"])
def test_an_upstream_that_drips_is_timed_out(start_gateway, scripted, key, frozen):
    dripping = scripted.add(("head",), ("rest",), ("gate", "on"), (
        "send", b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n"), ("drip", b"x"))
    gateway = start_gateway(dripping.url, {"defaults": {"upstream_timeout": "500ms"}})
    clock = Stopwatch()
    with gateway.begin_post(key=key) as waiting:
        wait_until(lambda: dripping.whole[key] == 1, what="the request")
        scripted.open(dripping, "on")
        if frozen:
            gateway.signal(signal.SIGSTOP)
            frozen_for = Stopwatch()
            wait_until(lambda: frozen_for.seconds > 1.3, what="the end of the upstream's time")
            gateway.signal(signal.SIGCONT)
        assert_problem(waiting.read(), 504, "upstream-timeout", True)
        assert 0.3 < clock.seconds < 12
    assert gateway.state(key) == "unknown"


@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "unguarded"])
def test_a_client_is_not_blamed_for_the_sleep_of_the_gateway(start_gateway, upstream, key, guarded):
    """Its body came in time; it lay in the kernel."""
    gateway = start_gateway(upstream, {"gateway": {"body_timeout": "5s"}})
    body = pattern(120_000)
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        fields = fields_for(key if guarded else None)
        connection.send(request_bytes("POST", f"/{key}", [*fields, ("Content-Length", "120000")])
                        + body[:100])
        assert connection.silent_for(0.1)
        gateway.signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(gateway), what="the stop")
        connection.send(body[100:4_000])
        assert connection.silent_for(7)
        gateway.signal(signal.SIGCONT)
        assert connection.silent_for(0.3)
        connection.send(body[4_000:])
        assert_first(connection.read())
    assert upstream.requests(path=f"/{key}")[0]["size"] == len(body)
