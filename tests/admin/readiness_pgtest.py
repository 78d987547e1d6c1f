"""Readiness follows the store."""

import pytest

from support.admin import run_health
from support.tcp_gate import TcpGate
from support.waiting import wait_until


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
