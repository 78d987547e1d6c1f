"""Readiness follows the store."""

import pytest

from support.admin import run_health
from support.postgres import Postgres
from support.tcp_gate import TcpGate
from support.waiting import Stopwatch, wait_until


@pytest.fixture
def gate(postgres_server):
    between = TcpGate(postgres_server.port.number)
    yield between
    between.close()


def test_a_store_that_goes_away_makes_it_unready_and_its_return_ready(
        begin_admin, onceguard, postgres_server, database, gate):
    url = postgres_server.url(database).replace(
        f":{postgres_server.port.number}/", f":{gate.port}/")
    _, admin = begin_admin({"store": {"url": url, "timeout": "500ms"}})
    wait_until(admin.is_ready, what="readiness")
    with gate.holding():
        wait_until(lambda: admin.reasons() == ["store-away"], 20, "the store's absence")
        reason = admin.get("/readyz").json()["reasons"][0]
        assert reason["since"].endswith("Z") and reason["why"]
        assert admin.get("/healthz").status == 200
        done = run_health(onceguard, admin.text)
        assert done.returncode == 1 and "store-away" in done.stdout, done
    wait_until(admin.is_ready, 20, "the store's return")


def test_a_start_without_the_store_goes_on_until_the_store_is_there_and_says_why(begin_admin):
    server = Postgres().start()
    try:
        url = server.url(server.create_store())
        server.stop()
        _, admin = begin_admin({"store": {"url": url, "timeout": "500ms"}}, wait=False)

        def reason():
            try:
                found = admin.get("/readyz").json()["reasons"]
            except OSError:
                return None
            assert [one["reason"] for one in found] == ["starting"]
            return found[0] if "why" in found[0] else None
        seen = wait_until(reason, 20, "the reason")
        assert "refused" in seen["why"] and seen["since"].endswith("Z")
        clock = Stopwatch()
        while clock.seconds < 2.5:  # several polls
            assert admin.reasons() == ["starting"]
        server.start()
        wait_until(admin.is_ready, 20, "readiness")
        server.stop()
        wait_until(lambda: admin.reasons() == ["store-away"], 20, "the store's absence")
    finally:
        server.close()
