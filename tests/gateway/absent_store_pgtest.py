"""A gateway that starts without its PostgreSQL store, or without an accelerator."""

import signal

import psycopg
import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.postgres import Postgres, migration_text
from support.redis import Redis
from support.waiting import wait_until


@pytest.fixture
def server():
    """A server that a test may stop; it is not started yet."""
    made = Postgres()
    yield made
    made.close()


@pytest.fixture
def accelerator():
    """A Redis that is not started yet."""
    made = Redis()
    yield made
    made.close()


def guarded_request_is_refused(gateway, upstream, key):
    assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    assert upstream.runs(key) == 0


def first_answer(gateway, key):
    """The answer to the key's first request, once the store is there."""
    answer = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.status != 503), None),
                        20, "the store in use")
    return assert_first(answer)


def stored_once(gateway, upstream, key):
    first = first_answer(gateway, key)
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


@pytest.fixture
def start(start_gateway, own_upstream):
    def started(url, **store):
        return start_gateway(own_upstream, {"store": {"url": url, **store}})
    return started


def test_postgresql_that_starts_after_the_gateway(server, start, own_upstream, key):
    server.start()
    url = server.url(server.create_store())
    server.stop()
    gateway = start(url)
    assert gateway.get("/").status == 201, "unguarded requests need no store"
    guarded_request_is_refused(gateway, own_upstream, key)
    line, = gateway.logged("store-not-opened")
    assert (line["level"], line["store"]) == ("error", "postgres")
    assert f"127.0.0.1:{server.port.number}" in line["why"] and "doctor" in line["hint"]
    server.start()
    stored_once(gateway, own_upstream, key)
    back, = gateway.logged("store-opened")
    assert back["store"] == "postgres" and back["after_ms"] > 0
    # A server that starts slowly is another reason in between.
    reasons = [line["why"] for line in gateway.logged("store-not-opened")]
    assert len(reasons) == len(set(reasons))
    assert gateway.stop() == 0


def test_a_tiered_store_whose_servers_start_after_the_gateway(server, accelerator, start,
                                                              own_upstream, key):
    server.start()
    url = server.url(server.create_store())
    server.stop()
    gateway = start(url, accelerator=f"redis://127.0.0.1:{accelerator.port.number}")
    guarded_request_is_refused(gateway, own_upstream, key)
    assert gateway.logged("store-not-opened")[0]["store"] == "tiered"
    server.start()
    stored_once(gateway, own_upstream, key)
    accelerator.start()
    gateway.logged("accelerator-opened")
    stored_once(gateway, own_upstream, key + "-2")


def test_an_open_route_runs_unguarded_until_the_store_is_there(server, start_gateway, own_upstream,
                                                               key):
    server.start()
    url = server.url(server.create_store())
    server.stop()
    gateway = start_gateway(own_upstream, {"store": {"url": url},
                                           "defaults": {"store_failure": "open"}})
    for _ in range(2):
        assert_first(gateway.post(key=key))
    assert own_upstream.runs(key) == 2
    server.start()
    wait_until(lambda: gateway.state(key + "-2") is None and
               assert_first(gateway.post(key=key + "-2")) and gateway.state(key + "-2"), 20,
               "the store in use")


def test_a_schema_that_is_made_after_the_start(postgres_server, start, own_upstream, key):
    database = postgres_server.create_database()
    gateway = start(postgres_server.url(database))
    guarded_request_is_refused(gateway, own_upstream, key)
    assert "run: onceguard migrate --store" in gateway.logged("store-not-opened")[0]["why"]
    done = gateway.command("migrate")
    assert done.returncode == 0, done
    stored_once(gateway, own_upstream, key)


def test_a_database_that_is_made_after_the_start(postgres_server, start, own_upstream, key):
    gateway = start(postgres_server.url("made_late"))
    guarded_request_is_refused(gateway, own_upstream, key)
    assert '"made_late" does not exist' in gateway.logged("store-not-opened")[0]["why"]
    with postgres_server.connect() as admin:
        admin.execute("CREATE DATABASE made_late")
    with postgres_server.connect("made_late") as at:
        at.execute(migration_text())
    stored_once(gateway, own_upstream, key)


def test_a_right_that_is_granted_after_the_start(postgres_server, start, own_upstream, key):
    database = postgres_server.create_store()
    with postgres_server.connect() as admin:
        admin.execute("DROP ROLE IF EXISTS late_gateway")
        admin.execute("CREATE ROLE late_gateway LOGIN")
    gateway = start(postgres_server.url(database, "late_gateway"))
    guarded_request_is_refused(gateway, own_upstream, key)
    why = gateway.logged("store-not-opened")[0]["why"]
    grant = why.split(" types: ")[1].split(";")[0]
    assert grant == 'GRANT onceguard_gateway TO "late_gateway"'
    with postgres_server.connect() as admin:
        admin.execute(grant)
    stored_once(gateway, own_upstream, key)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_gateway_without_its_store_drains(server, start, own_upstream, key, number):
    gateway = start(server.url("nothing"))
    guarded_request_is_refused(gateway, own_upstream, key)
    running = gateway.connect()
    running.send_request("GET", "/", [("X-Trace-Plan", '{"gate": "one"}')])
    wait_until(lambda: own_upstream.requests(method="GET"), what="the request running")
    gateway.signal(number)
    gateway.logged("draining")
    own_upstream.open("one")
    assert running.read().status == 201
    running.close()
    assert gateway.wait() == 0
    assert "stopped" in [line["event"] for line in gateway.log_lines()]


def test_a_url_that_can_not_be_right_is_a_wrong_configuration(start_gateway, own_upstream):
    for url in ("postgresql://h/d?no_such_option=1", "postgresql://h/d?port=1,2",
                "postgresql://user:pa%zzss@h/d"):
        gateway = start_gateway(own_upstream, {"store": {"url": url}}, started=False)
        gateway.start(wait=False)
        assert gateway.wait() == 3, url
        gateway.says("[store] url: ")
        assert "pa%zzss" not in gateway.log()


def test_a_schema_of_newer_versions_ends_the_start(postgres_server, start_gateway, own_upstream):
    database = postgres_server.create_store()
    with psycopg.connect(postgres_server.conninfo(database)) as at:
        at.execute("UPDATE onceguard.meta SET schema_version = 999, minimum_version = 999")
    gateway = start_gateway(own_upstream, {"store": {"url": postgres_server.url(database)}},
                            started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    assert "newer version of onceguard" in gateway.logged("store-not-opened")[0]["why"]
