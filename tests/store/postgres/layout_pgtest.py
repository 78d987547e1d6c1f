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
def desk(database, connect):
    return Desk(connect(database))


def partitions(desk):
    return {row.name for row in desk.rows(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits "
        "WHERE inhparent = 'onceguard.records'::regclass")}


def home(desk, key):
    """The partition that a key's one record is in."""
    return desk.value("SELECT tableoid::regclass::text FROM onceguard.records WHERE digest = %s",
                      [digest_of(key)])


def next_partition(desk, clock):
    clock.advance(HOUR)
    desk.sweep()


def test_partitions_are_made_ahead_and_again_as_time_passes(desk, clock):
    first = partitions(desk)
    assert len(first) >= 4 and "onceguard.records_rest" in first
    for _ in range(5):
        next_partition(desk, clock)
        desk.leased(claim_of(f"k{clock.now}"))
        assert home(desk, f"k{clock.now}") != "onceguard.records_rest"
    assert not partitions(desk) <= first


def test_a_key_is_one_key_on_both_sides_of_a_boundary(desk, clock):
    done, running, lost = claim_of("done"), claim_of("running", lease=2 * HOUR), claim_of("lost")
    desk.completed(done)
    desk.leased(running)
    desk.leased(lost)
    before = home(desk, "done")
    next_partition(desk, clock)
    desk.leased(claim_of("new"))
    assert home(desk, "new") != before == home(desk, "done")
    told = desk.claims([claim_of("done"), claim_of("running"), claim_of("lost"), running])
    assert [row.verdict for row in told] == [REPLAY, BUSY, UNKNOWN, RUN]
    assert desk.value("SELECT count(*) FROM onceguard.records") == 4


def test_the_settle_finds_its_record_in_an_old_partition(desk, clock):
    claim = claim_of("k")
    token = desk.leased(claim).token
    before = home(desk, "k")
    next_partition(desk, clock)
    desk.settle(settle_of(claim, token))
    assert home(desk, "k") == before
    assert desk.claim(claim_of("k")).verdict == REPLAY


@pytest.mark.parametrize("first", [True, False], ids=["made with the schema", "made later"])
def test_truncating_one_partition_makes_another_memory(desk, clock, first):
    if not first:
        for _ in range(6):
            next_partition(desk, clock)
    desk.completed(claim_of("k"))
    desk.rows("DELETE FROM onceguard.records WHERE digest <> %s", [digest_of("k")])
    before = desk.row("SELECT identity, epoch FROM onceguard.meta")
    desk.rows("SET session_replication_role = replica")  # as some tools do while they load data
    desk.rows(f"TRUNCATE {home(desk, 'k')}")
    after = desk.row("SELECT identity, epoch FROM onceguard.meta")
    assert before.identity != after.identity and before.epoch != after.epoch
    expected = [before.identity, 0]
    assert failure(desk.rows, "SELECT * FROM onceguard.claim_batch('{}', false, %s, %s)",
                   expected).sqlstate == "OG003"


def test_what_no_partition_was_made_for_is_kept_and_swept_too(desk, clock):
    clock.advance(30 * DAY)  # nobody swept: no partition is there for this time
    desk.completed(claim_of("k"))
    assert home(desk, "k") == "onceguard.records_rest"
    desk.sweep()
    assert desk.claim(claim_of("k")).verdict == REPLAY
    clock.advance(DAY)
    assert desk.sweep() == 1 and desk.stored("k") == []


def test_an_expired_partition_is_dropped_whole(desk, clock):
    desk.claims([claim_of(f"k{i}") for i in range(50)])
    claims = [claim_of(f"d{i}") for i in range(50)]
    desk.settles([settle_of(c, t.token) for c, t in zip(claims, desk.claims(claims))])
    desk.rows("DELETE FROM onceguard.records WHERE state = 2")
    old = home(desk, "d0")
    next_partition(desk, clock)
    assert old in partitions(desk)
    clock.advance(DAY - HOUR)
    assert desk.claim(claim_of("d0", b"other")).verdict == RUN  # expired, swept or not
    clock.advance(HOUR)
    assert desk.sweep_through() >= 49
    assert old not in partitions(desk)
    assert desk.value("SELECT count(*) FROM onceguard.records") == 1


def test_what_is_live_moves_before_its_partition_goes(desk, clock):
    claims = [claim_of(f"d{i}") for i in range(20)]
    desk.settles([settle_of(c, t.token) for c, t in zip(claims, desk.claims(claims))])
    desk.completed(claim_of("long"), retention=30 * DAY)
    lost = claim_of("lost")
    token = desk.leased(lost).token
    old = home(desk, "lost")
    clock.advance(25 * HOUR)
    desk.sweep_through()
    assert old not in partitions(desk)
    assert desk.value("SELECT count(*) FROM onceguard.records") == 2
    assert desk.claim(claim_of("lost")).verdict == UNKNOWN
    assert desk.claim(claim_of("long")).verdict == REPLAY
    assert desk.settle(settle_of(lost, token)).outcome == 0


def test_a_record_that_can_not_be_read_keeps_its_partition(desk, clock):
    desk.completed(claim_of("k"))
    desk.rows("UPDATE onceguard.records SET body = 'x'")
    old, row = home(desk, "k"), desk.stored("k")
    clock.advance(26 * HOUR)
    desk.sweep_through()
    assert old in partitions(desk) and desk.stored("k") == row


def test_a_paused_expiry_drops_nothing(desk, clock):
    desk.completed(claim_of("k"))
    old = home(desk, "k")
    clock.advance(26 * HOUR)
    desk.sweep(paused=True)
    assert old in partitions(desk)
    assert desk.claim(claim_of("k"), paused=True).verdict == REPLAY


def test_somebody_works_on_a_record_of_a_partition_that_is_to_go(database, connect, desk, clock):
    claim = claim_of("k", unknown_retention=HOUR)
    token = desk.leased(claim).token
    old = home(desk, "k")
    clock.advance(25 * HOUR)
    application = Desk(connect(database, autocommit=False))
    application.rows("SELECT onceguard.complete(%s, 200)", [desk.lease_text(claim, token)])
    watch = Stopwatch()
    desk.sweep_through()  # it can't drop now, and does not hold anybody up for it
    assert old in partitions(desk) and watch.seconds < 10
    assert desk.claim(claim_of("other")).verdict == RUN
    application.on.commit()
    desk.sweep_through()
    assert old not in partitions(desk)
    assert desk.claim(claim_of("k")).verdict == REPLAY


def test_partitions_wait_for_a_long_reader_without_stalling_others(database, connect, desk, clock):
    desk.completed(claim_of("k"))
    old = home(desk, "k")
    clock.advance(26 * HOUR)
    reader = Desk(connect(database, autocommit=False))
    reader.rows("SELECT count(*) FROM onceguard.records")
    desk.rows("SET statement_timeout = '5s'")
    desk.sweep_through()
    assert old in partitions(desk)
    assert desk.claim(claim_of("other")).verdict == RUN
    reader.on.rollback()
    desk.sweep_through()
    assert old not in partitions(desk)


def test_who_wrote_before_may_commit_after_a_partition_was_looked_through(database, connect, desk,
                                                                          clock):
    application = Desk(connect(database, autocommit=False))
    application.leased(claim_of("early"))
    desk.completed(claim_of("later"))  # behind it, and to be over
    old = home(desk, "later")
    clock.advance(26 * HOUR)
    desk.sweep_through()
    application.on.commit()
    desk.sweep_through()
    assert old not in partitions(desk)
    assert desk.claim(claim_of("early")).verdict == UNKNOWN


@pytest.mark.parametrize("changed", ["judged_by = judged_by + 1",                   # the clock
                                     "writers_then = '9000000000000000000'::xid8"])  # the server
def test_another_clock_or_server_restarts_the_proof(desk, clock, changed):
    desk.completed(claim_of("k"))
    old = home(desk, "k")
    clock.advance(26 * HOUR)
    desk.sweep()
    # As far as that goes everything is over, and it was told of another time or server.
    desk.rows(f"UPDATE onceguard.sweep_hands SET proven = {clock.now << 20}, {changed} "
              "WHERE part = %s", [old])
    desk.sweep()
    assert old in partitions(desk)
    assert desk.value("SELECT proven FROM onceguard.sweep_hands WHERE part = %s", [old]) == 0
    desk.sweep_through()
    assert old not in partitions(desk)


def test_a_late_complete_of_what_was_released_long_ago_lives_among_the_new(desk, clock):
    claim = claim_of("k")
    token = desk.leased(claim).token
    desk.settle(settle_of(claim, token, RELEASE))
    old = home(desk, "k")
    clock.advance(3 * HOUR)
    desk.sweep()  # there are partitions for this time
    assert desk.settle(settle_of(claim, token)).outcome == INCIDENT
    assert home(desk, "k") != old
    assert desk.claim(claim_of("k")).verdict == REPLAY


def test_what_lives_again_for_who_does_not_trust_the_clock_lives_among_the_new(desk, clock):
    held, lost = claim_of("held", unknown_retention=HOUR), claim_of("lost", unknown_retention=HOUR)
    token = desk.leased(held).token
    desk.leased(lost)
    done = claim_of("done")
    desk.completed(done, retention=HOUR)
    old = home(desk, "held")
    clock.advance(3 * HOUR)
    desk.sweep(paused=True)
    assert desk.settle(settle_of(held, token), paused=True).outcome == 0
    assert desk.claim(claim_of("lost", unknown=2), paused=True).verdict == RUN
    assert old not in (home(desk, "held"), home(desk, "lost"))
    assert desk.claim(claim_of("done"), paused=True).verdict == REPLAY
    assert home(desk, "done") == old  # nothing was written


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_snapshot_that_may_be_stale_is_refused(database, connect, desk, isolation):
    claim = claim_of("k")
    lease = desk.lease_text(claim, desk.leased(claim).token)
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
    assert desk.find("k").state == 2


def test_many_sessions_across_boundaries_leave_one_record_a_key(database, connect, desk, clock):
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
    twice = desk.rows("SELECT digest FROM onceguard.records GROUP BY digest HAVING count(*) > 1")
    assert twice == [] and desk.value("SELECT count(*) FROM onceguard.records") == len(keys)


def test_a_claim_in_an_open_transaction_locks_its_key_in_every_partition(database, connect, desk,
                                                                         clock):
    application = Desk(connect(database, autocommit=False))
    application.claim(claim_of("k"))
    clock.advance(2 * HOUR)
    assert desk.claim(claim_of("k")).problem == LOCKED
    application.on.rollback()
    assert desk.claim(claim_of("k")).verdict == RUN
