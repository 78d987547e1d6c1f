"""PostgreSQL's set-up as the documentation has it, and what is said where a right is missing."""

import shlex
import subprocess

import pytest

from support.documented import blocks
from support.expecting import assert_first, assert_replay_of
from support.gateway import PATIENT, clean_environment
from support.postgres import PROGRAMS, ROOT, Postgres

DOCS = ROOT / "docs"


def run(words, stdin=None):
    return subprocess.run([str(word) for word in words], input=stdin, capture_output=True,
                          text=True, timeout=60, env={**clean_environment(), **PATIENT},
                          check=False)


@pytest.fixture
def server():
    """One on which nobody has set up anything: roles belong to a whole server."""
    running = Postgres()
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture
def admin(server):
    """Types statements as the administrator does."""
    def type_in(statements, database="postgres"):
        done = run([PROGRAMS / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1",
                    server.conninfo(database)], statements)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout
    return type_in


@pytest.fixture
def migrate(server, onceguard):
    def run_it(user, *flags):
        return run([onceguard, "migrate", "--store", server.url("payments", user), *flags])
    return run_it


def statement_in(done):
    """Of an error, what is to be typed."""
    assert (done.returncode, done.stdout) == (4, ""), done
    assert done.stderr.startswith("onceguard: ") and done.stderr.count("\n") == 1, done
    return done.stderr.split(" types: ")[1]


def test_the_documented_setup_works_as_typed(server, admin, onceguard, start_gateway, own_upstream,
                                             key, fresh_key):
    (language, statements), (_, commands) = blocks("postgresql.md", "Setting it up")
    assert language == "sql"
    admin(statements)
    here = commands.replace("@db.internal/", f"@127.0.0.1:{server.port.number}/")
    migrating, serving = here.replace("\\\n", " ").splitlines()
    program, *words = shlex.split(migrating)
    done = run([onceguard, *words])
    assert program == "onceguard" and (done.returncode, done.stderr) == (0, ""), done

    program, command, *words = shlex.split(serving)
    assert (program, command, words[::2]) == ("onceguard", "gateway", ["--store", "--upstream"])
    url = words[1]
    gateway = start_gateway(own_upstream, {"store": {"url": url}})
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    left = fresh_key()
    assert gateway.post(key=left, plan={"status": 500}).status == 500
    assert own_upstream.runs(key) == 1
    every_command_works(gateway, key, left)
    a_service_completes_as_documented(server, admin)
    # What gateways connect as has the rights of gateways, and no others.
    at = server.connect("payments", "gateway")
    with at, pytest.raises(Exception, match="permission denied"):
        at.execute("DELETE FROM onceguard.records")


def a_service_completes_as_documented(server, admin):
    """By the statements of the page, with a lease in the place of the page's."""
    text = (DOCS / "postgresql.md").read_text(encoding="utf-8")
    assert "`GRANT onceguard_app TO shop`" in text
    admin("CREATE ROLE shop LOGIN; GRANT onceguard_app TO shop;")
    admin("CREATE TABLE charges (amount integer); GRANT INSERT ON charges TO shop;", "payments")
    section = blocks("postgresql.md", "The effect and the record in one transaction")
    statements = [typed for language, typed in section if language == "sql"]
    assert len(statements) == 2
    for number, typed in enumerate(statements, 1):
        with server.connect("payments", "shop") as at:
            lease = at.execute("SELECT lease FROM onceguard.claim('s', %s)",
                               [str(number)]).fetchone()[0]
        assert "OG1-…" in typed
        done = run([PROGRAMS / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1",
                    server.conninfo("payments", "shop")], typed.replace("OG1-…", lease))
        assert (done.returncode, done.stderr) == (0, ""), done
    assert admin("SELECT amount FROM charges", "payments").count("500") == 2


def every_command_works(gateway, key, left):
    assert {r["key"]: r["state"] for r in gateway.keys()} == {key: "completed", left: "unknown"}
    export = gateway.folder / "records.jsonl"
    for words in (["keys", "show", key], ["keys", "list", "--state", "completed"], ["stats"],
                  ["keys", "complete", left, "--status", "201"], ["keys", "release", key],
                  ["keys", "export", str(export)], ["keys", "import", str(export)], ["sweep"]):
        done = gateway.command(*words)
        assert done.returncode == 0, done
    assert_first(gateway.post(key=key))


def test_each_missing_permission_is_named_with_its_grant(server, admin, migrate):
    admin("CREATE ROLE owner LOGIN; CREATE ROLE another LOGIN; CREATE DATABASE payments;")
    typed = []
    for _ in range(2):
        typed.append(statement_in(migrate("owner")))
        assert admin("SELECT 1 FROM pg_namespace WHERE nspname = 'onceguard'").count("1 row") == 0
        admin(typed[-1])
    assert typed == ["GRANT CREATE ON DATABASE payments TO owner;\n",
                     "CREATE ROLE onceguard_gateway NOLOGIN; CREATE ROLE onceguard_app NOLOGIN;\n"]
    done = migrate("owner")
    assert (done.returncode, done.stderr) == (0, ""), done

    assert statement_in(migrate("another")) == "GRANT owner TO another;\n"
    admin("GRANT owner TO another;")
    done = migrate("another")
    assert done.returncode == 0 and "already" in done.stdout, done


def test_a_schema_that_is_there_needs_no_roles(server, admin, migrate):
    admin("CREATE ROLE owner LOGIN CREATEROLE; CREATE DATABASE payments OWNER owner;")
    assert migrate("owner").returncode == 0
    admin("DROP OWNED BY onceguard_gateway, onceguard_app; "
          "DROP ROLE onceguard_gateway, onceguard_app; ALTER ROLE owner NOCREATEROLE;", "payments")
    done = migrate("owner")
    assert done.returncode == 0 and "already" in done.stdout, done


def test_a_right_that_nobody_thought_of_is_no_wrong_configuration(server, admin, migrate):
    admin("CREATE ROLE owner LOGIN CREATEROLE; CREATE DATABASE payments OWNER owner;")
    assert migrate("owner").returncode == 0
    admin("ALTER TABLE onceguard.meta OWNER TO postgres;", "payments")
    done = migrate("owner")
    assert (done.returncode, done.stdout) == (4, ""), done
    assert "permission denied for table meta" in done.stderr


@pytest.mark.parametrize("made", ["CREATE ROLE owner LOGIN CREATEROLE",
                                  "CREATE ROLE owner LOGIN SUPERUSER"])
def test_one_who_may_create_roles_needs_nobody(server, admin, migrate, made):
    admin(f"{made}; CREATE DATABASE payments; GRANT CREATE ON DATABASE payments TO owner;")
    assert migrate("owner").returncode == 0
    assert "onceguard_gateway" in admin("SELECT rolname FROM pg_roles")


def test_a_schema_that_an_administrator_made_for_its_owner_is_enough(server, admin, migrate):
    admin("CREATE ROLE owner LOGIN; CREATE DATABASE payments;")
    admin("CREATE SCHEMA onceguard AUTHORIZATION owner", "payments")
    typed = statement_in(migrate("owner"))
    assert typed.startswith("CREATE ROLE onceguard_gateway NOLOGIN;")
    admin(typed)
    assert migrate("owner").returncode == 0


@pytest.mark.parametrize("words", [["stats"], ["sweep"], ["keys", "list"], ["keys", "show", "k"]],
                         ids=" ".join)
def test_a_user_without_the_role_is_shown_the_grant(postgres_server, onceguard, words):
    database = postgres_server.create_store()
    with postgres_server.connect() as at:
        at.execute("DROP ROLE IF EXISTS \"A stranger\"")
        at.execute("CREATE ROLE \"A stranger\" LOGIN")
    url = postgres_server.url(database, "A%20stranger")
    done = run([onceguard, *words, "--store", url])
    assert (done.returncode, done.stdout) == (4, ""), done
    assert "permission denied for schema onceguard" in done.stderr
    typed = done.stderr.replace('\\"', '"').split(" types: ")[1].split(";")[0]
    assert typed == 'GRANT onceguard_gateway TO "A stranger"'
    with postgres_server.connect() as at:
        at.execute(typed)
    assert run([onceguard, *words, "--store", url]).returncode == (5 if "show" in words else 0)
