"""Several gateways on one database: one effect a key, old and new versions, and their rights."""

import psycopg
import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import DEFAULT_BODY
from support.waiting import scaled, wait_until

CROWD = 64


@pytest.fixture
def start(postgres_server, database, start_gateway, own_upstream):
    """Starts a gateway on the test's database; how=… as of start_gateway."""
    def begin(user="postgres", defaults=None, **how):
        return start_gateway(own_upstream, {
            "store": {"url": postgres_server.url(database, user), "timeout": "5s"},
            "gateway": {"replay_cache": "0"}, "defaults": defaults or {}}, **how)
    return begin


def test_one_effect_however_many_repeats_at_two_gateways(start, own_upstream, fresh_key):
    first, second = (start(defaults={"on_busy": "wait", "wait": "30s"}) for _ in range(2))
    for _ in range(scaled(20, 4)):
        key = fresh_key()
        fields = [("Content-Type", "application/json")] + fields_for(key)
        request = request_bytes("POST", "/charges", fields, DEFAULT_BODY)
        answers = all_at_once([first.address, second.address] * (CROWD // 2), [request] * CROWD)
        assert {(a.status, a.body) for a in answers} == {(201, answers[0].body)}
        assert sum(not a.replayed for a in answers) == 1
        assert own_upstream.runs(key) == 1


def test_one_effect_of_a_crowd_after_a_release_at_two_gateways(start, own_upstream, fresh_key):
    first, second = (start() for _ in range(2))
    caller = [("Authorization", "Bearer ada")]
    for _ in range(scaled(20, 6)):
        key = fresh_key()
        assert first.post(key=key, plan={"status": 503}, fields=caller).status == 503
        fields = [("Content-Type", "application/json")] + fields_for(key, fields=caller)
        request = request_bytes("POST", "/charges", fields, DEFAULT_BODY)
        answers = all_at_once([first.address, second.address] * 8, [request] * 16)
        assert {answer.status for answer in answers} <= {201, 409}
        assert own_upstream.runs(key) == 2, "the one that was refused, and one more"


def break_connections(admin):
    """A gateway says who it is with every connection that it makes: these are made anew."""
    admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                  "WHERE datname = current_database() AND application_name = 'onceguard'")


def test_a_newer_schema_may_be_used_until_its_minimum_is_raised(start, admin, own_upstream,
                                                                fresh_key):
    gateway = start()
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    # A newer Onceguard has migrated; this version may go on, and may be started anew.
    admin.execute("UPDATE onceguard.meta SET schema_version = schema_version + 1")
    break_connections(admin)
    other = start()
    for each in (gateway, other):
        assert_replay_of(each.post(key=key), first)
        assert_first(each.post(key=fresh_key()))
    # The newer one's `migrate --finish`: from here on it writes what this version can't read.
    admin.execute("UPDATE onceguard.meta SET minimum_version = schema_version")
    break_connections(admin)
    refused = fresh_key()
    wait_until(lambda: gateway.post(key=fresh_key()).status == 503, what="the refusal")
    assert_problem(gateway.post(key=refused), 503, "store-unreachable", True, retry_after=True)
    assert own_upstream.runs(refused) == 0
    late = start(started=False).start(wait=False)
    assert late.wait() in (3, 4)
    late.says("newer version of onceguard")
    assert own_upstream.runs(key) == 1


# ---- least privilege ----------------------------------------------------------------------
@pytest.fixture
def roles(admin):
    admin.execute("""
        DO $$ BEGIN
          IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'plain_gateway') THEN
            CREATE ROLE plain_gateway LOGIN IN ROLE onceguard_gateway;
            CREATE ROLE plain_app LOGIN IN ROLE onceguard_app;
          END IF;
        END $$""")


def test_a_gateway_and_its_application_need_the_documented_roles_only(
        start, roles, postgres_server, database, own_upstream, fresh_key):
    gateway = start("plain_gateway", {"effect": "transactional"})
    key = fresh_key()
    with gateway.begin_post(key=key, plan={"gate": key}) as connection:
        lease = own_upstream.arrived(1, key)[0]["fields"]
        with postgres_server.connect(database, "plain_app") as application:
            application.execute("SELECT onceguard.complete(%s, 201, NULL, 'paid')",
                                (dict(map(tuple, lease))["Onceguard-Lease"],))
        own_upstream.open(key)
        assert (connection.read().body, gateway.post(key=key).body) == (b"paid", b"paid")
    assert gateway.state(key) == "completed"
    assert gateway.command("stats").returncode == 0
    assert gateway.command("sweep").returncode == 0


@pytest.mark.parametrize("role", ["plain_gateway", "plain_app"])
def test_the_documented_roles_remove_no_record_and_change_no_table(admin, roles, postgres_server,
                                                                   database, role):
    tables = [row[0] for row in admin.execute(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p', 'S') "
        "AND relnamespace = 'onceguard'::regnamespace")]
    assert {"onceguard.records", "onceguard.meta", "onceguard.lease_counts"} <= set(tables)
    with postgres_server.connect(database, role) as at:
        for table in tables:
            reading = [f"SELECT * FROM {table}"] if role == "plain_app" else []
            for sql in (*reading, f"DELETE FROM {table}", f"TRUNCATE {table}",
                        f"ALTER TABLE {table} RENAME TO mine"):
                with pytest.raises((psycopg.errors.InsufficientPrivilege,
                                    psycopg.errors.WrongObjectType)):
                    at.execute(sql)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            at.execute("CREATE TABLE onceguard.mine ()")


def test_an_application_may_not_do_what_a_gateway_does(roles, postgres_server, database):
    with postgres_server.connect(database, "plain_app") as at:
        for call in ("sweep(1, false)", "vitals('', 0, '{}', '{}')", "new_name()", "now_ms()",
                     "hello(1, '', 0, '{}', '{}')", "accelerator_epoch('')",
                     "note_accelerator('', 0, 0, NULL)", "check_settled()",
                     "record_of('OG1-')", "write_settled(NULL)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                at.execute(f"SELECT onceguard.{call}")
