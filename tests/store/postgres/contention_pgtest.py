"""Many at once: one run per key, and no deadlock."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from store.postgres.acts import DAY, LEASE, Desk, failure
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
        return caller.claim("k").verdict

    with ThreadPoolExecutor(SESSIONS) as pool:
        verdicts = list(pool.map(claim, callers))
    assert sorted(verdicts) == ["busy"] * (SESSIONS - 1) + ["run"]
    assert len(callers[0].stored("k")) == 1


def test_64_applications_wait_for_one_another_and_one_runs(database, connect, caller):
    caller.rows("CREATE TABLE effects (key text)")
    ready = threading.Barrier(SESSIONS)

    def work(connection):
        ready.wait()
        with connection.transaction():
            own = Desk(connection)
            reply = own.row("SELECT * FROM onceguard.claim('s', 'k', wait => true)")
            if reply.verdict == "run":
                own.rows("INSERT INTO effects VALUES ('k')")
                own.rows("SELECT onceguard.complete(%s, 201, null, 'made')", [reply.lease])
        return reply.verdict, reply.body

    connections = [connect(database) for _ in range(SESSIONS)]
    with ThreadPoolExecutor(SESSIONS) as pool:
        outcomes = list(pool.map(work, connections))
    assert sorted(outcomes) == sorted([("run", None)] + [("replay", b"made")] * (SESSIONS - 1))
    assert caller.value("SELECT count(*) FROM effects") == 1


def test_a_claim_that_takes_over_is_locked_out_by_who_completes(database, connect, caller, clock):
    lease = caller.leased("k")
    clock.advance(LEASE)
    application = Desk(connect(database, autocommit=False))
    application.settle("complete", lease)
    assert caller.claim("k", unknown="rerun").verdict == "busy"
    assert caller.claim("other").verdict == "run"
    assert caller.sweep() == 0
    application.connection.commit()
    assert caller.claim("k", unknown="rerun").verdict == "replay"


def test_a_superseded_lease_can_not_commit_its_effect(database, connect, caller, clock):
    caller.rows("CREATE TABLE effects (who text)")
    stale = caller.leased("k")
    clock.advance(LEASE)
    held = caller.leased("k", unknown="rerun")
    application = Desk(connect(database, autocommit=False))
    for call in ("complete(%s, 200)", "fail(%s)", "release(%s)", "abandon(%s)",
                 "save_progress(%s, 'paid')"):
        application.rows("INSERT INTO effects VALUES ('the first')")
        assert failure(application.rows, f"SELECT onceguard.{call}", [stale]) == "OG001"
        effect = "INSERT INTO effects VALUES ('in spite of it')"
        assert failure(application.rows, effect) == "25P02"
        application.connection.commit()  # a failed transaction rolls back, whatever its client says
    application.rows("INSERT INTO effects VALUES ('the second')")
    application.settle("complete", held, 200)
    application.connection.commit()
    assert [row.who for row in caller.rows("SELECT who FROM effects")] == ["the second"]
    assert caller.find("k").state == "completed"


def test_two_takeovers_at_once_give_one_lease(database, connect, caller, clock):
    for round_ in range(scaled(10, 3)):
        key = f"k{round_}"
        caller.leased(key)
        clock.advance(LEASE)
        callers = [Desk(connect(database)) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            verdicts = list(pool.map(lambda d, k=key: d.claim(k, unknown="rerun").verdict, callers))
        assert verdicts.count("run") == 1
        assert len(caller.stored(key)) == 1


def test_many_keys_in_any_order_do_not_deadlock(database, connect):
    keys = [f"k{i}" for i in range(32)]
    rounds = scaled(30, 5)
    granted = []

    def work(seed):
        caller, chance = Desk(connect(database)), random.Random(seed)
        for _ in range(rounds):
            with caller.connection.transaction():
                replies = [caller.claim(key, unknown="rerun", lease_length="0")
                           for key in chance.sample(keys, len(keys))]
                mine = [row for row in replies if row.verdict == "run"]
                chance.shuffle(mine)
                for row in mine:
                    caller.settle("save_progress", row.lease, "one", b"", "0")
                for row in mine:
                    kind = chance.choice(("fail", "release", "abandon"))
                    caller.settle(kind, row.lease, *(["0", "0"] if kind == "fail" else []))
            granted.extend(row.token for row in mine)
            caller.sweep()

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, seed) for seed in range(6)]:
            done.result()  # a deadlock would be an error here
    assert len(granted) > len(keys)


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_stale_snapshot_never_runs_a_second_time(caller, connect, isolation):
    late = Desk(connect(caller.connection.info.dbname, autocommit=False))
    claim = "SELECT * FROM onceguard.claim('s', %s, wait => true)"
    early = Desk(connect(caller.connection.info.dbname))

    def begin_before(act):
        """A transaction whose snapshot is older than what `act` commits."""
        late.rows(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        late.rows("SELECT count(*) FROM onceguard.records")
        act()

    def run_and_complete(key):
        reply = early.row(claim, [key])
        early.rows("SELECT onceguard.complete(%s, 200, null, 'first')", [reply.lease])

    begin_before(lambda: run_and_complete("a"))
    assert failure(late.row, claim, ["a"]) == "40001"
    late.connection.rollback()
    assert late.row(claim, ["a"]).body == b"first"
    late.connection.rollback()

    # A lease of its own that is taken over after the snapshot.
    held = early.row("SELECT * FROM onceguard.claim('s', 'b', lease_length => '0')").lease
    taken = "SELECT * FROM onceguard.claim('s', 'b', unknown => 'rerun')"
    begin_before(lambda: early.row(taken))
    assert failure(late.rows, "SELECT onceguard.complete(%s)", [held]) == "40001"
    late.connection.rollback()
    assert failure(late.rows, "SELECT onceguard.complete(%s)", [held]) == "OG001"
    late.connection.rollback()

    # Two takeovers of one lease that ran out.
    early.row("SELECT * FROM onceguard.claim('s', 'c', lease_length => '0')")
    begin_before(lambda: early.row(taken.replace("'b'", "'c'")))
    assert failure(late.row, taken.replace("'b'", "'c'")) == "40001"
    late.connection.rollback()


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_claim_effect_and_complete_commit_together(caller, connect, isolation):
    caller.rows("CREATE TABLE effects (n int)")
    application = Desk(connect(caller.connection.info.dbname, autocommit=False))
    for ending in ("rollback", "commit", "commit"):
        application.rows(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        reply = application.row("SELECT * FROM onceguard.claim('s', 'k')")
        if reply.verdict == "run":
            application.rows("INSERT INTO effects VALUES (1)")
            application.rows("SELECT onceguard.complete(%s, 200)", [reply.lease])
        getattr(application.connection, ending)()
    assert reply.verdict == "replay"
    assert caller.value("SELECT count(*) FROM effects") == 1


def test_serializable_callers_that_race_run_once(caller, connect):
    caller.rows("CREATE TABLE effects (key text)")
    rounds, sessions = scaled(20, 4), 8

    def work(connection):
        own = Desk(connection)
        for n in range(rounds):
            while True:
                try:
                    with connection.transaction():
                        own.rows("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                        reply = own.row("SELECT * FROM onceguard.claim('s', %s, wait => true)",
                                         [str(n)])
                        if reply.verdict == "run":
                            own.rows("INSERT INTO effects VALUES (%s)", [str(n)])
                            own.rows("SELECT onceguard.complete(%s, 200)", [reply.lease])
                    break
                except psycopg.errors.SerializationFailure:
                    continue

    connections = [connect(caller.connection.info.dbname) for _ in range(sessions)]
    with ThreadPoolExecutor(sessions) as pool:
        for done in [pool.submit(work, connection) for connection in connections]:
            done.result()
    counts = caller.rows("SELECT key, count(*) AS n FROM effects GROUP BY key")
    assert len(counts) == rounds and {row.n for row in counts} == {1}


def test_who_waits_gets_the_answer_of_the_one_before(caller, connect):
    first = Desk(connect(caller.connection.info.dbname, autocommit=False))
    second = Desk(connect(caller.connection.info.dbname))
    held = first.row("SELECT * FROM onceguard.claim('s', 'k')")
    reply = caller.row("SELECT * FROM onceguard.claim('s', 'k')")
    assert reply.verdict == "busy" and reply.retry_after.total_seconds() <= 0.1
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second.row, "SELECT * FROM onceguard.claim('s', 'k', wait => true)")
        wait_until(lambda: lock_waiters(caller) == 1, what="the second waiting for the first")
        first.rows("SELECT onceguard.complete(%s, 201, array[['A','1'],['A','2']], 'made')",
                   [held.lease])
        first.connection.commit()
        reply = waiting.result(60)
    assert (reply.verdict, reply.status, reply.body) == ("replay", 201, b"made")
    assert reply.headers == ["A", "1", "A", "2"]


def test_a_sweep_leaves_what_somebody_works_on(database, connect, caller, clock):
    caller.completed("a")
    caller.completed("b")
    clock.advance(2 * DAY)
    busy = Desk(connect(database, autocommit=False))
    busy.rows("SELECT FROM onceguard.records WHERE digest = %s FOR UPDATE", [caller.digest("a")])
    caller.rows("SET statement_timeout = '60s'")
    assert caller.sweep() == 1 and len(caller.stored("a")) == 1
    busy.connection.rollback()
    assert caller.sweep() == 1 and caller.stored("a") == []
