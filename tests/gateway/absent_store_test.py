"""A gateway that starts without its SQLite file."""

import contextlib
import sqlite3

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.sqlite_files import beside
from support.waiting import Stopwatch, wait_until


def refused_for(gateway, why, key):
    assert gateway.get("/").status == 201, "unguarded requests need no store"
    assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    line, = gateway.logged("store-not-opened")
    assert why in line["why"], line


def answered(gateway, key):
    """By a store in use, which a busy machine may make late: such a request comes again."""
    def done():
        answer = gateway.post(key=key)
        return answer.status != 503 and answer.problem != "in-progress" and answer
    return wait_until(done, 20, "the store in use")


def stored_once(gateway, upstream, key):
    first = assert_first(answered(gateway, key))
    assert_replay_of(answered(gateway, key), first)
    assert upstream.runs(key) == 1


def test_a_folder_that_is_made_after_the_start(start_gateway, own_upstream, tmp_path, key):
    folder = tmp_path / "volume"
    gateway = start_gateway(own_upstream, database=folder / "keys.db")
    refused_for(gateway, f"the directory {folder}: No such file or directory", key)
    folder.mkdir()
    stored_once(gateway, own_upstream, key)
    assert gateway.logged("store-opened")[0]["store"] == "sqlite"
    assert gateway.stop() == 0


def test_a_store_that_is_being_restored_at_the_start(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"store": {"timeout": "100ms"}})
    gateway.stop()
    with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        gateway.start()
        refused_for(gateway, "locked", key)
    stored_once(gateway, own_upstream, key)


def test_nothing_is_taken_for_a_damaged_store_while_its_files_are_put_right(start_gateway,
                                                                           own_upstream, fresh_key):
    gateway = start_gateway(own_upstream)
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    gateway.kill()
    away, log = gateway.folder / "away", beside(gateway, "-wal")
    gateway.database.rename(away)
    gateway.start()
    refused_for(gateway, "but its log", fresh_key())
    assert "start the gateway again" in gateway.logged("store-not-opened")[0]["hint"]
    log.rename(gateway.folder / "away-wal")
    clock = Stopwatch()
    while clock.seconds < 2:  # several intervals between attempts
        assert gateway.post(key=key).status == 503
    assert not gateway.database.exists()
    away.rename(gateway.database)
    (gateway.folder / "away-wal").rename(log)
    gateway.restart()
    assert_replay_of(gateway.post(key=key), first)


def test_the_log_says_why_again_when_the_reason_changes(start_gateway, own_upstream, tmp_path, key):
    folder = tmp_path / "volume"
    gateway = start_gateway(own_upstream, database=folder / "keys.db")
    gateway.logged("store-not-opened")
    folder.write_text("no folder")
    second = gateway.logged("store-not-opened", 2)[1]
    assert "Not a directory" in second["why"] or "is not a directory" in second["why"]
    assert second["for_ms"] >= 5_000
    folder.unlink()
    folder.mkdir()
    stored_once(gateway, own_upstream, key)


def test_a_scheduled_reconcile_begins_when_the_store_is_there(start_gateway, own_upstream, tmp_path,
                                                              key):
    folder = tmp_path / "volume"
    gateway = start_gateway(own_upstream, {
        "reconcile": {"interval": "1s"},
        "defaults": {"lease": "1s", "upstream_timeout": "1s", "unknown": "hold",
                     "probe": own_upstream.url + "/outcome/{scope}/{key}"}},
                            database=folder / "keys.db")
    gateway.logged("store-not-opened")
    folder.mkdir()
    # 500, or 504 of a busy machine: its outcome is unknown.
    wait_until(lambda: gateway.post(key=key, plan={"status": 500}).status != 503, 20,
               "the store in use")
    gateway.logged("reconciled")


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_path_that_can_not_be_right_is_a_wrong_configuration(start_gateway, own_upstream, path):
    gateway = start_gateway(own_upstream, {"store": {"url": f"sqlite:{path}"}}, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3


def test_a_folder_in_place_of_the_file_ends_the_start(start_gateway, own_upstream, tmp_path):
    gateway = start_gateway(own_upstream, {"store": {"url": f"sqlite:{tmp_path}"}}, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    assert "is a directory" in gateway.logged("store-not-opened")[0]["why"]
