"""What an operator does beside a running gateway."""

import json
import signal

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import records_of
from support.waiting import Stopwatch, wait_until

CONFIG = {"defaults": {"upstream_timeout": "1s"}}
LOST = {"drop": "body"}


def make_unknown(gateway, key, plan=None):
    """The connection breaks: nobody can say that the work is over."""
    # 504: a busy upstream took longer than its timeout.
    assert gateway.post(key=key, plan=plan or LOST).status in (502, 504)


def resolve(gateway, *arguments):
    """Refused while the work may still be under way: until the upstream's timeout is over."""
    def done():
        result = gateway.command("keys", *arguments)
        return result if result.returncode == 0 else None
    return wait_until(done, timeout=10, what=" ".join(arguments))


def test_keys_are_listed_by_state(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {"route": [{"path": "/fails", "backoff": "60s",
                                                  "outcome": {"500": "fail"}}]})
    completed, unknown, failed, running = (fresh_key() for _ in range(4))
    assert_first(gateway.post(key=completed))
    make_unknown(gateway, unknown)
    assert gateway.post("/fails", key=failed, plan={"status": 500}).status == 500
    with gateway.begin_post(key=running, plan={"gate": running}) as connection:
        upstream.arrived(1, running)
        states = {r["key"]: r["state"] for r in gateway.keys()}
        assert states == {completed: "completed", unknown: "unknown", failed: "failed",
                          running: "in_progress"}
        for key, state in states.items():
            assert [r["key"] for r in gateway.keys("--state", state)] == [key]
        upstream.open(running)
        assert_first(connection.read())


def test_hundreds_of_keys_are_all_listed(start_gateway, upstream):
    gateway = start_gateway(upstream)
    with gateway.connect() as connection:
        for number in range(350):
            connection.send_request("POST", "/", [("Idempotency-Key", f"n-{number}")], b"")
            assert_first(connection.read())
    assert sorted(r["key"] for r in gateway.keys()) == sorted(f"n-{n}" for n in range(350))


def test_show_prints_what_an_operator_needs(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"route": [{"path": "/v1/pay"}]})
    assert gateway.post("/v1/pay/7?secret=1", key=key, plan={"status": 502}).status == 502
    shown = gateway.command("keys", "show", key, "--json")
    assert shown.returncode == 0, shown
    record = records_of(shown.stdout)[0]
    assert record["key"] == key and record["state"] == "unknown"
    text = json.dumps(record)
    for part in ("POST", "/v1/pay/7", '"/v1/pay"', "502"):
        assert part in text, (part, text)
    assert "secret" not in text
    plain = gateway.command("keys", "show", key)
    assert plain.returncode == 0 and key in plain.stdout and "unknown" in plain.stdout


def test_a_key_that_is_not_there(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    for arguments in (["show", key], ["release", key], ["complete", key]):
        assert gateway.command("keys", *arguments).returncode == 5, arguments


def test_unknown_is_completed_with_an_answer(start_gateway, upstream, key):
    gateway = start_gateway(upstream, CONFIG)
    make_unknown(gateway, key)
    resolve(gateway, "complete", key, "--status", "201", "--body", '{"payment":"p_1"}')
    answer = gateway.post(key=key)
    assert (answer.status, answer.body) == (201, b'{"payment":"p_1"}')
    assert answer.replayed
    assert upstream.runs(key) == 1
    assert gateway.state(key) == "completed"


def test_unknown_is_completed_without_an_answer(start_gateway, upstream, key):
    gateway = start_gateway(upstream, CONFIG)
    make_unknown(gateway, key)
    resolve(gateway, "complete", key)
    assert_problem(gateway.post(key=key), 409, "answer-not-kept", False)
    assert upstream.runs(key) == 1


def test_unknown_is_released(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"defaults": {"upstream_timeout": "3s"}})
    make_unknown(gateway, key)
    resolve(gateway, "release", key)
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    runs = upstream.requests(key)
    assert [r["attempt"] for r in runs] == ["1", "2"]
    assert int(runs[1]["token"]) > int(runs[0]["token"])


def test_a_release_is_refused_until_the_upstreams_timeout_is_over(start_gateway, upstream,
                                                                  fresh_key):
    gateway = start_gateway(upstream, {"defaults": {"upstream_timeout": "2s"}})

    def asked_in_time():
        """On a busy machine the command may come when the time is over."""
        key, clock = fresh_key(), Stopwatch()
        make_unknown(gateway, key)
        refused = gateway.command("keys", "release", key)
        return (key, clock, refused) if clock.seconds < 1.9 else None
    key, clock, refused = wait_until(asked_in_time, what="a release before the time is over")
    assert refused.returncode == 1, refused
    assert refused.stderr
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    resolve(gateway, "release", key)
    assert clock.seconds > 1.9
    assert_first(gateway.post(key=key))


def test_after_an_answer_nothing_is_under_way(start_gateway, upstream, key):
    """The upstream said 500: that leaves it unknown, but over."""
    gateway = start_gateway(upstream)
    make_unknown(gateway, key, {"status": 502})
    assert gateway.command("keys", "release", key).returncode == 0
    assert_first(gateway.post(key=key))


def test_force_does_not_wait(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    make_unknown(gateway, key)
    assert gateway.command("keys", "release", key).returncode == 1
    assert gateway.command("keys", "release", key, "--force").returncode == 0
    assert_first(gateway.post(key=key))


def test_what_runs_is_released_by_force_only(start_gateway, upstream, key):
    """It then completes after all: that is a fact, and an incident."""
    gateway = start_gateway(upstream)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        assert gateway.command("keys", "release", key).returncode == 1
        assert gateway.command("keys", "complete", key).returncode == 1
        assert gateway.command("keys", "release", key, "--force").returncode == 0
        upstream.open(key)
        first = assert_first(running.read())
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_a_holder_that_was_overruled_sends_the_operators_answer(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    with gateway.begin_post(key=key, plan={"gate": key, "body": "its own"}) as running:
        upstream.arrived(1, key)
        done = gateway.command("keys", "complete", key, "--status", "202", "--body", "decided",
                               "--force")
        assert done.returncode == 0, done
        upstream.open(key)
        answer = running.read()
    assert (answer.status, answer.body) == (202, b"decided")
    assert gateway.post(key=key).body == b"decided"


def test_a_completed_key_is_not_completed_again(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    first = assert_first(gateway.post(key=key))
    again = gateway.command("keys", "complete", key, "--status", "200", "--body", "x")
    assert again.returncode == 1, again
    assert_replay_of(gateway.post(key=key), first)


def test_a_released_answer_leaves_every_memory(start_gateway, upstream, key):
    """When the command returns, no gateway on that file replays it any more."""
    gateway = start_gateway(upstream)
    other = start_gateway(upstream, database=gateway.database)
    first = assert_first(gateway.post(key=key))
    for each in (gateway, other):
        for _ in range(3):  # now it is in the memory of both
            assert_replay_of(each.post(key=key), first)

    clock = Stopwatch()
    resolve(gateway, "release", key)
    assert clock.seconds < 15
    second = assert_first(other.post(key=key))
    assert second.body != first.body
    assert_replay_of(gateway.post(key=key), second)
    assert upstream.runs(key) == 2


@pytest.mark.parametrize("timeout", ["2s", "30s"])
def test_a_frozen_process_serves_nothing_that_was_released_meanwhile(
        start_gateway, upstream, key, timeout):
    gateway = start_gateway(upstream, {"store": {"timeout": timeout}})
    assert_first(gateway.post(key=key))
    assert gateway.post(key=key).replayed
    gateway.signal(signal.SIGSTOP)
    try:
        done = gateway.command("keys", "release", key)
        assert done.returncode == 0, done
        asking = gateway.begin_post(key=key)  # what it finds first when it wakes
    finally:
        gateway.signal(signal.SIGCONT)
    with asking:
        assert_first(asking.read())
    assert upstream.runs(key) == 2


def test_a_key_of_two_scopes_needs_the_scope(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    for name in ("ann", "bob"):
        fields = [("Authorization", f"Bearer {name}")]
        assert gateway.post(key=key, plan=LOST, fields=fields).status == 502
    assert gateway.command("keys", "release", key, "--force").returncode not in (0, 5)
    scopes = [r["scope"] for r in upstream.requests(key)]
    done = gateway.command("keys", "release", key, "--scope", scopes[0], "--force")
    assert done.returncode == 0, done
    assert_first(gateway.post(key=key, fields=[("Authorization", "Bearer ann")]))
    bob = gateway.post(key=key, fields=[("Authorization", "Bearer bob")])
    assert_problem(bob, 409, "outcome-unknown", False)


def test_sweep_removes_what_outlived_its_retention(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {"store": {"sweep": "1h"}, "route": [
        {"path": "/short", "retention": "1s"}]})
    short, lasting, unknown = (fresh_key() for _ in range(3))
    assert_first(gateway.post("/short", key=short))
    assert_first(gateway.post(key=lasting))
    assert gateway.post("/short", key=unknown, plan=LOST).status == 502

    def swept():
        assert gateway.command("sweep").returncode == 0
        return {r["key"] for r in gateway.keys()} == {lasting, unknown}
    wait_until(swept, what="the sweep")


def test_a_gateway_sweeps_by_itself(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"store": {"sweep": "100ms"},
                                       "defaults": {"retention": "3s"}})
    clock = Stopwatch()
    assert_first(gateway.post(key=key))
    assert gateway.state(key) == "completed" or clock.seconds > 3  # on a busy machine
    wait_until(lambda: gateway.record(key) is None, what="the sweep")


def test_stats_count_the_states(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    for _ in range(3):
        assert_first(gateway.post(key=fresh_key()))
    make_unknown(gateway, fresh_key())
    reported = gateway.command("stats")
    assert reported.returncode == 0
    words = reported.stdout.split()
    assert words[words.index("completed") + 1].strip(":,") == "3", reported.stdout
    assert words[words.index("unknown") + 1].strip(":,") == "1", reported.stdout


@pytest.mark.parametrize("arguments", [["keys", "list"], ["stats"], ["sweep"]])
def test_a_store_that_is_out_of_reach(start_gateway, upstream, arguments):
    gateway = start_gateway(upstream, started=False)
    gateway.database = gateway.folder / "missing" / "onceguard.db"
    assert gateway.command(*arguments).returncode == 4


def test_an_answer_that_is_missing_is_added_for_all_gateways(start_gateway, upstream, store, key):
    """In one step: there is no moment at which the operation could run a second time."""
    config = {"store": store, "defaults": {"max_answer_body": "16"}}
    first = start_gateway(upstream, config)
    other = start_gateway(upstream, config, database=first.database)
    assert_first(first.post(key=key, plan={"body": "x" * 100}))

    def known(gateway):
        """A slow copy into an accelerator turns a repeat away until the next poll."""
        return wait_until(lambda: (said := gateway.post(key=key)).problem != "in-progress"
                          and said, what="the answer")
    for gateway in (first, other):
        assert_problem(known(gateway), 409, "answer-not-kept", False)
    retention = first.record(key)["retention_left_ms"]
    bare = first.command("keys", "complete", key)
    assert bare.returncode == 1, bare
    assert "--status" in bare.stderr and "release" not in bare.stderr
    done = first.command("keys", "complete", key, "--status", "201", "--body", "by hand")
    assert (done.returncode, done.stdout) == (0, "completed\n"), done
    for gateway in (other, first):
        answer = known(gateway)
        assert (answer.status, answer.body) == (201, b"by hand")
        assert answer.all("Idempotent-Replayed") == ["true"]
    assert first.record(key)["retention_left_ms"] <= retention
    again = first.command("keys", "complete", key, "--status", "204", "--force")
    assert again.returncode == 1, again
    assert other.post(key=key).body == b"by hand"
    assert upstream.runs(key) == 1


def test_complete_without_a_record_says_that_the_next_request_runs(gateway, upstream, key):
    first = assert_first(gateway.post(key=key))
    freed = gateway.command("keys", "release", key)
    assert freed.stdout == "released: the next request with this key runs the operation again\n"
    done = gateway.command("keys", "complete", key, "--status", "201")
    assert done.returncode == 5, done
    assert "the next request with the key runs" in done.stderr
    assert first.body and upstream.runs(key) == 1
