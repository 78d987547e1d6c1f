"""A store that answers what is read and refuses what is written: nothing can be claimed, and
everything that tells of the store says so."""

import contextlib
import sqlite3
import threading

import pytest

from support.admin import run_health
from support.doctor import NO_UPSTREAM, examine
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.redis import Redis
from support.samples import scrape
from support.waiting import Stopwatch, wait_until


class Locked:
    """A SQLite file, and another process that has its write lock."""

    why = "write lock"

    def __init__(self, gateway):
        self.url = gateway.store_url()
        self.other = sqlite3.connect(gateway.database, isolation_level=None)
        self.other.execute("BEGIN IMMEDIATE")

    def heal(self):
        self.other.execute("COMMIT")

    def close(self):
        self.other.close()


class Full:
    """A Redis server whose memory is used up, and which evicts nothing."""

    why = "maxmemory"

    def __init__(self, server, url):
        self.server, self.url = server, url
        assert server.run("CONFIG SET maxmemory-policy noeviction") == b"+OK\r\n"
        assert server.run("CONFIG SET maxmemory 1") == b"+OK\r\n"

    def heal(self):
        assert self.server.run("CONFIG SET maxmemory 0") == b"+OK\r\n"

    def close(self):
        self.heal()


@pytest.fixture
def own_redis():
    server = Redis()
    with contextlib.closing(server):
        yield server.start()


@pytest.fixture(params=["sqlite", "redis"])
def begin(request, begin_admin):
    """A gateway with its admin listener, and what makes its store refuse writes."""
    if request.param == "sqlite":
        gateway, admin = begin_admin({"store": {"timeout": "1s"}})
        return gateway, admin, lambda: Locked(gateway)
    server = request.getfixturevalue("own_redis")
    url = f"redis://127.0.0.1:{server.port.number}"
    gateway, admin = begin_admin({"store": {"url": url, "timeout": "1s"}})
    return gateway, admin, lambda: Full(server, url)


def test_it_counts_as_away_and_is_back_with_its_first_write(begin, onceguard, fresh_key):
    gateway, admin, refuse_writes = begin
    wait_until(admin.is_ready, what="readiness")
    done = fresh_key()
    # The store has one second for a claim.
    first = assert_first(wait_until(lambda: (a := gateway.post(key=done)).status == 201 and a))
    with contextlib.closing(refuse_writes()) as store:
        wait_until(lambda: admin.reasons() == ["store-away"], 20, "the refusal being noticed")
        reason, = admin.get("/readyz").json()["reasons"]
        assert "takes no writes" in reason["why"] and store.why in reason["why"], reason
        assert reason["since"].endswith("Z")
        samples = scrape(admin)
        assert samples.value("onceguard_store_up") == samples.value("onceguard_ready") == 0
        health = run_health(onceguard, admin.text)
        assert health.returncode == 1 and "store-away" in health.stdout, health
        away, = gateway.logged("store-away")
        assert store.why in away["why"], away
        assert_problem(gateway.post(key=fresh_key()), 503, "store-unreachable", True,
                       retry_after=True)
        # What is done is read, and stays answered.
        assert_replay_of(gateway.post(key=done), first)
        # It stays away for as long as that lasts, however often it is read from.
        clock = Stopwatch()
        while clock.seconds < 3:
            assert admin.reasons() == ["store-away"]
        report = examine(onceguard, "--store", store.url, "--upstream", NO_UPSTREAM)
        assert report.code == 4
        assert report.level("store-reach") == "ok"
        assert report.level("store-writes") == "fault"
        assert store.why in report.one("store-writes")["text"]
        store.heal()
        wait_until(admin.is_ready, 20, "readiness")
        wait_until(lambda: gateway.post(key=fresh_key()).status == 201, what="a new run")
        gateway.logged("store-back")
    assert scrape(admin).value("onceguard_store_up") == 1
    assert len(gateway.logged("store-away")) == 1


def test_a_lock_that_is_held_for_less_than_the_timeout_is_none(begin_admin, fresh_key):
    gateway, admin = begin_admin({"store": {"timeout": "20s"}})
    wait_until(admin.is_ready, what="readiness")
    waiting = threading.Thread(target=lambda: gateway.post(key=fresh_key()))
    with contextlib.closing(Locked(gateway)):
        waiting.start()
        clock = Stopwatch()
        while clock.seconds < 3:
            assert admin.is_ready()
    waiting.join()
    assert "store-away" not in gateway.log()


def test_doctor_ends_with_4_where_the_store_is_out_of_reach(onceguard, tmp_path):
    report = examine(onceguard, "--store", "redis://127.0.0.1:9", "--upstream", NO_UPSTREAM)
    assert (report.code, report.level("store-reach")) == (4, "fault")
    # What is wrong with the URL is no outage, and neither is an upstream that is away.
    (tmp_path / "file").write_text("")
    report = examine(onceguard, "--store", f"sqlite:{tmp_path}/file/keys.db", "--upstream",
                     NO_UPSTREAM)
    assert report.level("store-reach") == "fault"
    report = examine(onceguard, "--store", f"sqlite:{tmp_path}/keys.db", "--upstream", NO_UPSTREAM)
    assert (report.code, report.level("upstream")) == (1, "fault")
