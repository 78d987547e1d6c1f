"""What changes between an operator's look at a record and the change of it stays as it is."""

import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest

from support.executing import Executing
from support.gateway import clean_environment
from support.waiting import wait_until

UNKNOWN = ("exit 4", ["--failure", "unknown"])


@pytest.fixture
def store(onceguard, tmp_path):
    made = Executing(onceguard, tmp_path)
    yield made
    made.close()


def run_again(store, key):
    assert store.ask("keys", "release", key).returncode == 0
    store.shell(key, UNKNOWN[0], options=UNKNOWN[1])


def complete(store, key):
    assert store.ask("keys", "complete", key, "--status", "200").returncode == 0


def record_after(store, key, act):
    """The key's row as it is when somebody has done that."""
    folder = store.folder / "other"
    folder.mkdir()
    other = Executing(store.onceguard, folder)
    assert store.ask("backup", folder / "keys.db").returncode == 0
    act(other, key)
    with closing(sqlite3.connect(folder / "keys.db")) as file:
        [row] = file.execute("SELECT state, expires_at, record FROM records").fetchall()
    shutil.rmtree(folder)
    return row


def complete_again(store, key):
    run_again(store, key)
    complete(store, key)


def change_amid(store, key, words, meanwhile):
    """What the command says whose record becomes another one between its look and its change."""
    row = record_after(store, key, meanwhile)
    audit = store.folder / "audit.jsonl"
    with closing(sqlite3.connect(store.folder / "keys.db", isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")  # the command's own change has to wait
        command = subprocess.Popen(
            [str(store.onceguard), "keys", *words, key, "--store", store.store,
             "--store-timeout", "30s", "--audit-log", str(audit)],
            env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: audit.exists() and "intended" in audit.read_text(), what="its look")
        file.execute("UPDATE records SET state = ?, expires_at = ?, record = ?", row)
        file.execute("COMMIT")
    _, said = command.communicate(timeout=60)
    assert command.returncode == 1, said
    return said


@pytest.mark.parametrize("words, meanwhile, why, state", [
    (["release"], complete, "it was completed just now", "completed"),
    (["release"], run_again, "it has changed since it was seen", "unknown"),
    (["complete"], run_again, "it has changed since it was seen", "unknown")])
def test_a_record_that_changed_meanwhile_is_left_alone(store, key, words, meanwhile, why, state):
    store.shell(key, UNKNOWN[0], options=UNKNOWN[1])
    assert store.state(key) == "unknown"
    said = change_amid(store, key, words, meanwhile)
    assert why in said, said
    assert store.state(key).startswith(state)


def test_a_completion_of_what_had_failed_is_left_alone(store, key):
    store.shell(key, "exit 4")
    assert store.state(key).startswith("failed")
    said = change_amid(store, key, ["release"], complete)
    assert "it was completed just now" in said, said
    assert store.state(key).startswith("completed")


def test_a_completion_of_a_later_lease_is_left_alone(store, key):
    store.shell(key, "true")
    assert store.state(key).startswith("completed")
    said = change_amid(store, key, ["release"], complete_again)
    assert "it has changed since it was seen" in said, said
    assert store.state(key).startswith("completed")
