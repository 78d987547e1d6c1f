"""Large tables are looked through in pieces: by operators' lists and counts, and by the sweep."""

import json
import subprocess

import pytest

from store.postgres.acts import Desk
from support.gateway import clean_environment

PIECE = 2_000  # pages of the table


COPIES = 66_000


@pytest.fixture(scope="module")
def store(server):
    """A connection to a store with more than two pieces of completed records."""
    with server.connect(server.create_store()) as connection:
        caller = Desk(connection)
        caller.completed("first", 201, None, b"paid")
        caller.copies("first", COPIES)
        assert caller.value("SELECT pg_relation_size('onceguard.records') / 8192") > 2 * PIECE
        yield caller


@pytest.fixture
def run(onceguard, server, store):
    def command(*words):
        url = server.url(store.connection.info.dbname)
        done = subprocess.run([onceguard, *words, "--store", url], capture_output=True, text=True,
                              timeout=120, env=clean_environment(), check=False)
        assert done.returncode == 0, done
        return done.stdout
    return command


def test_stats_adds_up_the_pieces(run):
    assert json.loads(run("stats", "--json"))["completed"] == COPIES + 1


def test_a_key_of_the_last_piece_is_found(run):
    assert f"copy {COPIES}" in run("keys", "show", f"copy {COPIES}")


def test_an_export_has_each_record_once(run, tmp_path):
    run("keys", "export", str(tmp_path / "all"))
    keys = [json.loads(line)["key"] for line in (tmp_path / "all").read_text().splitlines()[1:-1]]
    assert len(keys) == COPIES + 1 == len(set(keys))


def test_a_sweep_of_a_large_table_goes_on_at_the_next_call(store):
    """One of the last pages alone has something to remove."""
    expired = store.rows("UPDATE onceguard.records SET expires_at = deadline_at WHERE digest IN "
                         "(SELECT digest FROM onceguard.records ORDER BY ctid DESC LIMIT 5) "
                         "RETURNING token")
    assert [store.sweep(), store.sweep(), store.sweep()] == [0, 0, len(expired)]
    assert store.value("SELECT floor FROM onceguard.meta") >= max(row.token for row in expired)
