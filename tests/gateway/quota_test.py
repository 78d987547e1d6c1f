"""Quotas of a scope: who is over them is refused before anything is claimed, and a repeat never."""

import contextlib

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, wait_until

ANN, BEN = [("Authorization", "Bearer ann")], [("Authorization", "Bearer ben")]


def assert_over(answer):
    return assert_problem(answer, 429, "quota-exceeded", True, retry_after=True)


def test_requests_in_flight_are_limited_and_repeats_are_not(
        start_gateway, own_upstream, admin_listener, store, fresh_key):
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": f"127.0.0.1:{admin_listener.port.number}", "replay_cache": "0"},
        "store": store, "defaults": {"quota_in_flight": 2}})
    done, *running, late = [fresh_key() for _ in range(4)]
    first = assert_first(gateway.post(key=done, fields=ANN))
    with contextlib.ExitStack() as open_ones:
        begun = [open_ones.enter_context(
            gateway.begin_post(key=key, plan={"gate": "hall"}, fields=ANN)) for key in running]
        for key in running:
            own_upstream.arrived(1, key)
        for _ in range(3):
            assert_over(gateway.post(key=late, fields=ANN))
        assert gateway.command("keys", "show", late).returncode == 5, "nothing was claimed"
        # Repeats of what is done and of what runs, and others with their keys, are answered.
        assert_replay_of(gateway.post(key=done, fields=ANN), first)
        assert_problem(gateway.post(key=running[0], fields=ANN), 409, "in-progress", True, True)
        assert_problem(gateway.post(key=done, fields=ANN, body=b"other"), 422, "key-reused", False)
        assert_first(gateway.post(key=fresh_key(), fields=BEN))
        assert_first(gateway.post(fields=ANN))  # without a key
        own_upstream.open("hall")
        for one in begun:
            assert_first(one.read())
    assert_first(gateway.post(key=late, fields=ANN))
    assert own_upstream.runs(late) == 1
    assert "onceguard_over_quota_total 3" in admin_listener.get("/metrics").body.decode()
    lines = gateway.logged("quota-exceeded")
    assert len(lines) == 1, "once a minute"
    assert lines[0]["limit"] == "quota_in_flight"
    assert (lines[0]["route"], lines[0]["refused"]) == ("/", 1)


def test_new_keys_are_limited_by_the_second_and_repeats_are_not(start_gateway, own_upstream, store,
                                                                fresh_key):
    gateway = start_gateway(own_upstream, {
        "gateway": {"replay_cache": "0"}, "store": store,
        "route": [{"path": "/slow", "quota_new_keys": 1}]})

    def taken(key):
        answer = gateway.post("/slow", key=key)
        return answer if answer.status == 201 else None

    def over():
        """On a slow machine, a second may have passed between the two."""
        key, late = fresh_key(), fresh_key()
        first = wait_until(lambda: taken(key), what="the next second")
        answer = gateway.post("/slow", key=late)
        return (key, late, first, answer) if answer.status != 201 else None
    key, late, first, answer = wait_until(over, what="two new keys within a second")
    assert_over(answer)
    for _ in range(2):
        assert_replay_of(gateway.post("/slow", key=key), assert_first(first))
    assert_first(gateway.post("/other", key=fresh_key()))
    wait_until(lambda: gateway.post("/slow", key=late).status == 201, what="the next second")
    assert own_upstream.runs(late) == 1 and own_upstream.runs(key) == 1


def test_live_records_and_their_bytes_are_limited_and_repeats_are_not(
        start_gateway, own_upstream, store, fresh_key):
    gateway = start_gateway(own_upstream, {
        "gateway": {"replay_cache": "0"}, "store": store,
        "route": [{"path": "/few", "quota_live_records": 2},
                  {"path": "/small", "quota_live_bytes": "1KiB"}]})
    for path, number in (("/few", 2), ("/small", None)):
        keys = [fresh_key() for _ in range(40)]
        firsts = [gateway.post(path, key=key, fields=ANN) for key in keys]
        taken = [key for key, answer in zip(keys, firsts) if answer.status == 201]
        assert 0 < len(taken) < len(keys) and (number is None or len(taken) == number)
        for key, answer in zip(keys, firsts):
            if key in taken:
                assert_replay_of(gateway.post(path, key=key, fields=ANN), assert_first(answer))
            else:
                assert_over(answer)
                # By default a record is kept for a day.
                assert 80_000 < int(answer.get("Retry-After")) < 93_000
                assert own_upstream.runs(key) == 0
        assert_first(gateway.post(path, key=fresh_key(), fields=BEN))
    limits = [line["limit"] for line in gateway.logged("quota-exceeded")]
    assert limits == ["quota_live_records", "quota_live_bytes"]


def test_the_quota_of_records_comes_back_with_the_retention(start_gateway, own_upstream,
                                                            fresh_key):
    gateway = start_gateway(own_upstream, {
        "defaults": {"quota_live_records": 1, "retention": "2s"}})
    begun = Stopwatch()
    assert_first(gateway.post(key=fresh_key()))
    key = fresh_key()
    refused = gateway.post(key=key)
    if refused.status == 429:  # else this machine took longer than the retention
        assert 1 <= int(refused.get("Retry-After")) <= 3
    else:
        assert begun.seconds > 2
    wait_until(lambda: gateway.post(key=key).status == 201, what="the end of the retention")
    assert own_upstream.runs(key) == 1


def test_what_was_released_is_no_live_record(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, {"defaults": {"quota_live_records": 1}})
    for _ in range(3):  # a refusal of the service has no effect, and its key is free again
        assert gateway.post(key=fresh_key(), plan={"status": 400}).status == 400
    assert_first(gateway.post(key=fresh_key()))
    assert_over(gateway.post(key=fresh_key()))


def test_a_client_that_heeds_retry_after_gets_through(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, {"defaults": {"quota_new_keys": 2}})
    key = fresh_key()
    for _ in range(30):
        if gateway.post(key=fresh_key()).status == 429:
            break
    else:
        raise AssertionError("the quota never refused")
    refused = gateway.post(key=key)
    if refused.status == 429:
        clock = Stopwatch()
        wait_until(lambda: clock.seconds >= int(refused.get("Retry-After")), what="Retry-After")
        assert_first(gateway.post(key=key))
