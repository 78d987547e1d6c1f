"""Keys that stand elsewhere than in Idempotency-Key: another header, the path, the content."""

import json
import uuid

import pytest

from support.client import all_at_once, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, wait_until

CONFIG = {"route": [
    {"path": "/things", "key": ["path:2"], "methods": ["PUT"], "required": True},
    {"path": "/uuids", "key": ["path:2"], "methods": ["PUT"], "key_format": "uuid",
     "on_busy": "wait"},
    {"path": "/named", "key": ["X-Request-Id", "path:2"], "methods": ["PUT"]},
    {"path": "/events", "key": ["json:/event/id"], "required": True},
    {"path": "/maybe", "key": ["X-Request-Id", "json:/id"]},
    {"path": "/content", "key": ["Idempotency-Key", "content"]},
    {"path": "/picked", "key": ["content"], "fingerprint": "json",
     "fingerprint_omit": ["/sent_at"]},
]}


def put(gateway, target, body=b"{}", fields=()):
    return gateway.ask("PUT", target, fields, body)


# ---- the path

def test_the_id_in_the_path_is_the_key(gateway, upstream, key):
    target = f"/things/{key}"
    first = assert_first(put(gateway, target))
    for _ in range(2):
        assert_replay_of(put(gateway, target), first)
    assert len(upstream.requests(path=target)) == 1
    assert gateway.state(key) == "completed"
    assert_problem(put(gateway, target, b"[]"), 422, "key-reused", False)


def test_the_service_gets_the_request_as_it_came(gateway, upstream, key):
    target = f"/things/{key}"
    put(gateway, target, fields=[("If-None-Match", "*")])
    arrived = upstream.requests(path=target)[0]
    assert ["If-None-Match", "*"] in [list(field) for field in arrived["fields"]]
    assert "idempotency-key" not in arrived["head"].lower()


def test_two_spellings_of_an_id_are_one_key(gateway, upstream, key):
    spelled = "".join(f"%{ord(c):02x}" for c in key[:4]) + key[4:]
    first = assert_first(put(gateway, f"/things/{key}"))
    # As the fingerprint has the path as it was written, the other spelling is another request.
    assert_problem(put(gateway, f"/things/{spelled}"), 422, "key-reused", False)
    assert_replay_of(put(gateway, f"/things/{key}"), first)
    assert upstream.requests(path=f"/things/{spelled}") == []


@pytest.mark.parametrize("spelling", ["{}%20x", "{}%3Ax", "{};v=1", "{}%00", "{}%2Fx", "{}%C3%A4"])
def test_an_id_that_services_may_read_otherwise_is_refused(gateway, upstream, key, spelling):
    target = "/things/" + spelling.format(key)
    answer = put(gateway, target)
    assert (answer.status, answer.problem) in [(400, "key-malformed"), (400, "bad-request")]
    assert upstream.requests(path=target) == []


def test_an_id_is_in_the_required_format(gateway, upstream, key):
    assert_problem(put(gateway, f"/uuids/{key}"), 400, "key-malformed", False)
    target = f"/uuids/{uuid.uuid4()}"
    answers = all_at_once(gateway.address, [request_bytes("PUT", target, [], b"{}")] * 32)
    assert {(answer.status, answer.body) for answer in answers} == {(201, answers[0].body)}
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 31
    assert len(upstream.requests(path=target)) == 1


def test_a_path_without_the_segment_has_no_key(gateway, upstream):
    problem = assert_problem(put(gateway, "/things"), 400, "key-missing", False)
    assert problem["detail"] == "This route takes the key from segment 2 of the path."
    assert_problem(put(gateway, "/things/"), 400, "key-missing", False)
    assert [r for r in upstream.requests() if r["target"] in ("/things", "/things/")] == []


def test_other_methods_of_the_same_thing_pass(gateway, upstream, key):
    target = f"/things/{key}"
    assert_first(put(gateway, target))
    for _ in range(2):
        assert not gateway.ask("DELETE", target).replayed
    assert len(upstream.requests(path=target)) == 3


# ---- another header

def test_another_header_may_hold_the_key(gateway, upstream, key):
    target = "/named/"
    first = assert_first(put(gateway, target, fields=[("X-Request-Id", key)]))
    assert_replay_of(put(gateway, target, fields=[("x-request-id", f'"{key}"')]), first)
    assert gateway.state(key) == "completed"
    # Without it, the next source counts.
    second = assert_first(put(gateway, f"/named/{key}-2"))
    assert_replay_of(put(gateway, f"/named/{key}-2"), second)


def test_two_keys_that_differ_are_refused(gateway, upstream, key):
    target = f"/named/{key}"
    same = assert_first(put(gateway, target, fields=[("X-Request-Id", key)]))
    assert_replay_of(put(gateway, target), same)
    problem = assert_problem(put(gateway, target, fields=[("X-Request-Id", "other")]), 400,
                             "key-malformed", False)
    assert "two keys that differ" in problem["detail"]
    assert len(upstream.requests(path=target)) == 1


@pytest.mark.parametrize("fields", [
    [("X-Request-Id", "a"), ("X-Request-Id", "b")], [("X_Request_Id", "a")],
    [("X-Request-Id", "")], [("X-Request-Id", '"')]])
def test_another_header_is_read_as_strictly(gateway, upstream, key, fields):
    target = f"/named/{key}"
    assert_problem(put(gateway, target, fields=fields), 400, "key-malformed", False)
    assert upstream.requests(path=target) == []


def test_a_client_cannot_take_the_key_away_from_the_service(gateway, upstream, key):
    target = f"/named/{key}"
    put(gateway, target, fields=[("Connection", "X-Request-Id"), ("X-Request-Id", key)])
    assert f"x-request-id: {key}" in upstream.requests(path=target)[0]["head"].lower()


# ---- the body

def event(name, **members):
    return json.dumps({"event": {"id": name}, **members}).encode()


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
def test_a_key_in_the_body(gateway, upstream, key, chunked):
    def post(body):
        return gateway.ask("POST", "/events", [("Content-Type", "application/json")], body,
                           chunked=chunked)
    first = assert_first(post(event(key)))
    for _ in range(2):
        assert_replay_of(post(event(key)), first)
    assert_problem(post(event(key, amount=2)), 422, "key-reused", False)
    assert gateway.state(key) == "completed"
    arrived = [r for r in upstream.requests(path="/events") if key in r["body"]]
    assert len(arrived) == 1
    assert_problem(post(b"{}"), 400, "key-missing", False)
    assert_problem(post(b'{"event":{"id":"a","id":"b"}}'), 400, "key-malformed", False)


def test_twins_with_a_key_in_the_body_run_once(gateway, upstream, key):
    twins = [request_bytes("POST", "/events", [], event(key))] * 16
    statuses = sorted(answer.status for answer in all_at_once(gateway.address, twins))
    assert set(statuses) <= {201, 409} and 201 in statuses
    assert len([r for r in upstream.requests(path="/events") if key in r["body"]]) == 1


def test_a_body_without_a_key_passes_unguarded(gateway, upstream, key):
    body = json.dumps({"name": key}).encode()
    for _ in range(2):
        assert_first(gateway.ask("POST", "/maybe", [], body))
    arrived = [r for r in upstream.requests(path="/maybe") if key in r["body"]]
    assert len(arrived) == 2
    assert "\nonceguard-" not in arrived[0]["head"].lower()
    line = [line for line in gateway.log_lines() if line.get("path") == "/maybe"]
    assert gateway.keys() == [] or all(r["key"] != key for r in gateway.keys())
    assert line == [], "an unguarded request has no line by default"


def test_a_long_answer_to_a_body_without_a_key_is_passed_on(gateway, key):
    plan = {"status": 200, "size": 3 << 20}
    answer = gateway.ask("POST", "/maybe", [("X-Trace-Plan", json.dumps(plan))], b'{"x":1}')
    assert answer.status == 200 and len(answer.body) == 3 << 20


def test_head_and_body_must_have_the_same_key(gateway, upstream, key):
    body = json.dumps({"id": key}).encode()
    first = assert_first(gateway.ask("POST", "/maybe", [("X-Request-Id", key)], body))
    assert_replay_of(gateway.ask("POST", "/maybe", [], body), first)
    assert_problem(gateway.ask("POST", "/maybe", [("X-Request-Id", "other")], body), 400,
                   "key-malformed", False)
    assert len([r for r in upstream.requests(path="/maybe") if key in r["body"]]) == 1


def test_a_key_in_the_body_counts_in_explain(gateway, key):
    done = gateway.command("explain", "--config", str(gateway.config_path), "POST", "/events",
                           "--body", event(key).decode(), "--json")
    assert json.loads(done.stdout)["key"] == key, done


# ---- the content

def test_equal_content_is_one_request(gateway, upstream, key):
    target = f"/content/{key}"
    first = assert_first(gateway.post(target))
    assert_replay_of(gateway.post(target), first)
    assert_first(gateway.post(target, body=b'{"amount":2}'))
    assert len(upstream.requests(path=target)) == 2
    assert_first(gateway.post(f"{target}/2"))
    # Another caller is another one.
    assert_first(gateway.post(target, fields=[("Authorization", "Bearer of-bob")]))


def test_a_key_goes_before_the_content(gateway, upstream, key):
    target = f"/content/{key}"
    first = assert_first(gateway.post(target, key=key))
    assert_replay_of(gateway.post(target, key=key), first)
    assert_first(gateway.post(target, key=f"{key}-2"))
    assert_first(gateway.post(target))
    assert len(upstream.requests(path=target)) == 3


def test_what_the_fingerprint_leaves_out_makes_no_difference(gateway, upstream, key):
    target = f"/picked/{key}"
    fields = [("Content-Type", "application/json")]
    first = assert_first(gateway.ask("POST", target, fields, b'{"amount":1,"sent_at":7}'))
    assert_replay_of(gateway.ask("POST", target, fields, b'{"sent_at":8,"amount":1}'), first)
    assert_first(gateway.ask("POST", target, fields, b'{"sent_at":8,"amount":2}'))
    assert len(upstream.requests(path=target)) == 2


def test_the_window_ends(start_gateway, own_upstream, fresh_key):
    gateway = start_gateway(own_upstream, {"defaults": {
        "key": ["content"], "retention": "2s", "lease": "1s"}})

    def ends():
        """Not where a busy machine repeats it when the window is over."""
        target = f"/{fresh_key()}"
        clock = Stopwatch()
        first = assert_first(gateway.post_in_time(target))
        again = gateway.post(target)
        if clock.seconds > 1.9:
            return False
        assert_replay_of(again, first)

        def runs():
            answer = gateway.post_in_time(target)
            return not answer.replayed and assert_first(answer)
        wait_until(runs, what="the end of the window")
        assert len(own_upstream.requests(path=target)) == 2
        return True
    assert any(ends() for _ in range(5))


def test_equal_content_after_a_crash_is_still_one(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"key": ["content"]}})
    first = assert_first(gateway.post(f"/{key}"))
    gateway.kill()
    gateway.start()
    assert_replay_of(gateway.post(f"/{key}"), first)
    assert len(own_upstream.requests(path=f"/{key}")) == 1


def test_explain_knows_the_key(gateway, key):
    def explained(*words):
        done = gateway.command("explain", *words, "--config", str(gateway.config_path))
        assert done.returncode == 0, done
        return done.stdout
    assert key in explained("PUT", f"http://shop.test/things/{key}")
    assert "content-" in explained("POST", "http://shop.test/content/x", "--body", '{"a":1}')
