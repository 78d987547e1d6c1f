"""The PostgreSQL store behind PgBouncer: it works, leaves nothing behind and relies on nothing."""

import subprocess
import threading

import psycopg
import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import DEFAULT_BODY
from support.masquerade import Masquerade
from support.pgbouncer import PgBouncer
from support.postgres import Postgres
from support.waiting import scaled, wait_until

CROWD = 50
LEFT_BEHIND = ("SET synchronous_commit = off; SET default_transaction_isolation = serializable;"
               "SET default_transaction_read_only = on; SET client_min_messages = error;"
               "SET statement_timeout = 1234; SET lock_timeout = 5; SET search_path = nowhere")


@pytest.fixture
def start_pooler(postgres_server):
    """Starts poolers of one test: start_pooler(server, setting=…)."""
    made = []

    def start(server=postgres_server, **settings):
        made.append(PgBouncer(server, **settings))
        return made[-1].start()

    yield start
    for pooler in made:
        pooler.close()


@pytest.fixture
def pooler(start_pooler):
    """All clients of a database share one connection of the server."""
    return start_pooler(default_pool_size="1")


@pytest.fixture
def start(pooler, database, start_gateway, own_upstream):
    """Starts a gateway on the test's database behind the pooler."""
    def begin(upstream=own_upstream, url=None, **config):
        return start_gateway(upstream, {
            "store": {"url": url or pooler.url(database), "timeout": "5s"},
            "gateway": {"replay_cache": "0"}, **config})
    return begin


def run(onceguard, *arguments):
    return subprocess.run([str(onceguard), *arguments], capture_output=True, text=True,
                          timeout=60, check=False)


# ---- it works -----------------------------------------------------------------------------
def test_a_key_runs_once_and_each_command_works(start, own_upstream, fresh_key):
    gateway = start()
    key, unknown = fresh_key(), fresh_key()
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    assert_problem(gateway.post(key=key, body=b"another"), 422, "key-reused", False)
    assert gateway.post(key=unknown, plan={"status": 500}).status == 500
    assert_problem(gateway.post(key=unknown), 409, "outcome-unknown", False)
    assert gateway.state(unknown) == "unknown"
    record = gateway.record(unknown)["record"]
    for command in (("keys", "complete", record), ("keys", "show", record), ("stats",),
                    ("sweep",), ("keys", "release", record)):
        done = gateway.command(*command)
        assert done.returncode == 0, (command, done)
    assert own_upstream.runs(key) == own_upstream.runs(unknown) == 1
    assert len(gateway.logged("store-behind-pooler")) == 1


@pytest.mark.parametrize("on_busy", ["wait", "reject"])
def test_of_many_at_once_one_runs(start, own_upstream, fresh_key, on_busy):
    gateways = [start(defaults={"on_busy": on_busy, "wait": "30s"}) for _ in range(2)]
    for _ in range(scaled(5, 1)):
        key = fresh_key()
        fields = [("Content-Type", "application/json")] + fields_for(key)
        request = request_bytes("POST", "/charges", fields, DEFAULT_BODY)
        answers = all_at_once([g.address for g in gateways] * (CROWD // 2), [request] * CROWD)
        assert {a.status for a in answers} <= ({201} if on_busy == "wait" else {201, 409})
        assert sum(a.status == 201 and not a.replayed for a in answers) == 1
        assert own_upstream.runs(key) == 1


def test_migrate_makes_the_schema_and_the_commands_find_it(onceguard, postgres_server, pooler,
                                                           start, fresh_key):
    url = pooler.url(postgres_server.create_database())
    made = run(onceguard, "migrate", "--store", url)
    assert (made.returncode, made.stderr) == (0, "")
    assert "already" in run(onceguard, "migrate", "--store", url).stdout
    assert_first(start(url=url).post(key=fresh_key()))


def test_a_failed_batch_leaves_a_connection_that_goes_on(start, admin, fresh_key):
    gateway = start()
    assert_first(gateway.post(key=fresh_key()))
    admin.execute("ALTER TABLE onceguard.records ADD CONSTRAINT none CHECK (false) NOT VALID")
    assert gateway.post(key=fresh_key()).status == 503
    admin.execute("ALTER TABLE onceguard.records DROP CONSTRAINT none")
    assert_first(gateway.post(key=fresh_key()))
    assert not [line for line in gateway.log_lines() if line["event"] == "store-away"]


def test_reconcile_asks_its_query_through_the_pooler_and_leaves_nothing(
        onceguard, start, pooler, database, admin, own_upstream, fresh_key):
    """The query of [reconcile] has a connection of its own."""
    admin.execute("CREATE TABLE orders (scope text, key text)")
    gateway = start(defaults={"lease": "1s", "upstream_timeout": "1s"}, reconcile={
        "query": "SELECT 201 AS status FROM orders WHERE scope = $1 AND key = $2",
        "absent": "none"})
    key = fresh_key()
    assert gateway.post_in_time(key=key, plan={"status": 500}).status == 500
    admin.execute("INSERT INTO orders VALUES (%s, %s)",
                  (own_upstream.requests(key)[0]["scope"], key))
    with pooler.connect(database) as other:
        before = state_of(other)
        other.execute("SET default_transaction_read_only = on")

        def settled():
            done = run(onceguard, "reconcile", "--json", "--config", str(gateway.config_path))
            assert done.returncode == 0, done
            return gateway.state(key) == "completed"
        wait_until(settled, 30, "the record settled by the query")
        other.execute("RESET default_transaction_read_only")
        assert state_of(other) == before
    assert gateway.post(key=key).replayed


# ---- nothing is left on the server's connection ---------------------------------------------
def state_of(client):
    """What another client finds in the session, and on the server."""
    names = ("search_path", "statement_timeout", "lock_timeout", "synchronous_commit",
             "idle_in_transaction_session_timeout", "client_min_messages",
             "default_transaction_isolation")
    with client.transaction():
        return [client.execute(f"SHOW {name}").fetchone()[0] for name in names] + [
            client.execute(query).fetchone()[0] for query in (
                "SELECT count(*) FROM pg_prepared_statements",
                "SELECT count(*) FROM pg_listening_channels()",
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
                "SELECT pg_backend_pid()")]


def test_the_next_client_of_the_session_finds_it_untouched(start, pooler, database, fresh_key):
    with pooler.connect(database) as other:
        before = state_of(other)
        assert before[7:10] == [0, 0, 0]
        gateway = start()
        key = fresh_key()
        assert_first(gateway.post(key=key))
        assert gateway.post(key=key).replayed
        assert gateway.command("stats").returncode == 0
        assert gateway.command("keys", "list").returncode == 0
        assert gateway.command("migrate").returncode == 0
        assert state_of(other) == before  # also: of the same process of the server


# ---- nothing is relied on -------------------------------------------------------------------
def watch_transactions(admin):
    """Notes the settings of each transaction that writes a record."""
    admin.execute("""
        CREATE TABLE public.seen (durable text, isolation text, timeout text);
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO public.seen VALUES (current_setting('synchronous_commit'),
            current_setting('transaction_isolation'), current_setting('lock_timeout'));
          RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT OR UPDATE ON onceguard.records
          FOR EACH STATEMENT EXECUTE FUNCTION public.note()""")


@pytest.mark.parametrize("left, durable", [(LEFT_BEHIND, "on"),
                                           ("SET synchronous_commit = remote_apply",
                                            "remote_apply")])
def test_what_another_client_left_in_the_session_has_no_effect(start, pooler, database, admin,
                                                              fresh_key, left, durable):
    gateway = start()
    watch_transactions(admin)
    with pooler.connect(database) as other:
        other.execute(left)
    for _ in range(3):
        key = fresh_key()
        first = assert_first(gateway.post(key=key))
        assert_replay_of(gateway.post(key=key), first)
    seen = admin.execute("SELECT DISTINCT durable, isolation, timeout FROM public.seen").fetchall()
    assert seen == [(durable, "read committed", "1250ms")]


def test_answered_keys_survive_a_crash_though_another_client_left_commits_asynchronous(
        start_pooler, start, fresh_key, own_upstream):
    server = Postgres({"wal_writer_delay": "'10s'"})
    try:
        server.start()
        database = server.create_store()
        pooler = start_pooler(server, default_pool_size="1", server_login_retry="1")
        gateway = start(url=pooler.url(database))
        with pooler.connect(database) as other:
            other.execute("SET synchronous_commit = off")
        keys = [fresh_key() for _ in range(40)]
        firsts = [assert_first(gateway.post(key=key)) for key in keys]
        server.crash()
        server.start()
        with server.connect(database) as admin:
            assert admin.execute("SELECT count(*) FROM onceguard.records").fetchone()[0] == 40
        wait_until(lambda: gateway.post(key=fresh_key()).status == 201, 60, "the store back")
        for key, first in zip(keys, firsts):
            assert_replay_of(gateway.post(key=key), first)
            assert own_upstream.runs(key) == 1
    finally:
        server.close()


def test_a_pooler_that_names_the_servers_process_is_found_by_the_statements_that_vanish(
        start, pooler, database, fresh_key):
    with pooler.connect(database) as other:
        process = other.execute("SELECT pg_backend_pid()").fetchone()[0]
        masquerade = Masquerade(pooler.port.number, process)
        try:
            gateway = start(url=f"postgresql://postgres@127.0.0.1:{masquerade.port}/{database}")
            for _ in range(20):
                key = fresh_key()
                first = assert_first(gateway.post(key=key))
                other.execute("DEALLOCATE ALL")
                assert_replay_of(gateway.post(key=key), first)
            assert masquerade.greetings >= 4
            gateway.logged("store-behind-pooler")
        finally:
            masquerade.close()


def test_tokens_grow_though_the_pooler_changes_the_server_unnoticed(start, admin, own_upstream,
                                                                     fresh_key):
    gateway = start()
    assert_first(gateway.post(key=fresh_key()))
    for hours in (1, 2, 3):
        # As on a server that was promoted and whose clock stands behind.
        floor = admin.execute("UPDATE onceguard.meta SET floor = onceguard.now_ms() * 1000 "
                              "+ %s * 3600000000 RETURNING floor", [hours]).fetchone()[0]
        key = fresh_key()
        assert_first(gateway.post(key=key))
        assert int(own_upstream.requests(key)[0]["token"]) > floor


# ---- the pooler dies ------------------------------------------------------------------------
def test_nothing_runs_twice_across_the_death_of_the_pooler(start, pooler, own_upstream, fresh_key):
    gateway = start()
    keys = [fresh_key() for _ in range(scaled(400, 60))]
    over = threading.Event()

    def send(part):
        for key in part:
            while not over.is_set() and gateway.post(key=key).status != 201:
                over.wait(0.02)

    senders = [threading.Thread(target=send, args=(keys[i::6],)) for i in range(6)]
    for sender in senders:
        sender.start()
    try:
        own_upstream.arrived(10)
        for _ in range(3):
            pooler.kill()
            pooler.start()
        for sender in senders:
            sender.join(300)
            assert not sender.is_alive()
    finally:
        over.set()
    assert [own_upstream.runs(key) for key in keys] == [1] * len(keys)
    assert all(gateway.post(key=key).replayed for key in keys)


# ---- where there are no transactions ----------------------------------------------------------
def test_statement_pooling_is_refused_before_anything_is_set(onceguard, start_pooler,
                                                             postgres_server, database):
    pooler = start_pooler(pool_mode="statement", default_pool_size="1")
    with pooler.connect(database) as other:
        before = other.execute("SHOW statement_timeout").fetchone()
        for command in (("stats",), ("keys", "list"), ("migrate",)):
            refused = run(onceguard, *command, "--store", pooler.url(database))
            assert refused.returncode != 0
            assert "pool_mode = transaction" in refused.stderr, (command, refused)
        assert other.execute("SHOW statement_timeout").fetchone() == before
    empty = postgres_server.create_database()
    assert run(onceguard, "migrate", "--store", pooler.url(empty)).returncode != 0
    with postgres_server.connect(empty) as admin:
        assert admin.execute("SELECT to_regnamespace('onceguard')").fetchone() == (None,)


def test_session_pooling_works_as_well(start_pooler, start, database, fresh_key):
    gateway = start(url=start_pooler(pool_mode="session", default_pool_size="20").url(database))
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)


# ---- applications -----------------------------------------------------------------------------
def lease_of(request):
    return next(value for name, value in request["fields"] if name.lower() == "onceguard-lease")


def test_an_application_completes_in_its_own_transaction_through_the_pooler(
        start, pooler, database, admin, fresh_key, own_upstream):
    admin.execute("CREATE TABLE charges (key text)")
    key = fresh_key()
    gateway = start(route=[{"path": "/charges", "effect": "transactional"}])
    pending = gateway.begin_post(key=key, plan={"gate": "paid"})
    lease = lease_of(own_upstream.arrived(1, key)[0])
    with pooler.connect(database) as shop:
        other_lease = shop.execute("SELECT lease FROM onceguard.claim('s', 'k')").fetchone()[0]
        shop.execute("SELECT onceguard.release(%s)", [other_lease])
        superseding = shop.execute("SELECT verdict FROM onceguard.claim('s', 'k')").fetchone()[0]
        assert superseding == "run"
    with pooler.connect(database, autocommit=False) as shop:
        shop.execute("INSERT INTO charges VALUES (%s)", [key])
        shop.execute("SELECT onceguard.complete(%s, 201, null, 'from the application')", [lease])
        shop.commit()
        shop.execute("INSERT INTO charges VALUES ('too late')")
        with pytest.raises(psycopg.Error) as stale:
            shop.execute("SELECT onceguard.complete(%s, 201)", [other_lease])
        assert stale.value.sqlstate == "OG001"
        shop.commit()
    own_upstream.open("paid")
    with pending:
        assert pending.read().body == b"from the application"
    assert gateway.post(key=key).body == b"from the application"
    assert admin.execute("SELECT key FROM charges").fetchall() == [(key,)]


def test_execute_charges_once_in_the_callers_connection_through_the_pooler(
        onceguard, pooler, database, admin):
    admin.execute("CREATE TABLE charges (id integer GENERATED ALWAYS AS IDENTITY, "
                  "customer text, cents integer CHECK (cents > 0))")
    charge = [onceguard.parent / "examples/execute/charge", pooler.url(database), "order-17", "ada"]
    with pooler.connect(database) as other:
        before = state_of(other)
        other.execute("SET synchronous_commit = off")
        said = [run(*charge, "4200").stdout.strip() for _ in range(2)]
        assert said == ['201 {"id":1}', '201 {"id":1} (replayed)']
        assert run(*charge, "1").returncode == 1
        other.execute("RESET synchronous_commit")
        assert state_of(other) == before
    assert admin.execute("SELECT count(*) FROM charges").fetchone() == (1,)
