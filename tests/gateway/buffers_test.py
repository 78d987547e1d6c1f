"""Whoever is slow takes no room from work: what runs can be kept, and memory has a bound."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import DEFAULT_BODY
from support.samples import scrape
from support.waiting import SANITIZED, wait_until

MIB = 1 << 20
# Whoever reads nothing, or sends nothing more, is not ended meanwhile.
UNCACHED = {"replay_cache": "0", "threads": 1, "write_timeout": "10m", "body_timeout": "10m"}
PATIENT = {"store": {"timeout": "30s"}}  # a slow disk is not the matter here


@pytest.fixture
def held():
    """Connections that are closed at the end of the test."""
    with contextlib.ExitStack() as stack:
        yield stack


def begin_upload(gateway, key, size):
    """All of its body but the last byte."""
    connection = gateway.connect()
    connection.reader.expect("POST")
    fields = fields_for(key) + [("Content-Length", str(size + 1))]
    connection.send(request_bytes("POST", "/charges", fields))
    with contextlib.suppress(ConnectionError):
        connection.send(b"x" * size)
    return connection


def buffered(admin):
    return scrape(admin).value("onceguard_buffered_bytes")


def is_refused(connection, admin, filled):
    """Or all of it is held, which are `filled` bytes with those before."""
    wait_until(lambda: not connection.silent_for(0) or buffered(admin) > filled - 100,
               what="an upload that is held or refused")
    if connection.silent_for(0):
        return False
    assert_problem(connection.read(), 503, "overloaded", True, retry_after=True)
    return True


def fill_with_uploads(gateway, admin, held, fresh_key, room):
    """Until not even a small one more is taken; the bytes that are held."""
    total = 0
    for size in (300_000, None, 60_000, 17_000):
        while size is not None or room - total > 17_000:
            upload = size or room - total - 100  # a refused one has given back what it held
            begun = held.enter_context(begin_upload(gateway, fresh_key(), upload))
            if is_refused(begun, admin, total + upload):
                break
            total += upload + 1
            assert total < 16 * MIB, "no end to it"
    return total


def test_payments_beside_a_buffer_full_of_unfinished_uploads(start_gateway, upstream, fresh_key,
                                                             held, admin_listener):
    gateway = start_gateway(upstream, {
        **PATIENT, "gateway": {**UNCACHED, "max_buffered": "4MiB", "admin": admin_listener.text},
        "defaults": {"max_answer_body": "256KiB"}})
    filled = fill_with_uploads(gateway, admin_listener, held, fresh_key, 2 * MIB)
    for _ in range(20):
        key = fresh_key()
        first = assert_first(gateway.post(key=key, plan={"size": 40_000}))
        assert_replay_of(gateway.post(key=key), first)
        assert upstream.runs(key) == 1
    assert 2 * MIB - 200 < filled <= 2 * MIB
    log = gateway.logged("buffers-full")
    assert log[-1]["used"] >= filled
    assert log[-1]["max_buffered"] == 4 * MIB
    # A body that comes in two parts is no upload, as long as it is small.
    key = fresh_key()
    with begin_upload(gateway, key, 16_000) as connection:
        assert connection.silent_for(0.1)
        connection.send(b"y")
        assert_first(connection.read())
    held.close()
    wait_until(lambda: gateway.post(key=fresh_key(), body=b"x" * 900_000).status == 201)


def begin_runs(gateway, upstream, fresh_key, count, plan, held):
    """(what runs, what was refused), each as (key, connection)."""
    running, refused = [], []
    for _ in range(count):
        key = fresh_key()
        connection = held.enter_context(gateway.begin_post(key=key, plan=plan))
        assert wait_until(lambda: upstream.runs(key) or not connection.silent_for(0.01))
        (running if upstream.runs(key) else refused).append((key, connection))
    return running, refused


def test_answers_of_running_requests_are_kept_one_after_the_other(start_gateway, upstream,
                                                                  fresh_key, held):
    """Beyond the bound nothing more runs; what ran gets room for its answer in turn."""
    gateway = start_gateway(upstream, {
        **PATIENT, "gateway": {**UNCACHED, "max_buffered": "1MiB"},
        "defaults": {"max_request_body": "256KiB", "max_answer_body": "256KiB"}})
    gate = fresh_key()
    plan = {"gate": gate, "size": 256 << 10}
    running, refused = begin_runs(gateway, upstream, fresh_key, 56, plan, held)
    # Each has a sixteenth of the longest answer, and one of these must still fit.
    assert 40 <= len(running) <= 48
    for key, connection in refused:
        assert_problem(connection.read(), 503, "overloaded", True, retry_after=True)
        assert upstream.runs(key) == 0
    upstream.open(gate)
    with ThreadPoolExecutor(len(running)) as readers:
        firsts = list(readers.map(lambda one: (one[0], assert_first(one[1].read())), running))
    held.close()
    for key, first in firsts:
        assert len(first.body) == 256 << 10
        again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None))
        assert_replay_of(again, first)
        assert upstream.runs(key) == 1
    for key, _ in refused:
        assert_first(gateway.post(key=key))


def test_answers_count_toward_the_budget_while_they_arrive(start_gateway, upstream, fresh_key,
                                                           held, admin_listener):
    gateway = start_gateway(upstream, {
        **PATIENT, "gateway": {**UNCACHED, "max_buffered": "1MiB", "admin": admin_listener.text},
        "defaults": {"max_request_body": "256KiB", "max_answer_body": "256KiB"}})
    gate = fresh_key()
    half = {"gate_half": gate, "size": 240_000}
    running = []
    for _ in range(24):
        before = buffered(admin_listener)
        connection = held.enter_context(gateway.begin_post(key=fresh_key(), plan=half))
        wait_until(lambda: not connection.silent_for(0)
                   or buffered(admin_listener) > before + 100_000,
                   what="a refusal, or half an answer")
        if not connection.silent_for(0):
            assert_problem(connection.read(), 503, "overloaded", True, retry_after=True)
            break
        running.append(connection)
    assert 3 <= len(running) <= 5, "each has room for its answer"
    upstream.open(gate)
    for connection in running:
        assert len(assert_first(connection.read()).body) == 240_000


@pytest.mark.parametrize("replayed", [False, True], ids=["run", "replayed"])
def test_long_answers_leave_room_for_fewer_runs(start_gateway, upstream, key, fresh_key, held,
                                                replayed):
    """What answers of a route took before is taken before the next ones run."""
    gateway = start_gateway(upstream, {
        **PATIENT, "gateway": {**UNCACHED, "max_buffered": "1MiB"},
        "defaults": {"max_request_body": "256KiB", "max_answer_body": "256KiB"}})
    assert_first(gateway.post(key=key, plan={"size": 250_000}))
    if replayed:
        gateway.restart()
        assert gateway.post(key=key).replayed
    gate = fresh_key()
    running, refused = begin_runs(gateway, upstream, fresh_key, 8, {"gate": gate}, held)
    assert 3 <= len(running) <= 4 and refused
    upstream.open(gate)
    for _, connection in running:
        assert_first(connection.read())


def test_who_waits_for_a_twin_takes_no_room_of_an_answer(start_gateway, upstream, key, fresh_key,
                                                         held, admin_listener):
    gateway = start_gateway(upstream, {
        **PATIENT, "gateway": {**UNCACHED, "max_buffered": "1MiB", "admin": admin_listener.text},
        "defaults": {"max_request_body": "256KiB", "max_answer_body": "256KiB",
                     "on_busy": "wait", "wait": "1h"}})
    first = held.enter_context(gateway.begin_post(key=key, plan={"gate": key}))
    upstream.arrived(1, key)
    waiting = []
    for _ in range(60):  # one by one: a claim that is on its way takes room
        waiting.append(held.enter_context(gateway.begin_post(key=key)))
        wait_until(lambda: scrape(admin_listener).value("onceguard_waiters") == len(waiting),
                   what="another one that waits")
    assert all(one.silent_for(0) for one in waiting)
    assert_first(gateway.post(key=fresh_key()))
    upstream.open(key)
    reported = assert_first(first.read())
    for one in waiting:
        assert_replay_of(one.read(), reported)


def ask_and_not_read(gateway, key, held):
    connection = held.enter_context(gateway.connect(receive_buffer=4096))
    fields = [("Content-Type", "application/json")] + fields_for(key)
    connection.send_request("POST", "/charges", fields, DEFAULT_BODY)
    assert not connection.silent_for(60)
    return connection


def test_repeats_that_nobody_reads_take_the_room_of_one(start_gateway, upstream, key, held):
    gateway = start_gateway(upstream, {**PATIENT, "gateway": {**UNCACHED, "max_buffered": "32MiB"},
                                       "defaults": {"max_answer_body": "8MiB"}})
    first = assert_first(gateway.post(key=key, plan={"size": 8 * MIB}))
    before = gateway.memory()
    unread = [ask_and_not_read(gateway, key, held) for _ in range(40)]
    grown = gateway.memory() - before
    assert grown < (32 << 20) * (4 if SANITIZED else 1)
    for connection in unread[::10]:
        assert_replay_of(connection.read(), first)
    assert upstream.runs(key) == 1


def test_a_request_is_given_up_before_its_answer_is_read(start_gateway, upstream, fresh_key, held):
    gateway = start_gateway(upstream, {**PATIENT, "gateway": {**UNCACHED, "max_buffered": "8MiB"}})
    begun = []
    for _ in range(5):
        connection = held.enter_context(gateway.connect(receive_buffer=4096))
        fields = fields_for(fresh_key(), {"size": MIB})
        connection.send_request("POST", "/charges", fields, b"x" * (MIB // 2))
        begun.append(connection.read_part(0).status)
    # The last is still to come when 4 MiB are in use.
    assert begun == [201, 201, 201, 201, 503]


def test_an_answer_holds_no_more_memory_than_its_size(start_gateway, upstream, fresh_key, held):
    """Although those before were longer."""
    gateway = start_gateway(upstream, {**PATIENT, "gateway": {**UNCACHED, "max_buffered": "8MiB"}})
    assert_first(gateway.post(key=fresh_key(), plan={"size": MIB}))
    for _ in range(12):
        connection = held.enter_context(gateway.connect(receive_buffer=4096))
        fields = fields_for(fresh_key(), {"size": 400_000})
        connection.send_request("POST", "/charges", fields, b"x")
        assert connection.read_part(0).status == 201


def test_replays_that_nobody_reads_leave_room_for_work(start_gateway, upstream, fresh_key, held):
    gateway = start_gateway(upstream, {**PATIENT, "gateway": {**UNCACHED, "max_buffered": "8MiB"}})
    keys = [fresh_key() for _ in range(9)]
    for key in keys:
        assert_first(gateway.post(key=key, plan={"size": MIB, "seed": len(key)}))
    unread = {key: ask_and_not_read(gateway, key, held) for key in keys}
    begun = {key: one.read_part(0) for key, one in unread.items()}
    assert [key for key in keys if begun[key].status == 201] == keys[:5], "three quarters of 8 MiB"
    refused = keys[5:]
    for key in refused:
        assert_problem(begun[key], 503, "overloaded", True, retry_after=True)
    another = fresh_key()
    first = assert_first(gateway.post(key=another))
    assert_replay_of(gateway.post(key=another), first)
    unread[keys[0]].reset()
    again = wait_until(lambda: next(
        (a for a in [gateway.post(key=refused[0])] if a.replayed), None))
    assert len(again.body) == MIB
    assert all(upstream.runs(key) == 1 for key in keys)


def test_who_reads_nothing_is_ended_and_its_room_given_back(start_gateway, upstream, fresh_key,
                                                            held):
    gateway = start_gateway(upstream, {
        **PATIENT, "gateway": {**UNCACHED, "max_buffered": "8MiB", "write_timeout": "1s"}})
    keys = [fresh_key() for _ in range(6)]
    for key in keys:
        assert_first(gateway.post(key=key, plan={"size": MIB}))
    for key in keys[:5]:
        ask_and_not_read(gateway, key, held)
    # This client, too, may be late on a busy machine.
    last = wait_until(lambda: next((a for a in [gateway.post(key=keys[5])]
                                    if a.replayed and not a.truncated), None))
    assert len(last.body) == MIB
