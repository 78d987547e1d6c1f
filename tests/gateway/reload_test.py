"""What SIGHUP changes, on every thread, and what it says about records that it leaves behind."""

import contextlib
import os
import signal

import pytest

from support.client import fields_for
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.redis import FIRST_POLL
from support.tcp_gate import TcpGate
from support.upgrading import adopting_orphans, upgrade
from support.waiting import Stopwatch, wait_until

TENANT = [("Authorization", "Bearer ann"), ("X-Tenant", "shop")]


def reload(gateway, config):
    before = gateway.log().count('"reloaded"')
    gateway.reload(config)
    wait_until(lambda: gateway.log().count('"reloaded"') > before, what="the reload")


def events(gateway, name):
    return [line for line in gateway.log_lines() if line.get("event") == name]


def test_every_connection_of_every_thread_gets_the_new_rules(start_gateway, upstream, own_upstream,
                                                             fresh_key):
    gateway = start_gateway(upstream, {"gateway": {"threads": 4}})
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(gateway.connect()) for _ in range(16)]
        for connection in kept:
            connection.send_request("POST", "/x", fields_for(fresh_key()), b"12345")
            assert_first(connection.read())
        reload(gateway, {
            "gateway": {"threads": 4}, "upstream": [{"name": "shop", "url": own_upstream.url}],
            "defaults": {"max_request_body": 4},
            "route": [{"path": "/x", "required": True},
                      {"path": "/late", "upstream_timeout": "300ms"}]})
        # The threads learn of it one after the other, and none is left out.
        for connection in kept:
            def needs_a_key(connection=connection):
                connection.send_request("POST", "/x", [], b"")
                return connection.read().status == 400
            wait_until(needs_a_key, what="the new rule")
        for connection in kept:
            key = fresh_key()
            connection.send_request("POST", "/x", fields_for(key), b"1234")
            assert_first(connection.read())
            assert own_upstream.runs(key) == 1 and upstream.runs(key) == 0
            late = fields_for(fresh_key(), {"gate": "never"})
            connection.send_request("POST", "/late", late, b"1")
            assert_problem(connection.read(), 504, "upstream-timeout", True)
        for connection in kept:
            connection.send_request("POST", "/x", fields_for(fresh_key()), b"12345")
            assert_problem(connection.read(), 413, "request-too-large", False)


def test_after_a_loss_what_the_new_rules_allow_is_waited_for(start_gateway, upstream, fresh_key,
                                                             tmp_path):
    """Requests of the new rules may be under way for longer than those of the start."""
    def config(timeout):
        return {"gateway": {"state_dir": str(tmp_path)},
                "defaults": {"lease": "1s", "upstream_timeout": timeout}}
    gateway = start_gateway(upstream, config("1s"))
    reload(gateway, config("100s"))
    assert_first(gateway.post_in_time(key=fresh_key()))
    for file in gateway.folder.glob(gateway.database.name + "*"):
        file.unlink()
    refused = wait_until(lambda: next((a for a in [gateway.post(key=fresh_key())]
                                       if int(a.get("Retry-After", "0")) > 1), None),
                         what="the refusal")
    assert 60 < int(refused.get("Retry-After")) <= 101


def test_after_a_loss_runs_are_flagged_for_the_retention_of_the_new_rules(start_gateway, upstream,
                                                                          fresh_key):
    def config(retention):
        return {"store": {"after_loss": "flag"}, "defaults": {"retention": retention}}
    gateway = start_gateway(upstream, config("1s"))
    reload(gateway, config("1h"))
    assert_first(gateway.post(key=fresh_key()))
    for file in gateway.folder.glob(gateway.database.name + "*"):
        file.unlink()
    wait_until(lambda: gateway.post(key=fresh_key()).status < 300, what="the next run")
    clock = Stopwatch()
    wait_until(lambda: clock.seconds > 1.5, what="the end of the retention of the start")
    key = fresh_key()
    assert_first(gateway.post(key=key))
    assert gateway.record(key)["maybe_repeated"] is True


def test_a_changed_scope_is_logged_with_the_number_of_its_records(start_gateway, upstream,
                                                                  fresh_key):
    gateway = start_gateway(upstream, {"defaults": {"scope": "address"}})
    for number in range(20):
        fields = [*TENANT, ("Cookie", f"n={number}")]
        assert_first(gateway.post(f"/a/{number}", key=fresh_key(), fields=fields))
    assert gateway.post("/a", key=fresh_key(), plan={"status": 404}).status == 404  # released
    changed = {"route": [{"path": "/a", "scope": "header:X-Tenant"}, {"path": "/b"}]}
    reload(gateway, changed)
    reported = wait_until(lambda: events(gateway, "scope-changed"), what="a line about it")
    assert [(t["level"], t["route"], t["records"], t["under"], t["scope"]) for t in reported] == [
        ("error", "/a", 20, "address", "header:x-tenant")]
    assert "previous_scope" in reported[0]["hint"]
    gateway.restart()
    wait_until(lambda: len(events(gateway, "scope-changed")) == 2, what="a line after a restart")


def test_a_store_that_is_back_is_looked_at_then(start_gateway, upstream, redis_server, key):
    url = redis_server.create_store()
    with contextlib.closing(TcpGate(redis_server.port.number)) as gate:
        def config(scope, timeout):
            place = url.replace(str(redis_server.port.number), str(gate.port))
            return {"store": {"url": place, "timeout": timeout}, "defaults": {"scope": scope}}
        gateway = start_gateway(upstream, config("address", "10s"))
        assert_first(gateway.post("/told", key=key, fields=TENANT))
        gateway.stop()
        gateway.write_config(config("none", "1s"))
        gate.hold_at(FIRST_POLL)
        gateway.start()
        wait_until(lambda: events(gateway, "store-away"), what="the store hanging")
        assert events(gateway, "scope-changed") == []
        gate.pass_on()
        wait_until(lambda: events(gateway, "scope-changed"), what="a line about the scope")


def settled_down(gateway):
    """The records were looked through once more: something stands there that must be told."""
    return wait_until(lambda: [e for e in events(gateway, "scope-changed")
                               if e["route"] == "/told"], what="the look")


def test_a_scope_that_is_still_searched_is_not_logged(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {"defaults": {"scope": "address"}})
    routes = [{"path": "/same", "scope": "address"},
              {"path": "/former", "scope": "none", "previous_scope": ["cookie:a", "address"]},
              {"path": "/told", "scope": "none"}]
    for route in routes:
        assert_first(gateway.post(route["path"], key=fresh_key(), fields=TENANT))
    reload(gateway, {"route": routes})
    settled_down(gateway)
    gateway.stop()
    assert len(events(gateway, "scope-changed")) == 1


def test_an_anonymous_caller_is_one_of_the_credential(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    for path in ("/told", "/x", "/y"):
        for fields in ([], TENANT):
            assert_first(gateway.post(path, key=fresh_key(), fields=fields))
    reload(gateway, {"route": [
        {"path": "/told", "scope": "none"}, {"path": "/x", "scope": "credential"},
        {"path": "/y", "scope": "address", "previous_scope": ["credential"]}]})
    settled_down(gateway)
    wait_until(lambda: {e["under"] for e in events(gateway, "scope-changed")}
               == {"anonymous", "credential"}, what="both lines")
    gateway.stop()
    assert len(events(gateway, "scope-changed")) == 2


def test_a_renamed_upstream_keeps_its_identity(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    first = assert_first(gateway.post(key=key))
    renamed = {"upstream": [{"name": "store", "identity": "shop", "url": upstream.url}]}
    reload(gateway, renamed)
    assert_replay_of(gateway.post(key=key), first)
    gateway.restart()
    assert_replay_of(gateway.post(key=key), first)
    assert events(gateway, "upstream-renamed") == []


def test_a_renamed_upstream_is_logged(start_gateway, upstream, own_upstream, fresh_key):
    gateway = start_gateway(upstream)
    keys = [fresh_key() for _ in range(3)]
    for key in keys:
        assert_first(gateway.post(key=key))
    assert_first(gateway.post("/elsewhere", key=fresh_key()))
    reload(gateway, {"upstream": [{"name": "store", "url": upstream.url},
                                  {"name": "other", "url": own_upstream.url}],
                     "route": [{"path": "/elsewhere", "upstream": "other"}]})
    reported = wait_until(lambda: events(gateway, "upstream-renamed"), what="a line about it")
    assert [(t["level"], t["upstream"], t["before"], t["records"]) for t in reported] == [
        ("error", "store", "shop", 3)]
    gateway.stop()
    assert len(events(gateway, "upstream-renamed")) == 1
    gateway.start()
    assert_problem(gateway.post(key=keys[0]), 422, "key-reused", False)
    assert upstream.runs(keys[0]) == 1


def test_another_place_of_the_key_is_logged(start_gateway, upstream):
    def config(*keys):
        return {"route": [{"path": path, "key": key} for path, key in
                          zip(("/other", "/more", "/same"), keys)]}
    gateway = start_gateway(upstream, config(["X-One"], ["X-One"], ["X-One"]))
    reload(gateway, config(["X-Two"], ["X-One", "X-Two"], ["x-one"]))
    said, = wait_until(lambda: events(gateway, "key-source-changed"), what="a line about it")
    assert (said["route"], said["level"]) == ("/other", "error")
    assert (said["before"], said["key"]) == ("x-one", "x-two")


RULES = """
[[route]]
path = "/pay"
required = true
[[route]]
path = "/hooks"
webhook = "github"
webhook_secret_file = "secret"
"""


@pytest.fixture
def by_variables(start_gateway, own_upstream):
    """A gateway whose file needs to say nothing. It has not been started."""
    made = start_gateway(own_upstream, started=False)
    made.environment = {"ONCEGUARD_UPSTREAM": own_upstream.url, "ONCEGUARD_STORE": "memory:",
                        "ONCEGUARD_LISTEN": f"127.0.0.1:{made.port.number}"}
    secret = made.folder / "secret"
    secret.write_text("a secret\n")
    secret.chmod(0o600)
    return made


def emptied(path):
    path.write_text("")


def blanked(path):
    path.write_text("\n# [[route]]\n\n")


def replaced_by_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("lose, why", [
    (emptied, "has nothing in it"), (blanked, "has nothing in it"),
    (replaced_by_a_pipe, "nobody writes to it")])
def test_a_file_that_lost_all_it_said_takes_no_rule_away(by_variables, own_upstream, key, lose,
                                                         why):
    gateway = by_variables
    gateway.config_path.write_text(RULES)
    gateway.start()

    def refused():
        return gateway.post("/pay").status, gateway.post("/hooks").status

    assert refused() == (400, 403)
    lose(gateway.config_path)
    gateway.signal(signal.SIGHUP)
    gateway.logged("reload-refused")
    assert str(gateway.config_path) in gateway.log() and why in gateway.log()
    assert refused() == (400, 403)
    assert own_upstream.requests() == []
    gateway.config_path.unlink()
    gateway.config_path.write_text(RULES.replace("/pay", "/buy"))
    gateway.signal(signal.SIGHUP)
    gateway.logged("reloaded")
    assert_first(gateway.post("/pay", key=key))


def test_a_file_that_never_said_anything_may_be_read_again(by_variables, key):
    emptied(by_variables.config_path)
    by_variables.start()
    by_variables.signal(signal.SIGHUP)
    by_variables.logged("reloaded")
    assert_first(by_variables.post(key=key))


def test_signals_to_the_old_process_concern_its_successor(start_gateway, upstream, key):
    """Whoever sends them has looked the process up before."""
    gateway = start_gateway(upstream, {"gateway": {"drain": "100s"}})
    with adopting_orphans(), gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        former = upgrade(gateway)
        for number, event in (signal.SIGHUP, "reloaded"), (signal.SIGUSR1, "signal-ignored"):
            former.send_signal(number)
            wait_until(lambda event=event: len(gateway.logged(event)) == 2, what=f"both {event}")
        upstream.open(key)
        assert_first(running.read())
        assert former.wait(60) == 0
