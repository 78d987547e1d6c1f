"""What the PostgreSQL store promises of tokens, of NOTIFY, and of its own table."""

import contextlib
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.expecting import assert_first, assert_replay_of
from support.postgres import Postgres
from support.waiting import scaled, wait_until

HOUR = 3_600_000


@pytest.fixture
def start(postgres_server, database, start_gateway, own_upstream):
    def begin(server=postgres_server, **tables):
        store = {"url": server.url(database), "timeout": "5s", **tables.pop("store", {})}
        return start_gateway(own_upstream, {
            "gateway": {"replay_cache": "0"}, "store": store, **tables})
    return begin


def tokens_of(upstream, key):
    return [int(request["token"]) for request in upstream.requests(key)]


# ---- tokens ---------------------------------------------------------------------------------
def test_a_clock_that_is_set_back_gives_no_token_twice(start, admin, own_upstream, fresh_key):
    """Also of a key whose record is gone by then, and in another gateway."""
    clock = ("CREATE OR REPLACE FUNCTION onceguard.now_ms() RETURNS bigint LANGUAGE sql VOLATILE "
             "AS $$ SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint + {} $$")
    admin.execute(clock.format(0))
    gateways = [start(defaults={"outcome": {"503": "release"}}) for _ in range(2)]
    keys = [fresh_key() for _ in range(6)]
    refused = {"status": 503}
    for shift in (3 * HOUR, 0, -3 * HOUR, -30 * 24 * HOUR):
        admin.execute(clock.format(shift))
        if shift > 0:
            admin.execute("SELECT * FROM onceguard.vitals('', 0, '{}', '{}')")
        for gateway in gateways:
            for key in keys:
                assert gateway.post(key=key, plan=refused).status == 503
        if shift > 0:  # what was released an hour ago is removed
            admin.execute(clock.format(shift + 2 * HOUR))
            admin.execute("SELECT onceguard.sweep(1000, false)")
            assert admin.execute("SELECT count(*) FROM onceguard.records").fetchone() == (0,)
    for key in keys:
        mine = tokens_of(own_upstream, key)
        assert len(mine) == 8 and mine == sorted(set(mine))


def copy_of(server, target):
    """A snapshot of the disk of a server that stands still."""
    subprocess.run(["cp", "-a", str(server.cluster), str(target)], check=True)


@pytest.mark.parametrize("gateway_goes_on", [True, False], ids=["running", "started anew"])
def test_a_snapshot_that_is_put_back_gives_no_token_twice(start, start_gateway, own_upstream,
                                                          fresh_key, gateway_goes_on):
    with contextlib.closing(Postgres()) as server:
        database = server.start().create_store()
        config = {"gateway": {"replay_cache": "0"}, "defaults": {"outcome": {"503": "release"}},
                  "store": {"url": server.url(database), "timeout": "5s", "after_loss": "flag"}}
        gateway = start_gateway(own_upstream, config)
        keys = [fresh_key() for _ in range(scaled(20, 5))]

        def attempt_all():
            for key in keys:
                wait_until(lambda k=key: gateway.post(key=k, plan={"status": 503}).problem is None,
                           30, "an attempt")

        attempt_all()
        server.stop()
        copy_of(server, server.folder / "snapshot")
        server.start()
        attempt_all()
        if not gateway_goes_on:
            gateway.stop()
        server.stop()
        shutil.rmtree(server.cluster)
        (server.folder / "snapshot").rename(server.cluster)
        server.start()
        if not gateway_goes_on:
            gateway.start()
        attempt_all()
        for key in keys:
            mine = tokens_of(own_upstream, key)
            assert len(mine) >= 3 and mine == sorted(set(mine))


# ---- NOTIFY ---------------------------------------------------------------------------------
def test_settles_are_announced_only_while_somebody_listens(start, postgres_server, database, admin,
                                                           own_upstream, fresh_key):
    waits = {"on_busy": "wait", "wait": "30s"}
    first = start(defaults=waits)
    listeners = "SELECT count(*) FROM onceguard.listeners WHERE until > onceguard.now_ms()"
    wait_until(lambda: admin.execute(listeners).fetchone() == (1,), what="the gateway's own word")
    admin.execute("UPDATE onceguard.listeners SET until = 0")  # as when its time is over
    with postgres_server.connect(database) as listener:
        listener.execute("LISTEN onceguard_settled")
        for key in [fresh_key() for _ in range(20)]:
            assert_first(first.post(key=key))
        second, waited = start(defaults=waits), fresh_key()
        wait_until(lambda: admin.execute(listeners).fetchone() == (1,), what="who listens")
        with first.begin_post(key=waited, plan={"gate": waited}) as running:
            own_upstream.arrived(1, waited)
            with second.begin_post(key=waited) as waiting:
                own_upstream.open(waited)
                assert_replay_of(waiting.read(), assert_first(running.read()))
        announced = next(listener.notifies()).payload
        digest = admin.execute("SELECT record FROM onceguard.keys WHERE key = %s",
                               [waited]).fetchone()[0]
        # Had an earlier settle been announced, it would have come before.
        assert announced == digest[:16]


# ---- the table ------------------------------------------------------------------------------
def test_a_settle_leaves_the_index_alone(start, admin, fresh_key):
    """PostgreSQL calls it HOT: the new row stands in the page of the old one."""
    gateway = start()
    keys = [fresh_key() for _ in range(scaled(3000, 500))]
    with ThreadPoolExecutor(16) as pool:
        assert all(a.status == 201 for a in pool.map(lambda k: gateway.post(key=k), keys))
    gateway.stop()  # each session reports its counts at its end at the latest

    def counted():
        row = admin.execute("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables "
                            "WHERE relname = 'records'").fetchone()
        return row if row[0] >= len(keys) else None

    updates, hot = wait_until(counted, 20, "the counts of the updates")
    assert hot / updates >= 0.99, (updates, hot)
