"""Many at once: one run per key, nobody waits for another's transaction, and no deadlock."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from store.postgres.acts import (BUSY, COMPLETED, DONE, LEASE, LOCKED, REPLAY, RUN, STALE, Desk,
                                 claim_of, digest_of, extend_of, failure, settle_of)
from support.waiting import scaled, wait_until

SESSIONS = 64


def lock_waiters(caller):
    return caller.value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                      "AND wait_event_type = 'Lock'")


def test_64_sessions_claim_one_key_and_one_runs(database, connect):
    callers = [Desk(connect(database)) for _ in range(SESSIONS)]
    ready = threading.Barrier(SESSIONS)

    def claim(caller):
        ready.wait()
        return caller.claim(claim_of("k"))

    with ThreadPoolExecutor(SESSIONS) as pool:
        told = list(pool.map(claim, callers))
    runs = [t for t in told if (t.problem, t.verdict) == (0, RUN)]
    others = [t for t in told if t.problem == LOCKED or t.verdict == BUSY]
    assert (len(runs), len(others)) == (1, SESSIONS - 1)
    assert len(callers[0].stored("k")) == 1


def test_64_applications_wait_for_one_another_and_one_runs(database, connect, caller):
    caller.rows("CREATE TABLE effects (key text)")
    ready = threading.Barrier(SESSIONS)

    def work(connection):
        ready.wait()
        with connection.transaction():
            own = Desk(connection)
            told = own.row("SELECT * FROM onceguard.claim('s', 'k', wait => true)")
            if told.verdict == "run":
                own.rows("INSERT INTO effects VALUES ('k')")
                own.rows("SELECT onceguard.complete(%s, 201, null, 'made')", [told.lease])
        return told.verdict, told.body

    connections = [connect(database) for _ in range(SESSIONS)]
    with ThreadPoolExecutor(SESSIONS) as pool:
        told = list(pool.map(work, connections))
    assert sorted(told) == sorted([("run", None)] + [("replay", b"made")] * (SESSIONS - 1))
    assert caller.value("SELECT count(*) FROM effects") == 1


def test_a_long_transaction_that_completed_a_key_stalls_no_batch(database, connect, caller):
    held, other = claim_of("held"), claim_of("other")
    tokens = [row.token for row in caller.claims([held, other])]
    application = Desk(connect(database, autocommit=False))
    application.rows("SELECT onceguard.complete(%s, 200)", [caller.lease_text(held, tokens[0])])

    caller.rows("SET statement_timeout = '5s'")
    told = caller.claims([claim_of("held"), claim_of("new")])
    assert (told[0].verdict, told[1].verdict) == (BUSY, RUN)
    settled = caller.settles([settle_of(held, tokens[0]), settle_of(other, tokens[1])])
    assert (settled[0].problem, settled[1].outcome) == (LOCKED, DONE)
    assert caller.extend(extend_of(held, tokens[0])).problem == LOCKED
    assert caller.sweep() == 0
    application.on.commit()
    assert caller.settle(settle_of(held, tokens[0])).outcome == DONE
    assert caller.claim(claim_of("held")).status == 200


def test_a_claim_that_takes_over_is_locked_out_by_the_application(database, connect, caller, clock):
    first = claim_of("k")
    token = caller.leased(first).token
    clock.advance(LEASE)
    application = Desk(connect(database, autocommit=False))
    application.rows("SELECT onceguard.complete(%s)", [caller.lease_text(first, token)])
    assert caller.claim(claim_of("k", unknown=2)).problem == LOCKED
    application.on.commit()
    assert caller.claim(claim_of("k", unknown=2)).verdict == REPLAY


def test_a_superseded_lease_can_not_commit_its_effect(database, connect, caller, clock):
    caller.rows("CREATE TABLE effects (who text)")
    first, second = claim_of("k"), claim_of("k", unknown=2)
    stale = caller.lease_text(first, caller.leased(first).token)
    clock.advance(LEASE)
    held = caller.lease_text(second, caller.leased(second).token)
    application = Desk(connect(database, autocommit=False))
    for call in ("complete(%s, 200)", "fail(%s)", "release(%s)", "save_progress(%s, 'paid')"):
        application.rows("INSERT INTO effects VALUES ('the first')")
        error = failure(application.rows, f"SELECT onceguard.{call}", [stale])
        assert error.sqlstate == "OG001"
        error = failure(application.rows, "INSERT INTO effects VALUES ('in spite of it')")
        assert error.sqlstate == "25P02"
        application.on.commit()  # a failed transaction rolls back, whatever its client says
    application.rows("INSERT INTO effects VALUES ('the second')")
    application.rows("SELECT onceguard.complete(%s, 200)", [held])
    application.on.commit()
    assert [row.who for row in caller.rows("SELECT who FROM effects")] == ["the second"]
    assert caller.find("k").observed == COMPLETED
    assert caller.settle(settle_of(first, 1)).outcome == STALE


def test_two_takeovers_at_once_give_one_lease(database, connect, caller, clock):
    for round_ in range(scaled(10, 3)):
        key = f"k{round_}"
        caller.leased(claim_of(key))
        clock.advance(LEASE)
        callers = [Desk(connect(database)) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(lambda d: d.claim(claim_of(key, unknown=2)), callers))
        assert sum((t.problem, t.verdict) == (0, RUN) for t in told) == 1
        assert len(caller.stored(key)) == 1


def test_batches_with_the_same_keys_in_any_order_do_not_deadlock(database, connect):
    keys = [f"k{i}" for i in range(32)]
    rounds = scaled(30, 5)
    granted = []

    def work(seed):
        caller, chance = Desk(connect(database)), random.Random(seed)
        for _ in range(rounds):
            claims = [claim_of(key, unknown=2) for key in chance.sample(keys, len(keys))]
            with caller.on.transaction():
                told = caller.claims(claims)
                mine = [(c, t.token) for c, t in zip(claims, told) if t.verdict == RUN]
                chance.shuffle(mine)
                if mine:
                    caller.extends([extend_of(c, token) for c, token in mine])
                    kinds = [chance.randrange(4) for _ in mine]
                    caller.settles([settle_of(c, t, k) for (c, t), k in zip(mine, kinds)])
            granted.extend(token for _, token in mine)
            caller.sweep()

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, seed) for seed in range(6)]:
            done.result()  # a deadlock would be an error here
    assert len(granted) == len(set(granted)) > 0


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_stale_snapshot_never_runs_a_second_time(server, plain, connect, isolation):
    late = Desk(connect(plain.on.info.dbname, autocommit=False))
    claim = "SELECT * FROM onceguard.claim('s', %s, wait => true)"
    early = Desk(connect(plain.on.info.dbname))

    def begin_before(act):
        """A transaction whose snapshot is older than what `act` commits."""
        late.rows(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        late.rows("SELECT count(*) FROM onceguard.records")
        act()

    def run_and_complete(key):
        told = early.row(claim, [key])
        early.rows("SELECT onceguard.complete(%s, 200, null, 'first')", [told.lease])

    begin_before(lambda: run_and_complete("a"))
    assert failure(late.row, claim, ["a"]).sqlstate == "40001"
    late.on.rollback()
    assert late.row(claim, ["a"]).body == b"first"
    late.on.rollback()

    # A lease of its own that is taken over after the snapshot.
    held = early.row("SELECT * FROM onceguard.claim('s', 'b', lease_length => '0')").lease
    taken = "SELECT * FROM onceguard.claim('s', 'b', unknown => 'rerun')"
    begin_before(lambda: early.row(taken))
    assert failure(late.rows, "SELECT onceguard.complete(%s)", [held]).sqlstate == "40001"
    late.on.rollback()
    assert failure(late.rows, "SELECT onceguard.complete(%s)", [held]).sqlstate == "OG001"
    late.on.rollback()

    # Two takeovers of one lease that ran out.
    early.row("SELECT * FROM onceguard.claim('s', 'c', lease_length => '0')")
    begin_before(lambda: early.row(taken.replace("'b'", "'c'")))
    assert failure(late.row, taken.replace("'b'", "'c'")).sqlstate == "40001"
    late.on.rollback()


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_claim_effect_and_complete_commit_together(plain, connect, isolation):
    plain.rows("CREATE TABLE effects (n int)")
    application = Desk(connect(plain.on.info.dbname, autocommit=False))
    for ending in ("rollback", "commit", "commit"):
        application.rows(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        told = application.row("SELECT * FROM onceguard.claim('s', 'k')")
        if told.verdict == "run":
            application.rows("INSERT INTO effects VALUES (1)")
            application.rows("SELECT onceguard.complete(%s, 200)", [told.lease])
        getattr(application.on, ending)()
    assert told.verdict == "replay"
    assert plain.value("SELECT count(*) FROM effects") == 1


def test_serializable_callers_that_race_run_once(plain, connect):
    plain.rows("CREATE TABLE effects (key text)")
    rounds, sessions = scaled(20, 4), 8

    def work(connection):
        caller = Desk(connection)
        for n in range(rounds):
            while True:
                try:
                    with connection.transaction():
                        caller.rows("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                        told = caller.row("SELECT * FROM onceguard.claim('s', %s, wait => true)",
                                        [str(n)])
                        if told.verdict == "run":
                            caller.rows("INSERT INTO effects VALUES (%s)", [str(n)])
                            caller.rows("SELECT onceguard.complete(%s, 200)", [told.lease])
                    break
                except psycopg.errors.SerializationFailure:
                    continue

    connections = [connect(plain.on.info.dbname) for _ in range(sessions)]
    with ThreadPoolExecutor(sessions) as pool:
        for done in [pool.submit(work, connection) for connection in connections]:
            done.result()
    counts = plain.rows("SELECT key, count(*) AS n FROM effects GROUP BY key")
    assert len(counts) == rounds and {row.n for row in counts} == {1}


def test_who_waits_gets_the_answer_of_the_one_before(plain, connect):
    first = Desk(connect(plain.on.info.dbname, autocommit=False))
    second = Desk(connect(plain.on.info.dbname))
    held = first.row("SELECT * FROM onceguard.claim('s', 'k')")
    told = plain.row("SELECT * FROM onceguard.claim('s', 'k')")
    assert told.verdict == "busy" and told.retry_after.total_seconds() <= 0.1
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second.row, "SELECT * FROM onceguard.claim('s', 'k', wait => true)")
        wait_until(lambda: lock_waiters(plain) == 1, what="the second waiting for the first")
        first.rows("SELECT onceguard.complete(%s, 201, array[['A','1'],['A','2']], 'made')",
                   [held.lease])
        first.on.commit()
        told = waiting.result(10)
    assert (told.verdict, told.status, told.body) == ("replay", 201, b"made")
    assert told.headers == ["A", "1", "A", "2"]


def test_a_sweep_leaves_what_somebody_works_on(database, connect, caller, clock):
    caller.completed(claim_of("a"))
    caller.completed(claim_of("b"))
    clock.advance(2 * 86_400_000)
    busy = Desk(connect(database, autocommit=False))
    busy.rows("SELECT pg_advisory_xact_lock(onceguard.lock_of(%s))", [digest_of("a")])
    caller.rows("SET statement_timeout = '5s'")
    caller.sweep()
    busy.on.rollback()
    caller.sweep()
    assert caller.stored("a") == []
