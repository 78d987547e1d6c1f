"""`onceguard reconcile`: what became of records whose outcome nobody knows."""

import json
import subprocess

import psycopg
import pytest

from support.expecting import assert_first
from support.gateway import clean_environment
from support.waiting import scaled, wait_until

AUTH = [("Authorization", "Bearer ann")]
QUERY = "SELECT status, headers, body FROM orders WHERE scope = $1 AND key = $2"
LOST = {"status": 500}  # the answer does not say whether the effect happened


class Shop:
    """A service's tables, in the store's own database."""

    def __init__(self, server, database):
        self.server, self.database = server, database
        self.run("CREATE TABLE orders (scope text, key text, status int, headers text[],"
                 " body bytea, outcome text)")

    def run(self, sql, values=()):
        with self.server.connect(self.database) as at:
            done = at.execute(sql, values)
            return done.fetchall() if done.description else None

    def order(self, request, status=201, headers=(), body=b"", outcome=None):
        """The effect of that request is there."""
        self.run("INSERT INTO orders VALUES (%s, %s, %s, %s, %s, %s)",
                 (request["scope"], request["key"], status, list(headers), body, outcome))

    def records(self):
        """Everything that the store has, as text."""
        return self.run("SELECT r::text FROM onceguard.records r ORDER BY r.digest") + self.run(
            "SELECT c::text FROM onceguard.lease_counts c ORDER BY c.connection")


@pytest.fixture
def shop(postgres_server):
    return Shop(postgres_server, postgres_server.create_store())


@pytest.fixture
def config(postgres_server, shop):
    return {"store": {"url": postgres_server.url(shop.database), "timeout": "5s"},
            "defaults": {"lease": "1s", "upstream_timeout": "5s"},
            "reconcile": {"query": QUERY, "absent": "none"}}


def start(gateway, *more):
    return subprocess.Popen(
        [str(gateway.binary), "reconcile", "--config", str(gateway.config_path), *more],
        cwd=gateway.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=clean_environment())


def end(process):
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return {line["key"]: line for line in map(json.loads, out.splitlines())}


def reconcile(gateway, *more):
    """What was decided, by key."""
    return end(start(gateway, "--json", *more))


def refused(gateway, code, *more):
    process = start(gateway, *more)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, ""), said
    return said


def make_unknown(gateway, key, plan=None):
    """The upstream answers 500."""
    def ran():
        # The leases here are short: a slow machine may have nothing left of one, and runs nothing.
        answer = gateway.post(key=key, plan=plan or LOST, fields=AUTH)
        return None if answer.problem == "overloaded" else answer
    assert wait_until(ran, timeout=20, what="a lease that is long enough").status == 500


def ask(gateway, key):
    return gateway.post_in_time(key=key, fields=AUTH)


def request_of(upstream, key):
    return upstream.requests(key)[0]


def settled(gateway, *keys):
    """Reconciles until it was not too early for any of these; all that was decided of them."""
    decided = {}

    def all_decided():
        decided.update({k: line for k, line in reconcile(gateway).items()
                        if line["decided"] != "too_early"})
        return set(keys) <= set(decided)
    wait_until(all_decided, 30, "the end of the upstream's timeout")
    return decided


def test_the_query_decides(start_gateway, own_upstream, shop, config, fresh_key):
    config["defaults"]["upstream_timeout"] = "3s"
    gateway = start_gateway(own_upstream, config)
    done, none, died_done, died_none = (fresh_key() for _ in range(4))
    for key in (done, none):
        make_unknown(gateway, key)
    for key in (died_done, died_none):
        gateway.begin_in_time(own_upstream, key=key, plan={"gate": "never"}, fields=AUTH)
    gateway.kill()
    wait_until(lambda: len(gateway.keys("--state", "unknown")) == 4, 20)
    shop.order(request_of(own_upstream, done), 202, ["X-Order", "7", "Link", "a", "Link", "b"],
               b'{"order":7}')
    shop.order(request_of(own_upstream, died_done))

    reported = settled(gateway, done, none, died_done, died_none)
    assert [reported[k]["decided"] for k in (done, none, died_done, died_none)] == [
        "done", "not_done", "done", "not_done"]
    assert reported[done]["was_unknown"] == "upstream_status"
    assert reported[died_none]["was_unknown"] == "holder_gone"
    assert all(line["means"] == "query" and line["dry_run"] is False for line in reported.values())
    assert reported[done]["fenced_with"] > int(request_of(own_upstream, done)["token"])

    gateway.start()
    answer = ask(gateway, done)
    assert answer.replayed and (answer.status, answer.body) == (202, b'{"order":7}')
    assert (answer.all("X-Order"), answer.all("Link")) == (["7"], ["a", "b"])
    assert ask(gateway, died_done).status == 201
    for key in (none, died_none):
        assert_first(ask(gateway, key))
        assert own_upstream.runs(key) == 2
    assert own_upstream.runs(done) == own_upstream.runs(died_done) == 1


def test_not_before_the_upstreams_timeout_is_over(start_gateway, own_upstream, shop, config, key):
    """A look finds nothing while the first attempt is still on its way."""
    config["defaults"] = {"lease": "1s", "upstream_timeout": "1h"}
    config["gateway"] = {"drain": "1h"}
    gateway = start_gateway(own_upstream, config)
    with gateway.begin_in_time(own_upstream, key=key, plan={"gate": "never"}, fields=AUTH):
        gateway.kill()
    wait_until(lambda: gateway.state(key) == "unknown", 20)
    before = shop.records()
    line = reconcile(gateway)[key]
    assert line["decided"] == "too_early" and 3_500_000 < line["retry_after_ms"] <= 3_600_000
    assert shop.records() == before


def test_reconciliation_fences_earlier_attempts_off(start_gateway, own_upstream, shop, config, key):
    gateway = start_gateway(own_upstream, config)
    make_unknown(gateway, key)
    assert reconcile(gateway)[key]["decided"] == "not_done"
    lease = dict(request_of(own_upstream, key)["fields"])["Onceguard-Lease"]
    with pytest.raises(psycopg.Error) as refusal:
        shop.run("SELECT onceguard.complete(%s)", (lease,))
    assert refusal.value.sqlstate == "OG001"


def test_the_query_gets_the_token(start_gateway, own_upstream, shop, config, key):
    """With it the application's own tables can refuse what comes later."""
    shop.run("CREATE TABLE fences (scope text, key text, token bigint)")
    config["reconcile"]["query"] = (
        "WITH fence AS (INSERT INTO fences VALUES ($1, $2, $3))"
        " SELECT status FROM orders WHERE scope = $1 AND key = $2")
    gateway = start_gateway(own_upstream, config)
    make_unknown(gateway, key)
    before = shop.records()
    preview = reconcile(gateway, "--dry-run")[key]
    assert preview["decided"] == "still_unknown" and "read-only" in preview["why"]
    assert shop.records() == before and shop.run("SELECT * FROM fences") == []
    line = reconcile(gateway)[key]
    assert line["decided"] == "not_done"
    request = request_of(own_upstream, key)
    assert shop.run("SELECT * FROM fences") == [(request["scope"], key, line["fenced_with"])]


def test_a_query_that_can_not_commit_says_nothing(start_gateway, own_upstream, shop, config, key):
    """What fences an earlier attempt off is there only when it is committed."""
    shop.run("CREATE TABLE fences (scope text, key text, token bigint, one int"
             " UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    shop.run("INSERT INTO fences (one) VALUES (1)")
    config["reconcile"]["query"] = (
        "WITH fence AS (INSERT INTO fences VALUES ($1, $2, $3, 1))"
        " SELECT status FROM orders WHERE scope = $1 AND key = $2")
    gateway = start_gateway(own_upstream, config)
    make_unknown(gateway, key)
    line = reconcile(gateway)[key]
    assert line["decided"] == "still_unknown" and "duplicate key" in line["why"]
    assert gateway.state(key) == "unknown"
    shop.run("DELETE FROM fences")
    assert settled(gateway, key)[key]["decided"] == "not_done"


def test_a_dry_run_changes_nothing(start_gateway, own_upstream, shop, config, fresh_key):
    gateway = start_gateway(own_upstream, config)
    done, none = fresh_key(), fresh_key()
    for key in (done, none):
        make_unknown(gateway, key)
    shop.order(request_of(own_upstream, done))
    before = shop.records()
    reported = reconcile(gateway, "--dry-run")
    assert (reported[done]["decided"], reported[none]["decided"]) == ("done", "not_done")
    assert all(line["dry_run"] and line["fenced_with"] == 0 for line in reported.values())
    assert shop.records() == before
    process = start(gateway, "--dry-run")
    page, _ = process.communicate(timeout=60)
    assert page.splitlines()[-1] == "1 done, 1 not done; nothing was changed"


def test_the_query_may_report_in_a_column(start_gateway, own_upstream, shop, config, fresh_key):
    config["reconcile"] = {"query":
                           "SELECT outcome, status FROM orders WHERE scope = $1 AND key = $2"}
    gateway = start_gateway(own_upstream, config)
    keys = [fresh_key() for _ in range(6)]
    for key in keys:
        make_unknown(gateway, key)
    for key, outcome in zip(keys, ("done", "none", "unknown", "perhaps", None)):
        shop.order(request_of(own_upstream, key), outcome=outcome)
    reported = reconcile(gateway)
    decided = [reported[key]["decided"] for key in keys]
    assert decided == ["done", "not_done"] + 4 * ["still_unknown"]
    assert reported[keys[5]]["why"] == "no row"
    assert [gateway.state(key) for key in keys] == ["completed", "released"] + 4 * ["unknown"]


def test_what_is_no_clear_answer_stays_unknown(start_gateway, own_upstream, shop, config,
                                               fresh_key):
    gateway = start_gateway(own_upstream, config)
    twice, status, header, fine = (fresh_key() for _ in range(4))
    for key in (twice, status, header, fine):
        make_unknown(gateway, key)
    shop.order(request_of(own_upstream, twice))
    shop.order(request_of(own_upstream, twice))
    shop.order(request_of(own_upstream, status), status=99)
    shop.order(request_of(own_upstream, header), headers=["X-A", "1\r\nX-Evil: 1"])
    shop.order(request_of(own_upstream, fine), status=None, body=None)
    reported = reconcile(gateway)
    assert [reported[key]["decided"] for key in (twice, status, header)] == 3 * ["still_unknown"]
    assert reported[twice]["why"] == "more than one row"
    assert reported[fine]["decided"] == "done"
    assert ask(gateway, fine).problem == "answer-not-kept"


def test_no_row_means_unknown_unless_configured(start_gateway, own_upstream, shop, config,
                                                         key):
    config["reconcile"].pop("absent")
    gateway = start_gateway(own_upstream, config)
    make_unknown(gateway, key)
    found = reconcile(gateway)[key]
    assert (found["decided"], found["why"]) == ("still_unknown", "no row")


def test_two_at_once_decide_each_record_once(start_gateway, own_upstream, shop, config,
                                             fresh_key):
    gateway = start_gateway(own_upstream, config)
    keys = [fresh_key() for _ in range(scaled(100, least=20))]
    for number, key in enumerate(keys):
        make_unknown(gateway, key)
        if number % 2 == 0:
            shop.order(request_of(own_upstream, key))
    reported = [end(one) for one in [start(gateway, "--json"), start(gateway, "--json")]]
    for number, key in enumerate(keys):
        decided = [lines[key]["decided"] for lines in reported
                   if key in lines and lines[key]["decided"] != "left_alone"]
        assert decided == ["done" if number % 2 == 0 else "not_done"]
    assert sum(r["state"] == "completed" for r in gateway.keys()) == (len(keys) + 1) // 2


def test_the_limit_holds(start_gateway, own_upstream, shop, config, fresh_key):
    gateway = start_gateway(own_upstream, config)
    for key in [fresh_key() for _ in range(3)]:
        make_unknown(gateway, key)
    assert len(reconcile(gateway, "--limit", "2")) == 2
    assert len(reconcile(gateway, "--limit", "2")) == 1


def test_the_gateway_reconciles_by_itself(start_gateway, own_upstream, shop, config, fresh_key):
    """Two gateways with the same schedule do not get in one another's way."""
    config["reconcile"]["interval"] = "100ms"
    one, other = (start_gateway(own_upstream, config) for _ in range(2))
    done, none = fresh_key(), fresh_key()
    # Before the key is unknown: nothing may say that it did not happen in between.
    for key in (done, none):
        with one.begin_in_time(own_upstream, key=key, plan={"gate": key, **LOST},
                               fields=AUTH) as request:
            if key == done:
                shop.order(request_of(own_upstream, key), body=b"kept")
            own_upstream.open(key)
            assert request.read().status == 500
    wait_until(lambda: (one.state(done), one.state(none)) == ("completed", "released"), 20)
    assert ask(other, done).body == b"kept"

    def decided():
        return [(line["key"], line["decided"], line["means"], line["was_unknown"])
                for gateway in (one, other) for line in gateway.log_lines()
                if line["event"] == "reconciled"]
    wait_until(lambda: len(decided()) >= 2)
    assert sorted(decided()) == sorted([(done, "done", "query", "upstream_status"),
                                        (none, "not_done", "query", "upstream_status")])


def test_another_database_may_hold_the_tables(start_gateway, own_upstream, postgres_server, shop,
                                              fresh_key):
    """The store is a SQLite file, and the service's tables are elsewhere."""
    gateway = start_gateway(own_upstream, {"reconcile": {
        "query": QUERY, "absent": "none", "database": postgres_server.url(shop.database)}})
    done, none = fresh_key(), fresh_key()
    for key in (done, none):
        make_unknown(gateway, key)
    shop.order(request_of(own_upstream, done))
    reported = reconcile(gateway)
    assert (reported[done]["decided"], reported[none]["decided"]) == ("done", "not_done")
    assert [gateway.state(key) for key in (done, none)] == ["completed", "released"]


def test_a_probe_decides_on_any_store(start_gateway, own_upstream, store, fresh_key):
    gateway = start_gateway(own_upstream, {"store": store, "defaults": {
        "probe": own_upstream.url + "/outcome/{scope}/{key}", "lease": "2s"}})
    done, none, bare = (fresh_key() for _ in range(3))
    for key in (done, none, bare):
        make_unknown(gateway, key)
    scope = request_of(own_upstream, done)["scope"]
    said = {done: {"status": 200, "headers": [["Onceguard-Outcome", "done"]], "body": "kept"},
            none: {"status": 404, "headers": [["Onceguard-Outcome", "none"]],
                   "echo_fields": ["Onceguard-Token"]},
            bare: {"status": 404}}
    for key, plan in said.items():
        own_upstream.plan(f"/outcome/{scope}/{key}", {"effect": False, **plan})
    assert {line["why"] for line in reconcile(gateway, "--dry-run").values()} == {"would be asked"}
    assert own_upstream.requests(path="/outcome/") == []
    reported = reconcile(gateway)
    assert [reported[key]["decided"] for key in (done, none, bare)] == [
        "done", "not_done", "still_unknown"]
    for asked in own_upstream.requests(path="/outcome/"):
        key = asked["key"].strip('"')
        assert int(asked["token"]) == reported[key]["fenced_with"]
    assert ask(gateway, done).body == b"kept"
    assert_first(ask(gateway, none))
    assert ask(gateway, bare).problem == "outcome-unknown"


def test_each_route_has_its_own_probe(start_gateway, own_upstream, shop, config, fresh_key):
    """A route without one is left to the query."""
    config["route"] = [{"path": "/paid", "probe": own_upstream.url + "/outcome/{scope}/{key}"}]
    gateway = start_gateway(own_upstream, config)
    probed, queried = fresh_key(), fresh_key()
    own_upstream.plan("/outcome/", {"status": 200, "effect": False,
                                    "headers": [["Onceguard-Outcome", "done"]]})
    assert gateway.post_in_time("/paid/x", key=probed, plan=LOST, fields=AUTH).status == 500
    make_unknown(gateway, queried)
    reported = reconcile(gateway)
    assert (reported[probed]["means"], reported[probed]["decided"]) == ("probe", "done")
    assert (reported[queried]["means"], reported[queried]["decided"]) == ("query", "not_done")
    assert reported[probed]["route"] == "/paid"


def test_what_cannot_work_is_refused(start_gateway, own_upstream, shop, config, key):
    def configured(store, **reconcile_table):
        return start_gateway(own_upstream, {"store": store, "reconcile": reconcile_table},
                             started=False)
    store = config["store"]
    assert "nobody can be asked" in refused(configured(store), 3)
    assert "$2" in refused(configured(store, query="SELECT 1"), 3)
    assert "PostgreSQL" in refused(configured({}, query=QUERY), 3)
    assert "no_such_table" in refused(
        configured(store, query="SELECT 1 FROM no_such_table WHERE key = $2"), 3)
    assert "status must be an integer" in refused(
        configured(store, query="SELECT 'x'::text AS status FROM orders WHERE key = $2"), 3)
    unreachable = f"postgresql://postgres@127.0.0.1:1/{shop.database}"
    refused(configured(store, query=QUERY, database=unreachable), 4)
    refused(configured({"url": unreachable}, query=QUERY), 4)
    gateway = start_gateway(own_upstream, config)
    make_unknown(gateway, key)
    refused(gateway, 2, "--limit", "many")
    assert gateway.state(key) == "unknown"


def test_the_help_has_an_example(onceguard):
    done = subprocess.run([str(onceguard), "reconcile", "--help"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0
    assert "--dry-run" in done.stdout and "onceguard reconcile --store" in done.stdout
