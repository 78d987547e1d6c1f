"""`observe = true`: every request passes, and what guarding would have done is counted."""

import pytest

from support.expecting import assert_first
from support.pattern import pattern

OBSERVING = {"defaults": {"observe": True}}


def observed(gateway, route="/"):
    """The counts of a route, which stand in the log at the end of the process."""
    assert gateway.stop() == 0
    lines = [line for line in gateway.logged("observed") if line["route"] == route]
    assert len(lines) == 1, lines
    return lines[0]


def test_repeats_run_again_and_are_counted(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, OBSERVING)
    answers = [gateway.post(key=key) for _ in range(3)]
    assert len({answer.body for answer in answers}) == 3
    assert not any(answer.replayed for answer in answers)
    assert gateway.keys() == []
    counts = observed(gateway)
    assert (counts["requests"], counts["with_key"]) == (3, 3)
    assert (counts["repeats"], counts["repeats_run_again"]) == (2, 2)
    assert own_upstream.runs(key) == 3


def test_nothing_is_refused_for_its_key_or_scope(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {
        "observe": True, "required": True, "scope": "header:X-Tenant"}})
    assert gateway.post().status == 201
    assert gateway.post(key="").status == 201
    assert gateway.post(key=key).status == 201  # no tenant
    tenant = [("X-Tenant", "ann")]
    assert gateway.post(key=key, fields=tenant).status == 201
    assert gateway.post(key=key, fields=tenant, body=b"{}").status == 201
    assert gateway.post("/a%2Fb", key=key, fields=tenant).status == 201
    counts = observed(gateway)
    assert counts["refused"] == 4
    assert counts["mismatches"] == 1


def test_contents_without_a_key_that_repeat_are_counted(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, OBSERVING)
    for body in (b'{"amount":1}', b'{"amount":1}', b'{"amount":2}'):
        assert gateway.post(body=body).status == 201
    bob = [("Authorization", "Bearer bob")]
    assert gateway.post(body=b'{"amount":1}', fields=bob).status == 201
    counts = observed(gateway)
    assert (counts["with_key"], counts["contents_repeated"]) == (0, 1)


def test_a_new_key_for_the_same_content_is_counted(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, OBSERVING)
    for _ in range(3):
        assert gateway.post(key=fresh_key()).status == 201
    counts = observed(gateway)
    assert (counts["repeats"], counts["contents_repeated"]) == (0, 2)


def test_a_repeat_of_a_released_key_is_no_repeat(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, OBSERVING)
    assert gateway.post(key=key, plan={"status": 422}).status == 422
    assert gateway.post(key=key).status == 201
    counts = observed(gateway)
    assert (counts["requests"], counts["repeats"], counts["mismatches"]) == (2, 0, 0)


def test_a_running_request_does_not_hold_its_repeat(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, OBSERVING)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        own_upstream.arrived(1, key)
        with gateway.begin_post(key=key, plan={"gate": key}) as repeat:
            own_upstream.arrived(2, key)
            own_upstream.open(key)
            assert running.read().status == repeat.read().status == 201
    assert observed(gateway)["repeats"] == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_any_size_passes(start_gateway, own_upstream, key, chunked):
    gateway = start_gateway(own_upstream, {"defaults": {
        "observe": True, "max_request_body": "64KiB"}})
    for size in (60_000, 60_000, 3_000_000):
        answer = gateway.post(key=key, body=pattern(size, 1), chunked=chunked)
        assert answer.status == 201
    sizes = [request["size"] for request in own_upstream.requests(key)]
    assert sizes == [60_000, 60_000, 3_000_000]
    counts = observed(gateway)
    assert (counts["repeats"], counts["refused"]) == (1, 1)


def test_memory_stays_small_while_large_bodies_pass(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, {
        "gateway": {"max_buffered": "4MiB"},
        "defaults": {"observe": True, "max_request_body": "1MiB", "max_answer_body": "1MiB"}})
    assert gateway.post(key=fresh_key()).status == 201
    before = gateway.memory()
    for _ in range(3):
        assert gateway.post(key=fresh_key(), body=pattern(20_000_000, 1)).status == 201
    assert gateway.memory("VmHWM") - before < 24_000_000


def test_a_route_beside_it_is_guarded(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"route": [{"path": "/seen", "observe": True}]})
    first = assert_first(gateway.post("/charges", key=key))
    assert gateway.post("/charges", key=key).body == first.body
    assert gateway.post("/seen", key=key).status == 201
    assert gateway.post("/seen", key=key).status == 201
    assert own_upstream.runs(key) == 3
    assert observed(gateway, "/seen")["repeats"] == 1


def test_a_reload_begins_and_ends_it(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    first = assert_first(gateway.post(key=key))
    gateway.reload(OBSERVING)
    gateway.logged("reloaded")
    assert not gateway.post(key=key).replayed
    gateway.reload({})
    gateway.logged("reloaded", 2)
    assert gateway.post(key=key).body == first.body
    assert observed(gateway)["requests"] == 1


def test_the_check_warns_that_nothing_is_guarded(gateway):
    gateway.write_config(OBSERVING)
    done = gateway.command("check", "--config", str(gateway.config_path))
    assert "observe" in done.stdout + done.stderr
