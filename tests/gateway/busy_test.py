"""A repeat while the first request runs."""

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, least_seconds, wait_until

CONFIG = {
    "route": [
        {"path": "/wait", "on_busy": "wait", "wait": "20s"},
        {"path": "/brief", "on_busy": "wait", "wait": "500ms"},
        {"path": "/lease", "lease": "3s"},
        {"path": "/lease-wait", "lease": "3s", "on_busy": "wait"},
    ]
}


def test_reject_says_when_to_come_again(gateway, upstream, key):
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        for _ in range(3):
            answer = gateway.post(key=key)
            assert_problem(answer, 409, "in-progress", True, retry_after=True)
        upstream.open(key)
        first = assert_first(running.read())
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_a_waiter_gets_the_first_ones_answer(gateway, upstream, key):
    with gateway.begin_post("/wait", key=key, plan={"gate": key, "size": 100_000}) as running:
        upstream.arrived(1, key)
        waiters = [gateway.begin_post("/wait", key=key) for _ in range(10)]
        assert waiters[0].silent_for(0.3)
        upstream.open(key)
        first = assert_first(running.read())
        for waiter in waiters:
            assert_replay_of(waiter.read(), first)
            waiter.close()
    assert upstream.runs(key) == 1


def test_a_waiter_in_another_process_gets_the_answer_too(
        gateway, start_gateway, upstream, fresh_key):
    other = start_gateway(upstream, CONFIG, database=gateway.database)

    def seconds_after_the_first():
        key = fresh_key()
        with gateway.begin_post("/wait", key=key, plan={"gate": key}) as running:
            upstream.arrived(1, key)
            waiters = [other.begin_post("/wait", key=key) for _ in range(5)]
            assert waiters[0].silent_for(0.3)
            upstream.open(key)
            first = assert_first(running.read())
            clock = Stopwatch()
            for waiter in waiters:
                assert_replay_of(waiter.read(), first)
                waiter.close()
        assert upstream.runs(key) == 1
        return clock.seconds

    assert least_seconds(seconds_after_the_first, enough=0.5) < 0.5


def test_a_wait_has_an_end(gateway, upstream, key):
    with gateway.begin_post("/brief", key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        clock = Stopwatch()
        answer = gateway.post("/brief", key=key)
        assert_problem(answer, 409, "in-progress", True, retry_after=True)
        assert 0.4 < clock.seconds < 9  # and not after the 10 s that are the default
        upstream.open(key)
        first = assert_first(running.read())
    assert_replay_of(gateway.post("/brief", key=key), first)


def test_a_waiter_with_another_request_gets_its_mismatch_at_once(gateway, upstream, key):
    with gateway.begin_post("/wait", key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        assert_problem(gateway.post("/wait", key=key, body=b"x"), 422, "key-reused", False)
        upstream.open(key)
        assert_first(running.read())


def test_when_the_first_ends_released_one_waiter_runs(gateway, upstream, key):
    waiters = []
    with gateway.begin_post("/wait", key=key, plan={"gate": key, "status": 404}) as running:
        upstream.arrived(1, key)
        for _ in range(8):
            waiters.append(gateway.begin_post("/wait", key=key, plan={"gate": key + "2"}))
        assert waiters[0].silent_for(0.2)
        upstream.open(key)
        assert_first(running.read(), 404)
    upstream.arrived(2, key)
    upstream.open(key + "2")
    answers = [waiter.read() for waiter in waiters]
    for waiter in waiters:
        waiter.close()
    firsts = [a for a in answers if not a.replayed]
    assert len(firsts) == 1
    assert_first(firsts[0])
    for answer in answers:
        if answer.replayed:
            assert_replay_of(answer, firsts[0])
    assert upstream.runs(key) == 2


def test_waiters_learn_that_the_first_ended_unknown(gateway, upstream, key):
    with gateway.begin_post("/wait", key=key, plan={"gate": key, "status": 500}) as running:
        upstream.arrived(1, key)
        waiter = gateway.begin_post("/wait", key=key)
        assert waiter.silent_for(0.2)
        upstream.open(key)
        assert_first(running.read(), 500)
        assert_problem(waiter.read(), 409, "outcome-unknown", False)
        waiter.close()
    assert upstream.runs(key) == 1


def test_a_waiter_that_leaves_changes_nothing(gateway, upstream, key):
    with gateway.begin_post("/wait", key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        for _ in range(5):
            waiter = gateway.begin_post("/wait", key=key)
            assert waiter.silent_for(0.05)
            waiter.reset()
        assert_problem(gateway.post("/wait", key=key, body=b"x"), 422, "key-reused", False)
        upstream.open(key)
        first = assert_first(running.read())
    assert_replay_of(gateway.post("/wait", key=key), first)
    assert upstream.runs(key) == 1


def test_waiters_do_not_block_others(gateway, upstream, key, fresh_key):
    with gateway.begin_post("/wait", key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        waiters = [gateway.begin_post("/wait", key=key) for _ in range(100)]
        for _ in range(10):
            assert_first(gateway.post("/wait", key=fresh_key()))
        upstream.open(key)
        first = assert_first(running.read())
        for waiter in waiters:
            assert_replay_of(waiter.read(), first)
            waiter.close()


@pytest.mark.parametrize("path", ["/lease", "/lease-wait"])
def test_a_lease_is_renewed_while_the_work_runs(gateway, start_gateway, upstream, fresh_key, path):
    """Two lengths of the lease later the first still runs, and nobody else may."""
    other = start_gateway(upstream, CONFIG, database=gateway.database)

    def is_renewed():
        """Not where a busy machine stops the holder for as long as the lease."""
        key = fresh_key()
        with gateway.begin_in_time(upstream, path, key=key, plan={"gate": key}) as running:
            clock = Stopwatch()
            if path == "/lease":
                while clock.seconds < 6.2:
                    for each in (gateway, other):
                        answer = each.post(path, key=key)
                        if answer.problem == "outcome-unknown":
                            return False
                        assert_problem(answer, 409, "in-progress", True, retry_after=True)
                    assert running.silent_for(0.2)
            else:
                waiter = other.begin_post(path, key=key)
                if not waiter.silent_for(6.2):
                    with waiter:
                        assert_problem(waiter.read(), 409, "outcome-unknown", False)
                    return False
            upstream.open(key)
            first = assert_first(running.read())
            if path == "/lease-wait":
                assert_replay_of(waiter.read(), first)
                waiter.close()
        assert_replay_of(other.post(path, key=key), first)
        assert upstream.runs(key) == 1
        return True
    assert any(is_renewed() for _ in range(3))


def test_two_processes_race_for_fresh_keys(gateway, start_gateway, upstream, fresh_key):
    other = start_gateway(upstream, CONFIG, database=gateway.database)
    for _ in range(20):
        key = fresh_key()
        data = request_bytes("POST", "/wait", fields_for(key), b"x")
        connections = [each.connect() for each in (gateway, other) * 4]
        for connection in connections:
            connection.reader.expect("POST")
        for connection in connections:
            connection.send(data)
        answers = [connection.read() for connection in connections]
        for connection in connections:
            connection.close()
        assert [a.status for a in answers] == [201] * 8
        assert len({a.body for a in answers}) == 1
        assert sum(not a.replayed for a in answers) == 1
        assert upstream.runs(key) == 1


def test_sixty_four_at_once_all_get_the_one_answer(gateway, upstream, key):
    data = request_bytes("POST", "/wait", fields_for(key, {"delay_ms": 100}), b"x")
    answers = all_at_once(gateway.address, [data] * 64)
    assert {a.status for a in answers} == {201}
    assert len({a.body for a in answers}) == 1
    assert sum(not a.replayed for a in answers) == 1
    assert upstream.runs(key) == 1


def test_more_waiters_than_there_is_room_for(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"gateway": {"max_waiters": 3}, **CONFIG})
    with gateway.begin_post("/wait", key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        waiters = [gateway.begin_post("/wait", key=key) for _ in range(6)]
        wait_until(lambda: sum(not w.silent_for(0.02) for w in waiters) == 3,
                   what="three refusals")
        upstream.open(key)
        first = assert_first(running.read())
        answers = [waiter.read() for waiter in waiters]
        for waiter in waiters:
            waiter.close()
    assert sum(a.replayed for a in answers) == 3
    for answer in answers:
        if answer.replayed:
            assert_replay_of(answer, first)
        else:
            assert_problem(answer, 409, "in-progress", True, retry_after=True)
