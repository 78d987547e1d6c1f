"""`onceguard migrate`, and a gateway with its commands on the database that it made."""

import subprocess

import psycopg

from support.expecting import assert_first, assert_replay_of
from support.postgres import PROGRAMS


def run(onceguard, *arguments):
    return subprocess.run([str(onceguard), *arguments], capture_output=True, text=True,
                          timeout=60, check=False)


def test_the_whole_way_from_an_empty_database(onceguard, postgres_server, start_gateway,
                                              own_upstream, key):
    url = postgres_server.url(postgres_server.create_database())
    done = run(onceguard, "migrate", "--store", url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("schema onceguard: created, version ")
    gateway = start_gateway(own_upstream, {"store": {"url": url}})
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    assert_replay_of(start_gateway(own_upstream, {"store": {"url": url}}).post(key=key), first)
    assert gateway.post(key=key, body=b"another").problem == "key-reused"
    assert own_upstream.runs(key) == 1
    assert gateway.state(key) == "completed"
    assert gateway.command("stats").returncode == 0


def test_a_second_migration_changes_nothing(onceguard, postgres_server):
    url = postgres_server.url(postgres_server.create_database())
    run(onceguard, "migrate", "--store", url)
    done = run(onceguard, "migrate", "--store", url)
    assert done.returncode == 0
    assert done.stdout == "schema onceguard: version 1 already\n"


def test_psql_can_apply_the_printed_script(onceguard, postgres_server):
    database = postgres_server.create_database()
    printed = run(onceguard, "migrate", "--print")
    assert printed.returncode == 0
    applied = subprocess.run(
        [PROGRAMS / "psql", "-q", "-v", "ON_ERROR_STOP=1", postgres_server.conninfo(database)],
        input=printed.stdout, capture_output=True, text=True, timeout=60, check=False)
    assert applied.returncode == 0, applied.stderr
    done = run(onceguard, "migrate", "--store", postgres_server.url(database))
    assert "already" in done.stdout


def with_other_functions(postgres_server):
    """A database with the functions of another version."""
    database = postgres_server.create_store()
    with postgres_server.connect(database) as at:
        at.execute("UPDATE onceguard.meta SET functions = 'others'; "
                   "DROP FUNCTION onceguard.abandon(text)")
    return database


def test_the_functions_of_another_version_are_replaced(onceguard, postgres_server, start_gateway,
                                                       own_upstream, key):
    database = with_other_functions(postgres_server)
    with postgres_server.connect(database) as at:
        lease = at.execute("SELECT lease FROM onceguard.claim('none', %s)", (key,)).fetchone()[0]
        url = postgres_server.url(database)
        done = run(onceguard, "migrate", "--store", url)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "schema onceguard: version 1 already, functions renewed\n"
        assert run(onceguard, "migrate", "--store", url).stdout.endswith("already\n")
        at.execute("SELECT onceguard.abandon(%s)", (lease,))
    found = run(onceguard, "keys", "show", key, "--store", url)
    assert found.returncode == 0 and "unknown" in found.stdout
    gateway = start_gateway(own_upstream, {"store": {"url": url}})
    assert_first(gateway.post(key="another"))


def test_a_view_that_somebody_reads_is_not_waited_for_long(onceguard, postgres_server):
    database = with_other_functions(postgres_server)
    url = postgres_server.url(database)
    with postgres_server.connect(database, autocommit=False) as at:
        at.execute("SELECT count(*) FROM onceguard.keys")
        done = run(onceguard, "migrate", "--store", url)
        assert done.returncode == 4
        assert "lock timeout" in done.stderr and "functions" in done.stderr
        assert at.execute("SELECT functions FROM onceguard.meta").fetchone() == ("others",)
    assert run(onceguard, "migrate", "--store", url).returncode == 0


def test_a_newer_schema_is_refused(onceguard, postgres_server):
    database = postgres_server.create_store()
    with psycopg.connect(postgres_server.conninfo(database)) as at:
        at.execute("UPDATE onceguard.meta SET schema_version = 999, minimum_version = 999")
    done = run(onceguard, "migrate", "--store", postgres_server.url(database))
    assert done.returncode == 3
    assert "newer Onceguard" in done.stderr


def test_a_server_that_is_not_there(onceguard):
    done = run(onceguard, "migrate", "--store", "postgresql://me:secret@127.0.0.1:9/none")
    assert done.returncode == 4
    assert "127.0.0.1:9" in done.stderr
    assert "secret" not in done.stderr


def test_other_stores_have_nothing_to_migrate(onceguard, tmp_path):
    done = run(onceguard, "migrate", "--store", f"sqlite:{tmp_path}/none.db")
    assert done.returncode == 0
    assert "nothing to do" in done.stdout
