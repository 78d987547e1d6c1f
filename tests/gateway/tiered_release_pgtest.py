"""An operator's release, where Redis in front of PostgreSQL has a copy of the answer."""

import shutil

from support.expecting import assert_first, assert_replay_of
from support.tiered import replayed_by_redis
from support.waiting import Stopwatch, wait_until


def first_of(gateway, key, **how):
    """Its first answer: a store has two seconds here, which a busy machine may need for itself."""
    return assert_first(wait_until(
        lambda: (got := gateway.post(key=key, **how)).status == 201 and got, what="an answer"))


def known(gateway, key, **how):
    """What a repeat gets in the end: Redis has 50 ms for its copy, and until the next poll its mark
    turns repeats at another gateway away."""
    return wait_until(lambda: (got := gateway.post(key=key, **how)).problem not in (
        "in-progress", "store-unreachable") and got, what="the outcome")


def test_a_release_is_seen_by_all_gateways(begin, redis, postgres_server, database, own_upstream,
                                           fresh_key):
    """By the command, which knows nothing of Redis, and by hand in psql."""
    redis.start()
    gateways = [begin(), begin()]
    for number, gateway in enumerate(gateways):
        key = fresh_key()
        first = first_of(gateway, key, plan={"body": "wrong"})
        for each in gateways:
            replayed_by_redis(postgres_server, database, each, key, first)
        if number == 0:
            done = gateway.command("keys", "release", key)
            assert done.returncode == 0, done
        else:
            with postgres_server.connect(database) as at:
                at.execute("DELETE FROM onceguard.records r USING onceguard.keys k"
                           " WHERE k.record = encode(r.digest, 'hex') AND k.key = %s;", (key,))
                at.execute("UPDATE onceguard.meta SET forgotten = forgotten + 1")
            passed = Stopwatch()
            wait_until(lambda: passed.seconds > 5, what="the time that the command waits")
        second = first_of(gateways[1 - number], key, plan={"body": "right"})
        assert second.body == b"right"
        for each in gateways:
            replayed_by_redis(postgres_server, database, each, key, second)
        assert own_upstream.runs(key) == 2


def test_a_redis_from_before_a_release_never_replays_the_released_answer(
        begin, redis, postgres_server, database, own_upstream, key):
    redis.start()
    gateways = [begin(), begin()]
    first = first_of(gateways[0], key, plan={"body": "wrong"})
    replayed_by_redis(postgres_server, database, gateways[1], key, first)
    assert redis.run("SAVE") == b"+OK\r\n"
    shutil.copy(redis.folder / "dump.rdb", redis.folder / "old.rdb")
    assert gateways[0].command("keys", "release", key).returncode == 0
    second = first_of(gateways[1], key, plan={"body": "right"})

    redis.crash()
    shutil.copy(redis.folder / "old.rdb", redis.folder / "dump.rdb")
    redis.start()
    for gateway in gateways:
        back = Stopwatch()
        while back.seconds < 3:  # while they find out, and after it
            answer = gateway.post(key=key)
            if answer.problem not in ("in-progress", "store-unreachable"):  # of a busy machine
                assert_replay_of(answer, second)
    for gateway in [*gateways, begin()]:  # one too that never saw more than this
        assert_replay_of(known(gateway, key), second)
        replayed_by_redis(postgres_server, database, gateway, key, second)
    assert own_upstream.runs(key) == 2
