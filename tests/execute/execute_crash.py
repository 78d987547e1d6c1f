"""Exactly once: the program that executes, and the server, killed at every step and moment."""

import collections
import contextlib
import random
import sqlite3
import subprocess

import psycopg
import pytest

from support.postgres import Postgres
from support.tills import POINTS, Till, charges_of
from support.waiting import scaled, wait_until

MODES = list(POINTS)


class Ledger:
    """The business table of a database, and the URL by which tills reach it."""

    def __init__(self, url, connect):
        self.url = url
        self.connect = connect
        self.expected = {}
        with contextlib.closing(connect()) as at:
            at.execute("CREATE TABLE charges (who TEXT)")
            at.commit()

    def charged(self, mode, key):
        """From now on this key is to have been charged once."""
        self.expected.update(charges_of(mode, key))

    def charges(self):
        with contextlib.closing(self.connect()) as at:
            return collections.Counter(row[0] for row in at.execute("SELECT who FROM charges"))

    def check(self):
        assert self.charges() == self.expected


@pytest.fixture(params=["postgresql", "sqlite"])
def ledger(request, tmp_path):
    if request.param == "sqlite":
        path = tmp_path / "shop.db"
        with contextlib.closing(sqlite3.connect(path)) as at:
            at.execute("PRAGMA journal_mode = WAL")
        return Ledger(f"sqlite:{path}", lambda: sqlite3.connect(path, timeout=20))
    server = request.getfixturevalue("postgres_server")
    database = server.create_store()
    return Ledger(server.url(database), lambda: psycopg.connect(server.conninfo(database)))


@pytest.fixture
def tills():
    """Opens tills of one test: tills(url, mode, …)."""
    made = []

    def open_one(*how):
        made.append(Till(*how))
        return made[-1]

    yield open_one
    for till in made:
        till.close()


STOPS = [(mode, point) for mode in MODES for point in POINTS[mode]]


def test_killed_at_each_step_and_each_key_is_charged_once(ledger, tills):
    """4 kills at each of 12 steps of each database, half of them of serializable transactions."""
    healthy = {mode: tills(ledger.url, mode) for mode in MODES}
    for number in range(scaled(4, least=2)):
        options = ["--serializable"] if number % 2 else []
        for mode, point in STOPS:
            key = f"{mode} {point} {number}"
            till = tills(ledger.url, mode, "--stop-at", point, *options)
            till.send(key)
            assert till.read() == f"at {point}"
            before = ledger.charges()
            till.kill()
            if point in ("before claim", "after claim", "inside the effect", "before commit"):
                assert not [who for who in before if who.startswith(key)], "seen too early"
            kind, _ = healthy[mode].charge(key)
            assert kind == ("replay" if point == "after commit" else "run"), point
            assert healthy[mode].charge(key)[0] == "replay"
            ledger.charged(mode, key)
    ledger.check()


@pytest.mark.parametrize("mode", MODES)
def test_killed_at_random_moments_while_others_charge_the_same(ledger, tills, mode):
    """Two tills go through the same keys; both are killed again and again. 40 kills a database
    and mode."""
    rng = random.Random(f"{ledger.url[:6]} {mode}")
    keys = [f"key-{n}" for n in range(scaled(300, least=100))]
    answers = {}

    def note(lines):
        for line in lines:
            key, kind, body = line.split(" ", 2)
            assert answers.setdefault(key, body) == body, "two answers"
            assert kind in ("run", "replay")

    for _ in range(scaled(20, least=4)):
        pair = [tills(ledger.url, mode) for _ in range(2)]
        for till in pair:
            till.send(*rng.sample(keys, 100))
        for till in pair:
            with contextlib.suppress(subprocess.TimeoutExpired):
                till.process.wait(rng.uniform(0.005, 0.12))
        for till in pair:
            note(till.kill())
    last = tills(ledger.url, mode)
    last.send(*keys)
    note(last.finish())
    assert set(answers) == set(keys)
    for key in keys:
        ledger.charged(mode, key)
    ledger.check()


@pytest.fixture
def own_server():
    running = Postgres()
    try:
        yield running.start()
    finally:
        running.close()


def test_the_server_stopped_at_once_again_and_again(own_server, tills):
    """20 stops as by `pg_ctl stop -m immediate`, between them a till is killed too."""
    database = own_server.create_store()
    ledger = Ledger(own_server.url(database),
                    lambda: psycopg.connect(own_server.conninfo(database)))
    rng = random.Random(4)
    running = {mode: tills(ledger.url, mode) for mode in MODES}
    sent = {mode: [] for mode in MODES}
    for number in range(scaled(20, least=4)):
        for mode in MODES:
            keys = [f"{mode}-{number}-{n}" for n in range(40)]
            sent[mode] += keys
            running[mode].send(*keys)
        # In the middle of them: when so many more are charged.
        goal = sum(ledger.charges().values()) + rng.randrange(60)
        wait_until(lambda g=goal: sum(ledger.charges().values()) >= g, 30, "charges")
        own_server.crash()
        if number % 2:
            mode = rng.choice(MODES)
            running[mode].kill()
            running[mode] = tills(ledger.url, mode)
        own_server.start()
    for mode in MODES:
        running[mode].kill()
        last = tills(ledger.url, mode)
        last.send(*sent[mode])
        assert len(last.finish()) == len(sent[mode])
        for key in sent[mode]:
            ledger.charged(mode, key)
    ledger.check()
