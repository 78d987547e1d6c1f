"""`onceguard migrate` brings functions, view and rights to their current text, or says why not."""

import subprocess

import pytest

from support.gateway import clean_environment


@pytest.fixture
def database(postgres_server):
    return postgres_server.create_database()


@pytest.fixture
def migrate(onceguard, postgres_server, database):
    def run(*flags):
        done = subprocess.run(
            [onceguard, "migrate", *flags, "--store", postgres_server.url(database)],
            capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout
    return run


def definitions(session):
    """Every function of the schema, and when each row of the catalogue was written."""
    return session.execute(
        "SELECT oid::regprocedure::text, prosrc, proconfig, prosecdef, proacl::text, xmin::text "
        "FROM pg_proc WHERE pronamespace = 'onceguard'::regnamespace ORDER BY 1").fetchall()


CHANGES = {
    "the body": "CREATE OR REPLACE FUNCTION onceguard.now_ms() RETURNS bigint LANGUAGE sql "
                "VOLATILE AS 'SELECT 0::bigint'",
    "whose rights it has": "ALTER FUNCTION onceguard.release(text) SECURITY INVOKER",
    "its settings": "ALTER FUNCTION onceguard.release(text) RESET search_path",
    "that it is there": "DROP FUNCTION onceguard.release(text)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_was_changed_by_hand_is_put_back(migrate, postgres_server, database, change):
    assert migrate().startswith("schema onceguard: created")
    with postgres_server.connect(database) as at:
        before = [row[:5] for row in definitions(at)]
        at.execute(change)
        assert [row[:5] for row in definitions(at)] != before
        assert migrate().endswith("already, functions renewed\n")
        assert [row[:5] for row in definitions(at)] == before


def test_functions_of_a_newer_version_stay(migrate, postgres_server, database):
    """An older program that is put back beside gateways of a newer one, at the same schema."""
    migrate()
    with postgres_server.connect(database) as at:
        at.execute(CHANGES["the body"])
        at.execute("UPDATE onceguard.meta SET functions = "
                   "regexp_replace(functions, '^[0-9]+:', '999:')")
        before = definitions(at)
        assert migrate().endswith("already\n")
        assert definitions(at) == before
        at.execute("UPDATE onceguard.meta SET functions = "
                   "regexp_replace(functions, '^[0-9]+:', '')")  # of before they had a version
        assert migrate().endswith("already, functions renewed\n")
        assert definitions(at) != before


def test_a_second_migration_writes_nothing(migrate, postgres_server, database):
    migrate()
    with postgres_server.connect(database) as at:
        before = definitions(at)
        assert migrate().endswith("already\n")
        assert definitions(at) == before


def test_the_printed_script_leaves_nothing_to_renew(migrate, onceguard, postgres_server, database):
    script = subprocess.run([onceguard, "migrate", "--print"], capture_output=True, text=True,
                            timeout=60, check=True).stdout
    with postgres_server.connect(database) as at:
        at.execute(script)
    assert migrate().endswith("version 1 already\n")


def test_a_schema_of_before_is_refused_with_the_way_to_go(onceguard, postgres_server, database):
    with postgres_server.connect(database) as at:
        at.execute("CREATE SCHEMA onceguard; CREATE TABLE onceguard.meta "
                   "(schema_version integer, minimum_version integer, layout text); "
                   "INSERT INTO onceguard.meta VALUES (26, 1, 'plain')")
    done = subprocess.run([onceguard, "migrate", "--store", postgres_server.url(database)],
                          capture_output=True, text=True, timeout=60, env=clean_environment(),
                          check=False)
    assert done.returncode == 3
    for word in ("export", "DROP SCHEMA onceguard CASCADE", "import"):
        assert word in done.stderr
