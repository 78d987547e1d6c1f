"""The application completes in the transaction of its effect: exactly once, whatever dies."""

import collections
import contextlib
import datetime
import http.server
import random
import threading

import psycopg
import pytest

from support.waiting import Stopwatch, scaled, wait_until

BODY = b'{"amount":100}'


class Shop:
    """A service whose effect and whose word to Onceguard commit together."""

    def __init__(self, conninfo):
        self.conninfo = conninfo
        self.before_begin = lambda: None
        self.before_commit = lambda lease: None
        self.after_commit = lambda: None
        self.failures = []
        self.level = "READ COMMITTED"
        self.statement = None
        self.answer = (201, [["Content-Type", "text/plain"], ["Link", "a"], ["Link", "b"]], b"paid")
        with psycopg.connect(conninfo) as at:
            at.execute("CREATE TABLE charges (key text NOT NULL, token bigint NOT NULL)")
        shop = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    shop.charge(self.headers)
                    self.send(201, b"from the service")
                except psycopg.Error as failed:
                    shop.failures.append(failed.sqlstate)
                    self.send(500, b"")

            def send(self, status, body):
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def charge(self, fields):
        lease, key = fields["Onceguard-Lease"], fields["Idempotency-Key"].strip('"')
        self.before_begin()
        with psycopg.connect(self.conninfo) as at:
            at.execute(f"SET TRANSACTION ISOLATION LEVEL {self.level}")
            at.execute("INSERT INTO charges VALUES (%s, %s)", (key, int(fields["Onceguard-Token"])))
            self.before_commit(lease)
            if self.statement:
                at.execute(self.statement, (lease,))
            elif self.answer is None:
                at.execute("SELECT onceguard.complete(%s)", (lease,))
            else:
                at.execute("SELECT onceguard.complete(%s, %s, %s, %s)", (lease, *self.answer))
        self.after_commit()

    def charges(self):
        with psycopg.connect(self.conninfo) as at:
            return collections.Counter(r[0] for r in at.execute("SELECT key FROM charges"))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def shop(postgres_server, database):
    with contextlib.closing(Shop(postgres_server.conninfo(database))) as running:
        yield running


@pytest.fixture
def config(postgres_server, database):
    return {"store": {"url": postgres_server.url(database), "timeout": "5s"},
            "defaults": {"effect": "transactional", "lease": "30s", "upstream_timeout": "20s"}}


@pytest.fixture
def hasty(config):
    """Where a gateway dies, and what it left is waited for."""
    config["defaults"].update(lease="3s", upstream_timeout="2s")
    return config


def begin_until(gateway, key, begun):
    """A request whose work has begun; on a busy machine too little of the lease may be left."""
    def has_begun():
        connection = gateway.begin_post(key=key)
        wait_until(lambda: begun.is_set() or not connection.silent_for(0.01), what="the work")
        if begun.is_set():
            return connection
        with connection:
            answer = connection.read()
        assert gateway.left_no_time(answer), answer
        return None
    return wait_until(has_begun, what="a lease that is long enough")


def test_what_the_application_stored_is_the_answer_for_the_first_client_too(
        start_gateway, shop, config, key):
    gateway = start_gateway(shop.url, config)
    first, again = gateway.post(key=key), gateway.post(key=key)
    assert (first.status, first.body, again.body) == (201, b"paid", b"paid")
    assert again.all("Link") == ["a", "b"]
    assert shop.charges() == {key: 1}
    assert gateway.record(key)["by_application"] is True


def test_without_an_answer_the_gateway_adds_the_services_own_once(start_gateway, shop, config,
                                                                  key):
    shop.answer = None
    gateway = start_gateway(shop.url, config)
    first, again = gateway.post(key=key), gateway.post(key=key)
    assert (first.status, first.body) == (201, b"from the service")
    assert again.replayed and again.body == first.body
    assert shop.charges() == {key: 1}


def test_a_failure_after_the_commit_is_no_failure(start_gateway, shop, config, key):
    """The service dies in rendering its 201: the effect is a fact, and so is its answer."""
    def fail():
        raise psycopg.Error("rendering")
    shop.after_commit = fail
    gateway = start_gateway(shop.url, config)
    assert (gateway.post(key=key).status, gateway.post(key=key).body) == (201, b"paid")
    assert shop.charges() == {key: 1}
    assert gateway.stop() == 0
    lines = [line for line in gateway.log_lines() if "record" in line]
    events = [line["event"] for line in lines]
    assert events.count("request") == 2 and "outcome-unknown" not in events
    ran = next(line for line in lines if line.get("settled"))
    assert ran["settled"] == "complete" and "reason" not in ran


def test_a_superseded_attempt_cannot_commit(start_gateway, shop, hasty, key):
    """The gateway dies, the key is taken over at once, and the first attempt wakes up."""
    asleep, wake = threading.Event(), threading.Event()

    def hold(_):
        if not asleep.is_set():
            asleep.set()
            wake.wait(300)
    shop.before_commit = hold
    gateway = start_gateway(shop.url, hasty)
    with begin_until(gateway, key, asleep):
        gateway.kill()
    gateway.start()
    wait_until(lambda: gateway.post(key=key).status == 201, what="the takeover")
    wake.set()
    wait_until(lambda: shop.failures, what="the end of the first attempt")
    assert shop.failures == ["OG001"]
    assert shop.charges() == {key: 1}
    assert gateway.post(key=key).body == b"paid"


def test_exactly_once_whenever_the_gateway_dies(start_gateway, shop, hasty, fresh_key):
    gateway = start_gateway(shop.url, hasty)
    rng = random.Random(7)
    keys = [fresh_key() for _ in range(scaled(40, least=6))]
    for key in keys:
        begun = threading.Event()
        shop.before_commit = shop.after_commit = lambda *_: None
        if rng.random() < 0.5:
            shop.before_commit = lambda _, it=begun: it.set()
        else:
            shop.after_commit = begun.set
        with begin_until(gateway, key, begun):
            gateway.kill()
        gateway.start()
    shop.before_commit = shop.after_commit = lambda *_: None
    for key in keys:
        wait_until(lambda k=key: gateway.post(key=k).status == 201, what="the outcome")
        assert gateway.post(key=key).body == b"paid"
    assert shop.charges() == {key: 1 for key in keys}


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_transaction_longer_than_the_lease_commits_at_any_level(
        start_gateway, shop, config, key, level, postgres_server, database):
    """Only another lease, in its place, makes it stale."""
    def end_lease():
        with postgres_server.connect(database) as at:
            done = at.execute("UPDATE onceguard.records SET deadline_at = 1 WHERE deadline_at > 1")
            assert done.rowcount == 1

    shop.level, shop.before_begin = level, end_lease
    gateway = start_gateway(shop.url, config)
    assert gateway.post(key=key).body == b"paid"
    assert gateway.post(key=key).body == b"paid"
    assert shop.charges() == {key: 1} and not shop.failures


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_lease_is_not_renewed_while_its_transaction_lasts(start_gateway, shop, hasty, key,
                                                           level):
    """What renews one, after a third of it, would write the row that the transaction completes."""
    def last(_):
        began = Stopwatch()
        wait_until(lambda: began.seconds > 2.5, what="the time")

    shop.level, shop.before_commit = level, last
    hasty["defaults"]["upstream_timeout"] = "20s"
    gateway = start_gateway(shop.url, hasty)
    assert gateway.post(key=key).body == b"paid"
    assert shop.charges() == {key: 1} and not shop.failures


def test_the_retention_of_the_route_holds_for_what_the_application_completes(
        start_gateway, shop, config, key, postgres_server, database):
    config["defaults"]["retention"] = "7d"
    assert start_gateway(shop.url, config).post(key=key).body == b"paid"
    with postgres_server.connect(database) as at:
        kept = at.execute("SELECT expires_at - settled_at FROM onceguard.keys").fetchall()
    assert kept == [(datetime.timedelta(days=7),)]


def test_a_caught_error_of_complete_fails_the_commit(start_gateway, shop, config, key,
                                                     postgres_server, database):
    """As with a savepoint around each statement, which some drivers set by themselves."""
    leases = []
    shop.before_commit = leases.append
    start_gateway(shop.url, config).post(key=key)
    with postgres_server.connect(database, autocommit=False) as at:
        at.execute("SELECT onceguard.must_settle(%s)", leases)
        at.execute("SAVEPOINT before_complete")
        with pytest.raises(psycopg.Error) as failed:
            at.execute("SELECT onceguard.complete(%s)", leases)
        assert failed.value.sqlstate == "OG001"  # it has taken effect already
        at.execute("ROLLBACK TO SAVEPOINT before_complete")
        at.execute("INSERT INTO charges VALUES (%s, 0)", [key])
        with pytest.raises(psycopg.Error) as failed:
            at.commit()
        assert failed.value.sqlstate == "OG001"
    assert shop.charges() == {key: 1}


def test_a_lease_that_is_settled_within_savepoints_commits(postgres_server, database, key):
    with postgres_server.connect(database, autocommit=False) as at:
        for release in ("RELEASE SAVEPOINT inner_one", "SELECT"):
            lease = at.execute("SELECT lease FROM onceguard.claim('s', %s)",
                               [key + release]).fetchone()[0]
            at.commit()
            at.execute("SELECT onceguard.must_settle(%s)", [lease])
            at.execute("SAVEPOINT inner_one")
            for _ in range(2):
                at.execute("SELECT onceguard.complete(%s, 201)", [lease])
            at.execute(release)
            at.execute("SELECT onceguard.complete(%s, 500)", [lease])  # the first answer stays
            at.commit()
        assert at.execute("SELECT status, state FROM onceguard.keys").fetchall() == \
            2 * [(201, "completed")]
        assert at.execute("SELECT count(*) FROM onceguard.must_settle").fetchone() == (0,)


@pytest.mark.parametrize("headers", ["{X-A,\"a\\r\\nSet-Cookie: b\"}", "{\"X-A: b\",c}",
                                     "{Transfer-Encoding,chunked}", "{Content-Length,50}"])
def test_a_stored_answer_that_can_not_be_sent_is_unreadable(start_gateway, shop, config, key,
                                                           headers):
    """By the function that the C++ library uses, whose answers need not be HTTP's."""
    shop.statement = ("SELECT onceguard.complete_now(%s, 200, ARRAY(SELECT convert_to(h, 'UTF8') "
                      "FROM unnest(" + ("E" if "r" in headers else "") + "'" + headers +
                      "'::text[]) h), 'paid', NULL)")
    gateway = start_gateway(shop.url, config)
    for _ in range(2):
        assert gateway.post(key=key).problem == "record-unreadable"
    assert shop.charges() == {key: 1}
    assert gateway.process.poll() is None


def test_a_direct_connection_is_taken_for_no_poolers(start_gateway, shop, config, key):
    gateway = start_gateway(shop.url, config)
    assert [gateway.post(key=key).body for _ in range(2)] == 2 * [b"paid"]
    assert "store-behind-pooler" not in gateway.log() and "store-away" not in gateway.log()
