"""A store that can't be reached, or whose record can't be read."""

import contextlib
import signal
import socket
import sqlite3

import pytest

from support.client import fields_for
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import PATIENCE, Stopwatch, wait_until

SHORT = {"store": {"timeout": "1s"}}


@contextlib.contextmanager
def locked(gateway):
    """Holds the SQLite file's write lock, as another process that hangs."""
    other = sqlite3.connect(gateway.database, isolation_level=None, timeout=10)
    try:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()


def begin(gateway, upstream, key, plan):
    """A request that is upstream, its answer still to be read: the store has a second for a claim,
    and a busy machine may need more, or leave too little of a short lease."""
    def begun():
        connection = gateway.begin_post(key=key, plan=plan)
        wait_until(lambda: upstream.runs(key) or not connection.silent_for(0.01), what="a run")
        if upstream.runs(key):
            return connection
        with connection:
            answer = connection.read()
        assert answer.problem in ("store-unreachable", "in-progress", "overloaded"), answer
        return None
    return wait_until(begun, what="the request upstream")


@contextlib.contextmanager
def ran_while_locked(gateway, upstream, key):
    """The connection of a request that took effect, and can't be recorded yet; the time since
    its answer was let go."""
    with begin(gateway, upstream, key, {"gate": key, "body": "the answer"}) as connection:
        with locked(gateway):
            clock = Stopwatch()
            upstream.open(key)
            yield connection, clock


def test_without_the_store_nothing_runs(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, SHORT)
    keys = [fresh_key() for _ in range(4)]
    with locked(gateway):
        for key in keys:
            clock = Stopwatch()
            answer = gateway.post(key=key)
            assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
            assert clock.seconds < 1.5 * PATIENCE
            assert upstream.runs(key) == 0
        assert gateway.get("/").status == 201, "unguarded requests need no store"
    for key in keys:
        wait_until(lambda: gateway.post(key=key).status == 201, timeout=10)
        assert upstream.runs(key) == 1


def test_many_at_once_are_all_refused_in_time(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, SHORT)
    keys = [fresh_key() for _ in range(30)]
    with locked(gateway):
        clock = Stopwatch()
        asking = [gateway.begin_post(key=key) for key in keys]
        for connection in asking:
            assert_problem(connection.read(), 503, "store-unreachable", True, retry_after=True)
            connection.close()
        assert clock.seconds < 3 * PATIENCE
    for key in keys:
        first = wait_until(lambda: next((a for a in [gateway.post(key=key)]
                                         if a.status == 201), None), timeout=10)
        assert_replay_of(gateway.post(key=key), assert_first(first))
        assert upstream.runs(key) == 1


def test_a_lock_shorter_than_the_timeout_is_waited_for(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"store": {"timeout": "10s"}})
    with gateway.connect() as connection:
        with locked(gateway):
            connection.send_request("POST", "/charges", fields_for(key), b"x")
            assert connection.silent_for(0.3)
        assert_first(connection.read())
    assert upstream.runs(key) == 1


def test_replays_from_memory_outlast_a_short_outage(start_gateway, upstream, key):
    gateway = start_gateway(upstream, SHORT)
    first = assert_first(wait_until(lambda: next((a for a in [gateway.post(key=key)]
                                                  if a.status == 201), None)))
    assert_replay_of(gateway.post(key=key), first)
    with locked(gateway):
        assert_replay_of(gateway.post(key=key), first)


def test_an_answer_is_held_back_until_its_record_is_durable(start_gateway, upstream, key):
    gateway = start_gateway(upstream, SHORT)
    with begin(gateway, upstream, key, {"gate": key}) as connection:
        with locked(gateway):
            upstream.open(key)
            assert connection.silent_for(1.5), "longer than the store's timeout"
        first = assert_first(connection.read())
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_after_settle_wait_the_client_gets_retry_after(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {**SHORT, "gateway": {"settle_wait": "1s"}})
    with ran_while_locked(gateway, upstream, key) as (connection, clock):
        assert_problem(connection.read(), 503, "store-unreachable", True, retry_after=True)
        assert 0.8 < clock.seconds < 9  # and not after the 10 s that are the default
    # The settle goes on in the background.
    again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None))
    assert again.body == b"the answer"
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("settle_wait, held_back", [("30s", True), ("0s", False)])
def test_an_answer_outlives_a_directory_that_is_away(start_gateway, upstream, key, tmp_path,
                                                     settle_wait, held_back):
    data, away = tmp_path / "data", tmp_path / "away"
    data.mkdir()
    gateway = start_gateway(upstream, {"gateway": {"settle_wait": settle_wait}},
                            database=data / "onceguard.db")
    with gateway.begin_post(key=key, plan={"gate": key}) as connection:
        upstream.arrived(1, key)
        data.rename(away)
        upstream.open(key)
        # The first look beside it answers that the file is gone, the next says what is wrong there.
        wait_until(lambda: gateway.log().count("settle-failed") >= 2, what="failing settles")
        away.rename(data)
        if held_back:
            first = assert_first(connection.read())
        else:
            assert_problem(connection.read(), 503, "store-unreachable", True, retry_after=True)
            first = None
    wait_until(lambda: gateway.state(key) == "completed", what="the settle")
    again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None))
    if first:
        assert_replay_of(again, first)
    assert upstream.runs(key) == 1
    assert_first(wait_until(lambda: next(
        (a for a in [gateway.post(key=key + "2")] if a.status == 201), None)))


def test_what_waits_to_be_recorded_takes_room_for_its_answer(start_gateway, upstream, fresh_key):
    """Beyond `max_buffered` new requests are refused, and what waits is recorded all the same."""
    gateway = start_gateway(upstream, {
        **SHORT, "gateway": {"settle_wait": "500ms", "max_buffered": "2MiB", "replay_cache": "0"},
        "defaults": {"max_request_body": "512KiB", "max_answer_body": "512KiB"}})
    gate, keys, late = fresh_key(), [fresh_key() for _ in range(5)], fresh_key()
    asking = [begin(gateway, upstream, key, {"gate": gate, "size": 400_000}) for key in keys]
    with locked(gateway):
        upstream.open(gate)
        for connection in asking:
            assert_problem(connection.read(), 503, "store-unreachable", True, retry_after=True)
            connection.close()
        # It is not even asked whether the store could take it.
        assert_problem(gateway.post(key=late), 503, "overloaded", True, retry_after=True)
        assert upstream.runs(late) == 0
    wait_until(lambda: gateway.post(key=late, body=b"x" * 300_000).status == 201)
    for key in keys:
        again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None))
        assert len(again.body) == 400_000
        assert upstream.runs(key) == 1


def test_a_shutdown_waits_for_what_is_still_to_be_recorded(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {**SHORT, "gateway": {"settle_wait": "500ms"}})
    with ran_while_locked(gateway, upstream, key) as (connection, _):
        assert_problem(connection.read(), 503, "store-unreachable", True, retry_after=True)
        gateway.process.send_signal(signal.SIGTERM)
        assert connection.closed_within(30)
        gateway.await_closed_listener()
    assert gateway.wait() == 0
    gateway.start()
    again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.status != 503), None))
    assert again.replayed and again.body == b"the answer"
    assert upstream.runs(key) == 1


def test_a_settle_goes_on_although_the_client_is_gone(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {**SHORT, "gateway": {"settle_wait": "500ms"}})
    with begin(gateway, upstream, key, {"gate": key, "body": "kept"}) as connection:
        with locked(gateway):
            connection.reset()
            upstream.open(key)
            upstream.arrived(1, key, whole=True)
            assert gateway.get("/").status == 201
    again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None))
    assert again.body == b"kept"
    assert upstream.runs(key) == 1


def test_a_lease_outlives_an_outage_longer_than_itself(start_gateway, upstream, key):
    """It ran out, but nobody superseded it: its holder still settles."""
    gateway = start_gateway(upstream, {**SHORT, "defaults": {"lease": "1s"},
                                       "gateway": {"settle_wait": "20s"}})
    with begin(gateway, upstream, key, {"gate": key}) as connection:
        with locked(gateway):
            upstream.open(key)
            assert connection.silent_for(2)
        first = assert_first(connection.read())
    assert_replay_of(gateway.post(key=key), first)


def test_fail_open_is_configured_marked_and_logged(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {**SHORT, "defaults": {"store_failure": "open"}})
    key = fresh_key()
    with locked(gateway):
        assert_first(gateway.post(key=key))
        assert_first(gateway.post(key=key))
    marks = [dict(map(tuple, r["fields"])).get("Onceguard-Unguarded")
             for r in upstream.requests(key)]
    assert marks == ["store", "store"]
    wait_until(lambda: "unguarded" in gateway.log().lower(), what="a line about it")
    key = fresh_key()
    first = wait_until(lambda: next((a for a in [gateway.post(key=key)] if upstream.requests(
        key)[-1]["token"]), None))
    assert_replay_of(gateway.post(key=key), assert_first(first))


def damage(gateway, change):
    """Changes the bytes of every record in the file."""
    with contextlib.closing(sqlite3.connect(gateway.database, timeout=10)) as file:
        rows = file.execute("SELECT id, record FROM records").fetchall()
        assert rows
        for number, record in rows:
            file.execute("UPDATE records SET record = ? WHERE id = ?", (change(record), number))
        file.commit()


def flip(position):
    def change(record):
        at = int(len(record) * position) if position < 1 else len(record) - 1
        return record[:at] + bytes([record[at] ^ 0x40]) + record[at + 1 :]
    return change


def test_a_record_that_cannot_be_read_is_never_taken_for_absent(start_gateway, upstream,
                                                                 fresh_key):
    changes = [flip(0), flip(0.3), flip(0.6), flip(1), lambda record: record[:-1],
               lambda record: b"", lambda record: record + b"x"]
    for change in changes:
        gateway = start_gateway(upstream, {"gateway": {"replay_cache": "0"}})
        key = fresh_key()
        assert_first(gateway.post(key=key))
        damage(gateway, change)
        for _ in range(2):
            assert_problem(gateway.post(key=key), 500, "record-unreadable", False)
        assert upstream.runs(key) == 1
        assert_first(gateway.post(key=fresh_key()))
        gateway.stop()


def test_another_file_at_the_path_of_the_store(start_gateway, upstream):
    gateway = start_gateway(upstream, started=False)
    gateway.database.write_bytes(b"this is no database, but a file that somebody needs\n" * 100)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    assert gateway.database.read_bytes().startswith(b"this is no database")
