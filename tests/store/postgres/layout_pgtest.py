"""The time layout: one record per key whatever partition it is in, and dropping them whole."""

import random
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from store.postgres.acts import (BUSY, DAY, INCIDENT, LOCKED, RELEASE, REPLAY, RUN, UNKNOWN, Desk,
                                 claim_of, digest_of, failure, settle_of)
from support.waiting import Stopwatch, scaled

HOUR = 3_600_000


@pytest.fixture
def layout():
    return "time:1h"


@pytest.fixture
def caller(database, connect):
    return Desk(connect(database))


def partitions(caller):
    return {row.name for row in caller.rows(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits "
        "WHERE inhparent = 'onceguard.records'::regclass")}


def home(caller, key):
    """The partition that a key's one record is in."""
    return caller.value("SELECT tableoid::regclass::text FROM onceguard.records WHERE digest = %s",
                      [digest_of(key)])


def next_partition(caller, clock):
    clock.advance(HOUR)
    caller.sweep()


def test_partitions_are_made_ahead_and_again_as_time_passes(caller, clock):
    first = partitions(caller)
    assert len(first) >= 4 and "onceguard.records_rest" in first
    for _ in range(5):
        next_partition(caller, clock)
        caller.leased(claim_of(f"k{clock.now}"))
        assert home(caller, f"k{clock.now}") != "onceguard.records_rest"
    assert not partitions(caller) <= first


def test_a_key_is_one_key_on_both_sides_of_a_boundary(caller, clock):
    done, running, lost = claim_of("done"), claim_of("running", lease=2 * HOUR), claim_of("lost")
    caller.completed(done)
    caller.leased(running)
    caller.leased(lost)
    before = home(caller, "done")
    next_partition(caller, clock)
    caller.leased(claim_of("new"))
    assert home(caller, "new") != before == home(caller, "done")
    told = caller.claims([claim_of("done"), claim_of("running"), claim_of("lost"), running])
    assert [row.verdict for row in told] == [REPLAY, BUSY, UNKNOWN, RUN]
    assert caller.value("SELECT count(*) FROM onceguard.records") == 4


def test_the_settle_finds_its_record_in_an_old_partition(caller, clock):
    claim = claim_of("k")
    token = caller.leased(claim).token
    before = home(caller, "k")
    next_partition(caller, clock)
    caller.settle(settle_of(claim, token))
    assert home(caller, "k") == before
    assert caller.claim(claim_of("k")).verdict == REPLAY


@pytest.mark.parametrize("first", [True, False], ids=["made with the schema", "made later"])
def test_truncating_one_partition_makes_another_memory(caller, clock, first):
    if not first:
        for _ in range(6):
            next_partition(caller, clock)
    caller.completed(claim_of("k"))
    caller.rows("DELETE FROM onceguard.records WHERE digest <> %s", [digest_of("k")])
    before = caller.row("SELECT identity, epoch FROM onceguard.meta")
    caller.rows("SET session_replication_role = replica")  # as some tools do while they load data
    caller.rows(f"TRUNCATE {home(caller, 'k')}")
    after = caller.row("SELECT identity, epoch FROM onceguard.meta")
    assert before.identity != after.identity and before.epoch != after.epoch
    expected = [before.identity, 0]
    assert failure(caller.rows, "SELECT * FROM onceguard.claim_batch('{}', false, %s, %s)",
                   expected).sqlstate == "OG003"


def test_what_no_partition_was_made_for_is_kept_and_swept_too(caller, clock):
    clock.advance(30 * DAY)  # nobody swept: no partition is there for this time
    caller.completed(claim_of("k"))
    assert home(caller, "k") == "onceguard.records_rest"
    caller.sweep()
    assert caller.claim(claim_of("k")).verdict == REPLAY
    clock.advance(DAY)
    assert caller.sweep() == 1 and caller.stored("k") == []


def test_an_expired_partition_is_dropped_whole(caller, clock):
    caller.claims([claim_of(f"k{i}") for i in range(50)])
    claims = [claim_of(f"d{i}") for i in range(50)]
    caller.settles([settle_of(c, t.token) for c, t in zip(claims, caller.claims(claims))])
    caller.rows("DELETE FROM onceguard.records WHERE state = 2")
    old = home(caller, "d0")
    next_partition(caller, clock)
    assert old in partitions(caller)
    clock.advance(DAY - HOUR)
    assert caller.claim(claim_of("d0", b"other")).verdict == RUN  # expired, swept or not
    clock.advance(HOUR)
    assert caller.sweep_through() >= 49
    assert old not in partitions(caller)
    assert caller.value("SELECT count(*) FROM onceguard.records") == 1


def test_what_is_live_moves_before_its_partition_goes(caller, clock):
    claims = [claim_of(f"d{i}") for i in range(20)]
    caller.settles([settle_of(c, t.token) for c, t in zip(claims, caller.claims(claims))])
    caller.completed(claim_of("long"), retention=30 * DAY)
    lost = claim_of("lost")
    token = caller.leased(lost).token
    old = home(caller, "lost")
    clock.advance(25 * HOUR)
    caller.sweep_through()
    assert old not in partitions(caller)
    assert caller.value("SELECT count(*) FROM onceguard.records") == 2
    assert caller.claim(claim_of("lost")).verdict == UNKNOWN
    assert caller.claim(claim_of("long")).verdict == REPLAY
    assert caller.settle(settle_of(lost, token)).outcome == 0


def test_a_record_that_can_not_be_read_keeps_its_partition(caller, clock):
    caller.completed(claim_of("k"))
    caller.rows("UPDATE onceguard.records SET body = 'x'")
    old, row = home(caller, "k"), caller.stored("k")
    clock.advance(26 * HOUR)
    caller.sweep_through()
    assert old in partitions(caller) and caller.stored("k") == row


def test_a_paused_expiry_drops_nothing(caller, clock):
    caller.completed(claim_of("k"))
    old = home(caller, "k")
    clock.advance(26 * HOUR)
    caller.sweep(paused=True)
    assert old in partitions(caller)
    assert caller.claim(claim_of("k"), paused=True).verdict == REPLAY


def test_somebody_works_on_a_record_of_a_partition_that_is_to_go(database, connect, caller, clock):
    claim = claim_of("k", unknown_retention=HOUR)
    token = caller.leased(claim).token
    old = home(caller, "k")
    clock.advance(25 * HOUR)
    application = Desk(connect(database, autocommit=False))
    application.rows("SELECT onceguard.complete(%s, 200)", [caller.lease_text(claim, token)])
    watch = Stopwatch()
    caller.sweep_through()  # it can't drop now, and does not hold anybody up for it
    assert old in partitions(caller) and watch.seconds < 10
    assert caller.claim(claim_of("other")).verdict == RUN
    application.on.commit()
    caller.sweep_through()
    assert old not in partitions(caller)
    assert caller.claim(claim_of("k")).verdict == REPLAY


def test_partitions_wait_for_a_long_reader_without_stalling_others(
        database, connect, caller, clock):
    caller.completed(claim_of("k"))
    old = home(caller, "k")
    clock.advance(26 * HOUR)
    reader = Desk(connect(database, autocommit=False))
    reader.rows("SELECT count(*) FROM onceguard.records")
    caller.rows("SET statement_timeout = '5s'")
    caller.sweep_through()
    assert old in partitions(caller)
    assert caller.claim(claim_of("other")).verdict == RUN
    reader.on.rollback()
    caller.sweep_through()
    assert old not in partitions(caller)


def test_who_wrote_before_may_commit_after_a_partition_was_looked_through(database, connect, caller,
                                                                          clock):
    application = Desk(connect(database, autocommit=False))
    application.leased(claim_of("early"))
    caller.completed(claim_of("later"))  # behind it, and to be over
    old = home(caller, "later")
    clock.advance(26 * HOUR)
    caller.sweep_through()
    application.on.commit()
    caller.sweep_through()
    assert old not in partitions(caller)
    assert caller.claim(claim_of("early")).verdict == UNKNOWN


@pytest.mark.parametrize("changed", ["judged_by = judged_by + 1",                   # the clock
                                     "writers_then = '9000000000000000000'::xid8"])  # the server
def test_another_clock_or_server_restarts_the_proof(caller, clock, changed):
    caller.completed(claim_of("k"))
    old = home(caller, "k")
    clock.advance(26 * HOUR)
    caller.sweep()
    # As far as that goes everything is over, and it was told of another time or server.
    caller.rows(f"UPDATE onceguard.sweep_hands SET proven = {clock.now << 20}, {changed} "
              "WHERE part = %s", [old])
    caller.sweep()
    assert old in partitions(caller)
    assert caller.value("SELECT proven FROM onceguard.sweep_hands WHERE part = %s", [old]) == 0
    caller.sweep_through()
    assert old not in partitions(caller)


def test_a_late_complete_of_what_was_released_long_ago_lives_among_the_new(caller, clock):
    claim = claim_of("k")
    token = caller.leased(claim).token
    caller.settle(settle_of(claim, token, RELEASE))
    old = home(caller, "k")
    clock.advance(3 * HOUR)
    caller.sweep()  # there are partitions for this time
    assert caller.settle(settle_of(claim, token)).outcome == INCIDENT
    assert home(caller, "k") != old
    assert caller.claim(claim_of("k")).verdict == REPLAY


def test_what_lives_again_for_who_does_not_trust_the_clock_lives_among_the_new(caller, clock):
    held, lost = claim_of("held", unknown_retention=HOUR), claim_of("lost", unknown_retention=HOUR)
    token = caller.leased(held).token
    caller.leased(lost)
    done = claim_of("done")
    caller.completed(done, retention=HOUR)
    old = home(caller, "held")
    clock.advance(3 * HOUR)
    caller.sweep(paused=True)
    assert caller.settle(settle_of(held, token), paused=True).outcome == 0
    assert caller.claim(claim_of("lost", unknown=2), paused=True).verdict == RUN
    assert old not in (home(caller, "held"), home(caller, "lost"))
    assert caller.claim(claim_of("done"), paused=True).verdict == REPLAY
    assert home(caller, "done") == old  # nothing was written


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_snapshot_that_may_be_stale_is_refused(database, connect, caller, isolation):
    claim = claim_of("k")
    lease = caller.lease_text(claim, caller.leased(claim).token)
    late = Desk(connect(database, autocommit=False))
    late.on.isolation_level = psycopg.IsolationLevel[isolation.replace(" ", "_")]
    calls = [lambda: late.row("SELECT * FROM onceguard.claim('s', 'k')"),
             lambda: late.rows("SELECT onceguard.complete(%s, 200)", [lease]),
             lambda: late.rows("SELECT onceguard.fail(%s)", [lease]),
             lambda: late.rows("SELECT onceguard.release(%s)", [lease]),
             lambda: late.rows("SELECT onceguard.save_progress(%s, 'x')", [lease]),
             lambda: late.claim(claim_of("k")), lambda: late.settle(settle_of(claim, 1))]
    for call in calls:
        error = failure(call)
        assert error.sqlstate == "0A000" and "READ COMMITTED" in str(error)
        late.on.rollback()
    assert caller.find("k").state == 2


def test_many_sessions_across_boundaries_leave_one_record_a_key(database, connect, caller, clock):
    keys = [f"k{i}" for i in range(8)]
    rounds = scaled(40, 8)

    def work(seed):
        own, chance = Desk(connect(database)), random.Random(seed)
        for _ in range(rounds):
            claims = [claim_of(key, unknown=2) for key in chance.sample(keys, 5)]
            told = own.claims(claims)
            held = [(c, t.token) for c, t in zip(claims, told)
                    if t.problem == 0 and t.verdict == RUN]
            if held:
                own.settles([settle_of(c, t, chance.randrange(3), retention=HOUR)
                             for c, t in held])
            if chance.random() < 0.2:
                own.rows("UPDATE public.test_clock SET now = now + %s", [HOUR // 2])

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, seed) for seed in range(6)]:
            done.result()
    twice = caller.rows("SELECT digest FROM onceguard.records GROUP BY digest HAVING count(*) > 1")
    assert twice == [] and caller.value("SELECT count(*) FROM onceguard.records") == len(keys)


def test_a_claim_in_an_open_transaction_locks_its_key_in_every_partition(database, connect, caller,
                                                                         clock):
    application = Desk(connect(database, autocommit=False))
    application.claim(claim_of("k"))
    clock.advance(2 * HOUR)
    assert caller.claim(claim_of("k")).problem == LOCKED
    application.on.rollback()
    assert caller.claim(claim_of("k")).verdict == RUN
