"""Another scope for a route while records of the former one are alive."""

import contextlib

import pytest

from support.client import all_at_once, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.tcp_gate import TcpGate
from support.waiting import Stopwatch, wait_until

ANN = [("Authorization", "Bearer ann"), ("X-Tenant", "shop")]
BEFORE = {"defaults": {"lease": "10s"}}
AFTER = {"defaults": {"scope": "header:X-Tenant", "lease": "10s",
                      "previous_scope": ["cookie:never-was", "credential"]}}


def change(gateway, how, config=None):
    """To the new scope, by a reload or a restart."""
    config = config or AFTER
    if how == "reload":
        before = gateway.log().count('"reloaded"')
        gateway.reload(config)
        wait_until(lambda: gateway.log().count('"reloaded"') > before, what="the reload")
    else:
        gateway.stop()
        gateway.write_config(config)
        gateway.start()


@pytest.fixture(params=["reload", "restart"])
def how(request):
    return request.param


def test_a_completed_key_is_replayed(start_gateway, upstream, how, store, fresh_key):
    gateway = start_gateway(upstream, {**BEFORE, "store": store})
    old, new = fresh_key(), fresh_key()
    first = assert_first(gateway.post(key=old, fields=ANN))
    change(gateway, how, {**AFTER, "store": store})
    # A slow copy into an accelerator turns a repeat away until the next poll.
    wait_until(lambda: gateway.post(key=old, fields=ANN).problem != "in-progress",
               what="the answer")
    for _ in range(2):
        assert_replay_of(gateway.post(key=old, fields=ANN), first)
    assert_problem(gateway.post(key=old, fields=ANN, body=b"other"), 422, "key-reused", False)
    assert upstream.runs(old) == 1
    # And what is new stands under the new scope: another credential of the tenant is no stranger.
    first = assert_first(gateway.post(key=new, fields=ANN))
    others = [("Authorization", "Bearer refreshed"), ("X-Tenant", "shop")]
    assert_replay_of(gateway.post(key=new, fields=others), first)
    assert_first(gateway.post(key=new, fields=[("X-Tenant", "another")]))
    assert gateway.record(old)["scope_kind"] == "credential"
    assert {r["scope_kind"] for r in gateway.keys() if r["key"] == new} == {"header:x-tenant"}


def test_many_repeats_at_once_are_all_replays(start_gateway, upstream, key):
    gateway = start_gateway(upstream, BEFORE)
    first = assert_first(gateway.post(key=key, fields=ANN, content_type=None))
    change(gateway, "restart")
    request = request_bytes("POST", "/charges", [*ANN, ("Idempotency-Key", key)],
                            b'{"amount":100}')
    for answer in all_at_once(gateway.address, [request] * 30):
        assert_replay_of(answer, first)
    assert upstream.runs(key) == 1


def test_another_former_scope_is_a_stranger(start_gateway, upstream, key):
    gateway = start_gateway(upstream, BEFORE)
    assert_first(gateway.post(key=key, fields=ANN))
    change(gateway, "restart")
    assert_first(gateway.post(key=key, fields=[("Authorization", "Bearer bob"),
                                               ("X-Tenant", "shop")]))
    assert upstream.runs(key) == 2


def test_an_anonymous_record_is_compared_by_its_distinguishing_fields(start_gateway, upstream, key):
    gateway = start_gateway(upstream, BEFORE)
    first = assert_first(gateway.post(key=key, fields=[("X-Tenant", "shop"), ("Cookie", "a=1")]))
    change(gateway, "restart")
    other = [("X-Tenant", "shop"), ("Cookie", "a=2")]
    assert_problem(gateway.post(key=key, fields=other), 422, "key-reused", False)
    again = [("X-Tenant", "shop"), ("Cookie", "a=1")]
    assert_replay_of(gateway.post(key=key, fields=again), first)
    assert upstream.runs(key) == 1


def test_a_record_of_another_fingerprint_method(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"defaults": {"fingerprint": "json"}})
    anonymous = [("X-Tenant", "shop"), ("Cookie", "a=1")]
    first = assert_first(gateway.post(key=key, fields=anonymous, body=b'{"a": 1}'))
    change(gateway, "restart")
    assert_replay_of(gateway.post(key=key, fields=anonymous, body=b'{"a":1}'), first)


def test_what_runs_is_busy_and_its_end_is_everybodys(start_gateway, upstream, key):
    gateway = start_gateway(upstream, BEFORE)
    with gateway.begin_post(key=key, fields=ANN, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        change(gateway, "reload")
        assert_problem(gateway.post(key=key, fields=ANN), 409, "in-progress", True,
                       retry_after=True)
        upstream.open(key)
        first = assert_first(running.read())
    assert_replay_of(gateway.post(key=key, fields=ANN), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("scope, runs", [("header:X-Tenant", 0), ("credential", 1)])
def test_a_body_that_still_comes_at_a_reload(start_gateway, upstream, key, scope, runs):
    """Its twin that comes after the reload looks under the new scope."""
    gateway = start_gateway(upstream, BEFORE)
    fields = [*ANN, ("Idempotency-Key", key), ("Content-Length", "4")]
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", "/charges", fields) + b"ha")
        assert connection.silent_for(0.3)
        change(gateway, "reload", {"defaults": {"scope": scope}})
        wait_until(lambda: gateway.get("/").status == 201)
        connection.send(b"lf")
        answer = connection.read()
        if runs == 0:
            assert_problem(answer, 503, "overloaded", True, retry_after=True)
        else:
            assert_first(answer)
        assert upstream.runs(key) == runs
        # It was nothing but the scope: the connection goes on.
        connection.send_request("POST", "/charges", fields[:3], b"half")
        assert connection.read().status == 201


def test_who_waits_gets_the_answer(start_gateway, upstream, key):
    waiting = {"defaults": {**AFTER["defaults"], "on_busy": "wait", "wait": "20s"}}
    gateway = start_gateway(upstream, BEFORE)
    with gateway.begin_post(key=key, fields=ANN, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        change(gateway, "reload", waiting)
        with gateway.begin_post(key=key, fields=ANN) as waiter:
            assert waiter.silent_for(0.3)
            upstream.open(key)
            assert_replay_of(waiter.read(), assert_first(running.read()))
    assert upstream.runs(key) == 1


def test_who_waited_for_what_was_released_runs(start_gateway, upstream, key):
    waiting = {"defaults": {**AFTER["defaults"], "on_busy": "wait", "wait": "20s"}}
    gateway = start_gateway(upstream, BEFORE)
    with gateway.begin_post(key=key, fields=ANN, plan={"gate": key, "status": 404}) as running:
        upstream.arrived(1, key)
        change(gateway, "reload", waiting)
        with gateway.begin_post(key=key, fields=ANN) as one, \
                gateway.begin_post(key=key, fields=ANN) as other:
            assert one.silent_for(0.3)
            upstream.open(key)
            assert running.read().status == 404
            answers = sorted((one.read(), other.read()), key=lambda a: a.replayed)
    assert_replay_of(answers[1], assert_first(answers[0]))
    assert_replay_of(gateway.post(key=key, fields=ANN), answers[0])
    assert upstream.runs(key) == 2


def test_memory_serves_what_stands_under_a_former_scope(start_gateway, upstream, redis_server, key):
    url = redis_server.create_store()
    with contextlib.closing(TcpGate(redis_server.port.number)) as gate:
        store = {"url": url.replace(str(redis_server.port.number), str(gate.port)),
                 "timeout": "10s"}
        gateway = start_gateway(upstream, {**BEFORE, "store": store})
        first = assert_first(gateway.post(key=key, fields=ANN))
        change(gateway, "restart", {**AFTER, "store": store})
        assert_replay_of(gateway.post(key=key, fields=ANN), first)

        def served_by_memory():
            """It is trusted for some seconds after the store's last word: a busy machine may miss
            them."""
            wait_until(lambda: gateway.post(key=key, fields=ANN).replayed, what="the store")
            with gate.holding():
                clock = Stopwatch()
                answer = gateway.post(key=key, fields=ANN)
                return answer.replayed and clock.seconds < 9 and answer
        assert_replay_of(wait_until(served_by_memory, what="a replay from memory"), first)


def test_a_probe_asks_about_the_scope_of_the_first_run(start_gateway, upstream, key):
    gateway = start_gateway(upstream, BEFORE)
    assert gateway.post(key=key, fields=ANN, plan={"status": 500}).status == 500
    upstream.plan("/outcome/", {"status": 200, "headers": [["Onceguard-Outcome", "done"]],
                                "body": "known"})
    change(gateway, "restart", {"defaults": {
        **AFTER["defaults"], "unknown": "probe",
        "probe": upstream.url + "/outcome/{scope}/{key}"}})
    answer = gateway.post(key=key, fields=ANN)
    assert answer.replayed and answer.body == b"known"
    ran, asked = upstream.requests(key)[0], upstream.requests(path="/outcome/")[-1]
    assert asked["target"].startswith("/outcome/" + ran["scope"])
    assert asked["scope"] == ran["scope"]


def test_what_is_unknown_stays_unknown(start_gateway, upstream, key):
    gateway = start_gateway(upstream, BEFORE)
    assert gateway.post(key=key, fields=ANN, plan={"status": 500}).status == 500
    change(gateway, "restart")
    assert_problem(gateway.post(key=key, fields=ANN), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1
    # What an operator released runs, and under the new scope.
    assert gateway.command("keys", "release", key).returncode == 0
    assert_first(gateway.post(key=key, fields=ANN))
    states = {r["scope_kind"]: r["state"] for r in gateway.keys()}
    assert states["header:x-tenant"] == "completed"


def test_a_takeover_goes_on_under_the_scope_of_the_first_run(start_gateway, upstream, key):
    """The application knows the attempt before by this scope, and fences it by this token."""
    gateway = start_gateway(upstream, BEFORE)
    assert gateway.post(key=key, fields=ANN, plan={"status": 500}).status == 500
    change(gateway, "restart", {"defaults": {**AFTER["defaults"], "unknown": "rerun"}})
    first = assert_first(gateway.post(key=key, fields=ANN))
    one, two = upstream.requests(key)
    assert one["scope"] == two["scope"]
    assert two["attempt"] == "2" and int(two["token"]) > int(one["token"])
    assert_replay_of(gateway.post(key=key, fields=ANN), first)


def test_what_failed_before_runs_again_and_what_is_released_is_new(start_gateway, upstream, key):
    failing = {"outcome": {"500": "fail", "502": "release"}, "backoff": "5s", "backoff_max": "60s"}
    gateway = start_gateway(upstream, {"defaults": failing})
    clock = Stopwatch()
    assert gateway.post(key=key, fields=ANN, plan={"status": 500}).status == 500
    change(gateway, "restart", {"defaults": {**AFTER["defaults"], **failing}})
    again = gateway.post(key=key, fields=ANN, plan={"status": 502})
    if again.status == 502:  # a busy machine took as long as that
        assert clock.seconds >= 5
    else:
        assert_problem(again, 409, "backing-off", True, retry_after=True)
        wait_until(lambda: gateway.post(key=key, fields=ANN, plan={"status": 502}).status == 502,
                   what="another attempt")
    assert upstream.requests(key)[1]["attempt"] == "2"
    assert_first(gateway.post(key=key, fields=ANN))
    scopes = [r["scope"] for r in upstream.requests(key)]
    assert scopes[0] == scopes[1] != scopes[2]
