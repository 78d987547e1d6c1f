"""The primary is lost and its streaming replica takes its place."""

import contextlib

import pytest

from support.customers import Customers
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.postgres import Postgres
from support.postgres_standby import Standby
from support.waiting import scaled, wait_until


@pytest.fixture
def pair():
    """A primary with a store on it and its standby, as (primary, standby, database)."""
    with contextlib.ExitStack() as running:
        primary = running.enter_context(contextlib.closing(Postgres()))
        primary.start()
        database = primary.create_store()
        standby = running.enter_context(contextlib.closing(Standby(primary)))
        standby.start()
        yield primary, standby.follows(), database


def either(primary, standby, database):
    """One URL for both; libpq's own words for: whichever takes writes."""
    return (f"postgresql://postgres@127.0.0.1:{primary.port.number},"
            f"127.0.0.1:{standby.port.number}/{database}?target_session_attrs=read-write")


def completed(gateway, key):
    return wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.status == 201), None),
                      timeout=30, what="the outcome")


def test_with_a_synchronous_standby_nothing_that_was_answered_is_lost(
        pair, start_gateway, own_upstream, fresh_key):
    primary, standby, database = pair
    with primary.connect() as at:
        at.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        at.execute("SELECT pg_reload_conf()")
        wait_until(lambda: at.execute("SELECT count(*) FROM pg_stat_replication "
                                      "WHERE sync_state = 'sync'").fetchone()[0] == 1)
    gateway = start_gateway(own_upstream, {
        "store": {"url": either(primary, standby, database), "timeout": "5s"},
        "gateway": {"replay_cache": "0", "settle_wait": "60s"}})
    with Customers(gateway, fresh_key) as clients:
        clients.have_answers(scaled(50, 10))
        primary.crash()
        # Until then nobody is there to take a write. The clients may all wait for what has run.
        assert_problem(gateway.post(key=fresh_key()), 503, "store-unreachable", True,
                       retry_after=True)
        standby.promote()
        clients.have_answers(scaled(50, 10))
    for key in clients.given_up:
        clients.answered[key] = completed(gateway, key)
    for key, answer in clients.answered.items():
        assert_replay_of(gateway.post(key=key), answer)
    for answer in clients.refusals:
        # 409: of the claim before nobody knew yet whether it had arrived; it is given back.
        known = answer.problem == "in-progress"
        assert_problem(answer, *((409, "in-progress") if known else (503, "store-unreachable")),
                       True, retry_after=True)
    assert own_upstream.effects() == {key: 1 for key in clients.answered}


def test_what_an_asynchronous_standby_did_not_have_is_noticed(
        pair, start_gateway, own_upstream, fresh_key, tmp_path):
    primary, standby, database = pair
    gateway = start_gateway(own_upstream, {
        "store": {"url": either(primary, standby, database), "timeout": "5s",
                  "after_loss": "refuse"},
        "gateway": {"replay_cache": "0", "state_dir": str(tmp_path)},
        "defaults": {"lease": "1s", "upstream_timeout": "1s"}})

    def answered():
        """A busy machine may have no time for a key: it counts for nothing then."""
        key = fresh_key()
        answer = gateway.post(key=key)
        return (key, answer) if answer.status == 201 else None
    early, first = wait_until(answered, what="the first answer")
    standby.follows()
    standby.stop()
    # More than the numbers that the sequence of the tokens logs ahead.
    lost = [wait_until(answered, what="an answer")[0] for _ in range(80)]
    witness = tmp_path / "store.witness"
    seen = witness.read_text()
    wait_until(answered, what="one answer more")
    wait_until(lambda: witness.read_text() != seen, what="the gateway seeing the last of them")
    primary.crash()
    standby.start()
    standby.promote()
    gateway.says("store-lost-its-memory")
    assert_replay_of(completed(gateway, early), assert_first(first))
    again = completed(gateway, lost[-1])
    assert not again.replayed
    assert gateway.record(lost[-1])["maybe_repeated"] is True
    assert own_upstream.runs(lost[-1]) == 2
    # Tokens grow also across what was forgotten.
    tokens = [int(dict(map(tuple, r["fields"]))["Onceguard-Token"])
              for r in own_upstream.requests(lost[-1])]
    assert tokens[0] < tokens[1]
    assert own_upstream.runs(early) == 1
