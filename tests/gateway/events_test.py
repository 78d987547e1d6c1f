"""What needs a person is an event, once: unknown outcomes, other scopes, outages, repeated runs."""

import contextlib
import signal
import sqlite3

import pytest

from support.expecting import assert_first, assert_problem
from support.redis import Redis
from support.waiting import Stopwatch, wait_until

ANN = [("Authorization", "Bearer ann-1")]
ANN_LATER = [("Authorization", "Bearer ann-2")]


def events(gateway, name):
    return [line for line in gateway.log_lines() if line["event"] == name]


def short(digest):
    return digest[:12]


@pytest.mark.parametrize("policy, plan, reason, status", [
    ({}, {"status": 500}, "upstream_status", 500),
    ({}, {"drop": "head"}, "upstream_broken", 0),
    ({"upstream_timeout": "200ms"}, {"gate": "never"}, "upstream_timeout", 0),
])
def test_a_record_that_becomes_unknown_is_logged_once(start_gateway, own_upstream, key, policy,
                                                      plan, reason, status):
    gateway = start_gateway(own_upstream, {"defaults": policy, "route": [{"path": "/pay"}]})
    gateway.post("/pay", key=key, plan=plan)
    seen = gateway.logged("outcome-unknown")[0]
    record = gateway.record(key)
    assert seen["record"] == short(record["record"])
    assert (seen["route"], seen["upstream"]) == ("/pay", "shop")
    assert (seen["reason"], seen["upstream_status"]) == (reason, status)
    for _ in range(3):
        assert_problem(gateway.post("/pay", key=key, plan=plan), 409, "outcome-unknown", False)
    assert gateway.stop() == 0
    assert len(events(gateway, "outcome-unknown")) == 1


def test_the_unknown_outcomes_of_a_killed_gateway_are_logged_by_the_next(start_gateway,
                                                                        own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"lease": "1s"}})
    with gateway.begin_in_time(own_upstream, key=key, plan={"gate": "never"}):
        gateway.kill()
    gateway.start()
    wait_until(lambda: gateway.post(key=key).problem == "outcome-unknown", 20, "the lease's end")
    for _ in range(3):
        assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert gateway.stop() == 0
    found = events(gateway, "outcome-unknown")
    assert [(each["reason"], each["record"]) for each in found] == [
        ("holder_gone", short(gateway.record(key)["record"]))]


@pytest.mark.parametrize("unknown, ends_as", [("probe", (409, "outcome-unknown")),
                                               ("rerun", (201, ""))])
def test_a_record_whose_holder_is_gone_is_logged_by_the_claim_that_takes_it_over(
        start_gateway, own_upstream, key, unknown, ends_as):
    own_upstream.plan("/outcome/", {"status": 500, "effect": False})
    gateway = start_gateway(own_upstream, {
        "defaults": {"lease": "1s", "unknown": unknown,
                     "probe": own_upstream.url + "/outcome/{scope}/{key}"},
        "route": [{"path": "/pay"}]})
    with gateway.begin_in_time(own_upstream, "/pay", key=key, plan={"gate": "never"}):
        gateway.kill()
    gateway.start()

    def taken_over():
        answer = gateway.post("/pay", key=key, plan={})
        return answer.problem != "in-progress" and not gateway.left_no_time(answer) and answer
    answer = wait_until(taken_over, 20, "the lease's end")
    assert (answer.status, answer.problem or "") == ends_as
    gateway.post("/pay", key=key, plan={})
    assert gateway.stop() == 0
    found = events(gateway, "outcome-unknown")
    assert [(each["route"], each["reason"], each["record"], each["upstream"]) for each in found] \
        == [("/pay", "holder_gone", short(gateway.record(key)["record"]), "shop")]


def test_a_key_that_becomes_unknown_again_is_another_event(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    for count in (1, 2):
        assert gateway.post(key=key, plan={"status": 500}).status == 500
        assert len(gateway.logged("outcome-unknown", count)) == count
        done = gateway.command("keys", "release", key)
        assert done.returncode == 0, done
    assert own_upstream.runs(key) == 2
    assert gateway.stop() == 0
    assert len(events(gateway, "outcome-unknown")) == 2


def test_a_probe_that_says_nothing_of_a_killed_gateways_key_leaves_its_event(
        start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {
        "lease": "1s", "unknown": "probe", "probe": own_upstream.url + "/outcome/{scope}/{key}"}})
    own_upstream.plan("/outcome", {"status": 404})
    with gateway.begin_in_time(own_upstream, key=key, plan={"gate": "never"}):
        gateway.kill()
    gateway.start()
    wait_until(lambda: gateway.post(key=key).problem == "outcome-unknown", 20, "the lease's end")
    assert own_upstream.requests(path=f"/outcome/{gateway.record(key)['scope']}/{key}")
    assert gateway.stop() == 0
    assert [each["reason"] for each in events(gateway, "outcome-unknown")] == ["holder_gone"]


def test_a_lease_that_is_left_at_the_end_of_a_drain_is_logged(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"gateway": {"drain": "300ms"}})
    with gateway.begin_post(key=key, plan={"gate": "never"}):
        own_upstream.arrived(1, key)
        assert gateway.stop() == 0
    found = events(gateway, "outcome-unknown")
    assert [(each["reason"], each["upstream"]) for each in found] == [("abandoned", "shop")]
    assert found[0]["record"] == short(gateway.record(key)["record"])


def test_a_refreshed_token_is_an_event_with_both_scopes(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"route": [{"path": "/pay"}]})
    assert_first(gateway.post("/pay", key=key, fields=ANN))
    assert_first(gateway.post("/pay", key=key, fields=ANN_LATER))
    assert upstream.runs(key) == 2
    seen = gateway.logged("other-scope")[0]
    scopes = {short(each["scope"]): short(each["record"]) for each in gateway.keys()
              if each["key"] == key}
    assert len(scopes) == 2 and {seen["scope"], seen["before"]} == set(scopes)
    assert seen["record"] == scopes[seen["scope"]] and seen["route"] == "/pay"
    for fields in (ANN, ANN_LATER):
        assert gateway.post("/pay", key=key, fields=fields).replayed
    assert gateway.stop() == 0
    assert len(events(gateway, "other-scope")) == 1


def test_another_content_or_route_under_another_scope_is_no_event(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post("/a", key=key, fields=ANN))
    assert_first(gateway.post("/a", key=key, fields=ANN_LATER, body=b"{}"))
    assert_first(gateway.post("/b", key=key, fields=[("Authorization", "Bearer bob")]))
    assert gateway.stop() == 0
    assert events(gateway, "other-scope") == []


@contextlib.contextmanager
def outage_of_sqlite(start_gateway, upstream, _):
    gateway = start_gateway(upstream, {"store": {"timeout": "1s"}})
    other = sqlite3.connect(gateway.database, isolation_level=None, timeout=10)
    try:
        yield gateway, lambda: other.execute("BEGIN EXCLUSIVE"), lambda: other.execute("ROLLBACK")
    finally:
        other.close()


@contextlib.contextmanager
def outage_of_redis(start_gateway, upstream, _):
    server = Redis().start()
    try:
        url = f"redis://127.0.0.1:{server.port.number}"
        gateway = start_gateway(upstream, {"store": {"url": url, "timeout": "1s"}})
        yield (gateway, lambda: server.process.send_signal(signal.SIGSTOP),
               lambda: server.process.send_signal(signal.SIGCONT))
    finally:
        server.close()


@pytest.mark.parametrize("outage", [outage_of_sqlite, outage_of_redis])
def test_an_outage_of_the_store_is_one_event_away_and_one_back(start_gateway, own_upstream,
                                                               fresh_key, outage):
    def is_one():
        """Not where the store is late for a busy machine, too: that is an outage of its own."""
        with outage(start_gateway, own_upstream, fresh_key) as (gateway, begin, end):
            if gateway.post(key=fresh_key()).status != 201:
                return False
            begin()
            clock = Stopwatch()
            refused = 0
            while clock.seconds < 5:  # several polls
                for asking in [gateway.begin_post(key=fresh_key()) for _ in range(4)]:
                    with asking:
                        assert_problem(asking.read(), 503, "store-unreachable", True,
                                       retry_after=True)
                    refused += 1
            if len(events(gateway, "store-away")) != 1 or events(gateway, "store-back"):
                return False
            end()
            back = gateway.logged("store-back")[0]
            away = events(gateway, "store-away")
            wait_until(lambda: gateway.post(key=fresh_key()).status == 201, 20, "the store")
            assert gateway.stop() == 0
        assert not events(gateway, "store-poll-failed") and not events(gateway, "store-refused")
        if len(away) != 1 or len(events(gateway, "store-away")) != 1:
            return False
        assert len(events(gateway, "store-back")) == 1
        assert away[0]["store"] == back["store"] and away[0]["why"]
        # A poll that was answered amid the first failures begins the outage anew: SQLite's readers
        # are not locked out.
        assert 2_000 < back["after_ms"] < 30_000
        assert back["failed"] >= refused - 8
        return True
    assert any(is_one() for _ in range(3))


def test_a_run_after_a_loss_is_logged(start_gateway, upstream, fresh_key, tmp_path):
    gateway = start_gateway(upstream, {"gateway": {"state_dir": str(tmp_path)},
                                       "store": {"after_loss": "flag"}})
    assert_first(gateway.post(key=fresh_key()))
    assert gateway.stop() == 0
    assert events(gateway, "maybe-repeated") == []
    for file in gateway.folder.glob(gateway.database.name + "*"):
        file.unlink()
    gateway.start()
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    assert gateway.post(key=key).stored_part() == first.stored_part()
    seen = gateway.logged("maybe-repeated")
    assert [each["record"] for each in seen] == [short(gateway.record(key)["record"])]


def test_every_digest_of_the_log_has_twelve_digits(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    gateway.post(key=key, plan={"status": 500})
    gateway.post(key=key)
    assert gateway.stop() == 0
    digests = [line[name] for line in gateway.log_lines() for name in ("record", "scope", "before")
               if name in line]
    assert len(digests) >= 5 and {len(each) for each in digests} == {12}
