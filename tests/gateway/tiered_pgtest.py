"""Redis in front of PostgreSQL: what it answers, and how little it costs when it can't."""

import contextlib
import signal
import subprocess

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import clean_environment
from support.tiered import records_locked, replayed_by_redis
from support.waiting import wait_until


def events(gateway):
    return [line.get("event") for line in gateway.log_lines()]


OUT = "accelerator-away"
BACK = "accelerator-back"


def first_of(gateway, key, **how):
    """Its first answer: a store has two seconds here, which a busy machine may need for itself."""
    return assert_first(wait_until(
        lambda: (got := gateway.post(key=key, **how)).status == 201 and got, what="an answer"))


def known(gateway, key, **how):
    """What a repeat gets in the end: Redis has 50 ms for its copy, and until the next poll its mark
    turns repeats at another gateway away."""
    return wait_until(lambda: (got := gateway.post(key=key, **how)).problem not in (
        "in-progress", "store-unreachable") and got, what="the outcome")


def test_redis_answers_repeats_and_turns_duplicates_away(begin, redis, postgres_server, database,
                                                         own_upstream, fresh_key):
    redis.start()
    one, other = begin(), begin()
    done, running = fresh_key(), fresh_key()
    first = first_of(one, done)
    with one.begin_post(key=running, plan={"gate": running}) as request:
        own_upstream.arrived(1, running)
        for gateway in (one, other):
            replayed_by_redis(postgres_server, database, gateway, done, first)
        with records_locked(postgres_server, database):
            def turned_away():
                answer = other.post(key=running)
                return answer if answer.problem != "store-unreachable" else None
            assert_problem(wait_until(turned_away), 409, "in-progress", True, retry_after=True)
        own_upstream.open(running)
        first = assert_first(request.read())
    assert_replay_of(known(other, running), first)
    assert_problem(known(other, done, body=b"{}"), 422, "key-reused", False)
    assert own_upstream.effects() == {done: 1, running: 1}


def test_what_postgresql_knows_is_written_back(begin, redis, postgres_server, database,
                                               own_upstream, key):
    redis.start()
    gateway = begin()
    first = first_of(gateway, key)
    assert redis.run("FLUSHALL") == b"+OK\r\n"
    assert_replay_of(gateway.post(key=key), first)
    replayed_by_redis(postgres_server, database, gateway, key, first)
    assert own_upstream.runs(key) == 1


def test_a_gateway_starts_without_redis_and_finds_it_later(begin, redis, postgres_server, database,
                                                          own_upstream, key):
    gateway = begin()
    first = first_of(gateway, key)
    assert_replay_of(gateway.post(key=key), first)
    redis.start()
    wait_until(lambda: "accelerator-opened" in events(gateway))
    replayed_by_redis(postgres_server, database, gateway, key, first)
    assert own_upstream.runs(key) == 1


def test_a_redis_that_evicts_will_do_and_one_with_another_password_is_done_without(
        begin, start_gateway, redis, postgres_server, database, own_upstream, key):
    redis.start()
    for name, value in (("maxmemory-policy", "allkeys-lru"), ("requirepass", "secret")):
        assert redis.run(f"CONFIG SET {name} {value}") == b"+OK\r\n"
    place = f"127.0.0.1:{redis.port.number}"
    gateway = begin({"accelerator": f"redis://:secret@{place}"})
    first = first_of(gateway, key)
    replayed_by_redis(postgres_server, database, gateway, key, first)
    wrong = start_gateway(own_upstream, config={
        "store": {**gateway.config["store"], "accelerator": f"redis://:mistaken@{place}"}})
    assert_replay_of(known(wrong, key), first)
    wrong.says("accelerator: redis 127.0.0.1")
    assert "mistaken" not in wrong.log()


def test_a_redis_that_hangs_costs_next_to_nothing(begin, redis, postgres_server, database,
                                                  own_upstream, fresh_key):
    redis.start()
    gateway = begin()
    key = fresh_key()
    first = first_of(gateway, key)
    redis.process.send_signal(signal.SIGSTOP)

    def out():
        assert_first(gateway.post(key=fresh_key()))
        return OUT in events(gateway)
    wait_until(out, what="the breaker open")
    assert_replay_of(gateway.post(key=key), first)
    redis.process.send_signal(signal.SIGCONT)
    wait_until(lambda: BACK in events(gateway), what="the breaker closed")
    replayed_by_redis(postgres_server, database, gateway, key, first)
    assert own_upstream.runs(key) == 1


def test_who_waits_in_another_gateway_gets_the_answer(begin, redis, own_upstream, key):
    redis.start()
    waiting = {"defaults": {"on_busy": "wait", "wait": "60s"}}
    one, other = begin(**waiting), begin(**waiting)
    with one.begin_post(key=key, plan={"gate": key}) as request:
        own_upstream.arrived(1, key)
        with contextlib.ExitStack() as crowd:
            waiters = [crowd.enter_context(other.begin_post(key=key)) for _ in range(8)]
            assert waiters[0].silent_for(0.2)
            own_upstream.open(key)
            first = assert_first(request.read())
            for waiter in waiters:
                assert_replay_of(waiter.read(), first)
    assert own_upstream.runs(key) == 1


def test_commands_need_no_redis(begin, onceguard, key):
    """Which is not running here, and is in the configuration that they read."""
    gateway = begin()
    assert_first(gateway.post(key=key))
    for command in (["stats"], ["keys", "list"], ["keys", "show", key], ["sweep"], ["migrate"],
                    ["keys", "release", key]):
        done = subprocess.run([str(onceguard), *command, "--config", str(gateway.config_path)],
                              capture_output=True, text=True, timeout=60, check=False,
                              env=clean_environment())
        assert done.returncode == 0, done
    assert_first(gateway.post(key=key))
