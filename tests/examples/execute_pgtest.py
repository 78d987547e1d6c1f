"""The programs of examples/execute: built with the project, and run as their comments say."""

import os
import pathlib
import sqlite3
import subprocess

import psycopg
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def run():
    """Runs one of them; what it says, and how it ends."""
    onceguard = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")

    def go(program, *words):
        done = subprocess.run([onceguard.parent / "examples/execute" / program, *words],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.strip() or done.stderr.strip()
    return go


def test_a_customer_is_charged_once(run, postgres_server):
    database = postgres_server.create_store()
    with psycopg.connect(postgres_server.conninfo(database)) as shop:
        shop.execute("CREATE TABLE charges (id integer GENERATED ALWAYS AS IDENTITY, "
                     "customer text, cents integer CHECK (cents > 0))")
    url = postgres_server.url(database)
    assert run("charge", url, "order-17", "ada", "4200") == (0, '201 {"id":1}')
    assert run("charge", url, "order-17", "ada", "4200") == (0, '201 {"id":1} (replayed)')
    assert run("charge", url, "order-17", "ada", "1") == \
        (1, "422 this key was used for something else")
    assert run("charge", url, "order-17", "bob", "4200") == (0, '201 {"id":2}')
    with psycopg.connect(postgres_server.conninfo(database)) as shop:
        assert shop.execute("SELECT count(*) FROM charges").fetchone() == (2,)


def test_a_ride_goes_on_at_its_last_step(run, tmp_path):
    shop, cards = tmp_path / "shop.db", tmp_path / "cards.txt"
    nobody = tmp_path / "no such folder" / "cards.txt"
    ride = ("ride", shop, "ride-17", "ada", "4200")
    assert run(*ride, nobody) == (1, "no provider there")
    with sqlite3.connect(shop) as at:
        assert at.execute("SELECT id, paid FROM rides").fetchall() == [(1, None)]
    assert run(*ride, cards) == (0, "ride 1 is booked and paid")
    assert run(*ride, cards) == (0, "ride 1 is booked and paid (replayed)")
    with sqlite3.connect(shop) as at:
        assert at.execute("SELECT id, paid FROM rides").fetchall() == [(1, "4200")]
    assert len(cards.read_text().splitlines()) == 1
