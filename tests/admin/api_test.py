"""The admin API: records, acts, configuration, reload, drain."""

import contextlib
import json
import sqlite3
import threading

import pytest

from support.client import Connection
from support.toml import toml_text
from support.waiting import wait_until


@pytest.fixture
def running(begin_admin):
    return begin_admin()


def record_of(admin, key):
    records = admin.records(f"key={key}")
    assert len(records) == 1, records
    return records[0]


def act(admin, record, name, **body):
    return admin.post(f"/api/records/{record['record']}/{name}", {"reason": "a test", **body})


def make_unknown(gateway, key):
    assert gateway.post(key=key, plan={"status": 500}).status == 500


def test_records_are_found_by_key_scope_and_state(running, fresh_key):
    gateway, admin = running
    done, unknown = fresh_key(), fresh_key()
    gateway.post(key=done)
    make_unknown(gateway, unknown)
    assert record_of(admin, done)["state"] == "completed"
    listed = admin.records("state=unknown")
    assert [one["key"] for one in listed] == [unknown]
    scope = listed[0]["scope"]
    both = admin.records(f"scope={scope}")
    assert {one["key"] for one in both} == {done, unknown}
    assert admin.records(f"scope={'0' * 64}") == []


def test_a_list_filters_by_route_method_reason_text_age_and_attention(begin_admin, fresh_key):
    gateway, admin = begin_admin({"route": [{"path": "/refunds"}]})
    paid, failed, refund = fresh_key() + "-paid", fresh_key() + "-failed", fresh_key() + "-refund"
    gateway.post(key=paid)
    make_unknown(gateway, failed)
    gateway.post("/refunds", key=refund)

    def keys(query):
        return {one["key"] for one in admin.records(query)}

    assert keys("route=/refunds") == {refund}
    assert keys("route=/&method=POST") == {paid, failed}
    assert keys("method=PATCH") == set()
    assert keys("reason=upstream_status") == keys("attention=true") == {failed}
    assert keys("reason=upstream_timeout") == set()
    assert keys("text=-paid") == {paid}
    assert keys("state=unknown&state=completed") == {paid, failed, refund}
    assert keys("younger=1h&attention=false") == {paid, failed, refund}
    assert keys("older=1h") == keys("younger=1ms") == keys("state=unreadable") == set()
    scope = record_of(admin, paid)["scope"]
    assert keys(f"scope={scope[:9]}") == keys(f"scope={scope}") == {paid, failed, refund}


def test_counts_are_those_of_all_records(running, fresh_key):
    gateway, admin = running
    gateway.post(key=fresh_key())
    make_unknown(gateway, fresh_key())
    counts = admin.get("/api/counts").json()["counts"]
    assert (counts["completed"], counts["unknown"], counts["unreadable"]) == (1, 1, 0)


def test_a_list_goes_on_where_its_page_ended(running, fresh_key):
    gateway, admin = running
    keys = [fresh_key() for _ in range(5)]
    for key in keys:
        gateway.post(key=key)
    seen, cursor = [], ""
    while True:
        page = admin.get(f"/api/records?limit=2&cursor={cursor}").json()
        assert len(page["records"]) <= 2
        seen += [one["key"] for one in page["records"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert seen == keys


def test_one_record_has_its_answer_and_its_timeline(running, fresh_key):
    gateway, admin = running
    key = fresh_key()
    first = gateway.post(key=key)
    whole = admin.get(f"/api/records/{record_of(admin, key)['record']}").json()
    assert whole["status"] == 201 and whole["body"].encode() == first.body
    assert [one["event"] for one in whole["timeline"]] == ["claimed", "settled", "forgotten"]
    assert [one["at"] for one in whole["timeline"]] == sorted(
        one["at"] for one in whole["timeline"])


def test_a_long_body_is_shown_to_those_who_ask_for_it(begin_admin, fresh_key):
    gateway, admin = begin_admin({"defaults": {"max_answer_body": "2MiB"}})
    for size, usual in ((1 << 20, True), ((1 << 20) + 1, False)):
        key = fresh_key()
        gateway.post(key=key, plan={"size": size})
        path = f"/api/records/{record_of(admin, key)['record']}"
        for query, whole in (("", usual), ("?body=yes", True), ("?body=no", False)):
            shown = admin.get(path + query).json()
            assert (shown["status"], shown["body_size"]) == (201, size)
            assert shown["headers"] and shown["timeline"]
            assert ("body" in shown or "body_base64" in shown) == whole, (size, query)
    assert admin.get(path + "?body=perhaps").status == 400


def test_an_unknown_record_is_completed_with_an_answer(running, fresh_key):
    gateway, admin = running
    key = fresh_key()
    make_unknown(gateway, key)
    record = record_of(admin, key)
    preview = act(admin, record, "complete", status=202, body="done", dry_run=True)
    assert preview.json() == {"act": "complete", "dry_run": True, "forgets_answer": False}
    assert record_of(admin, key)["state"] == "unknown"
    done = act(admin, record, "complete", status=202, body="done", headers=[["X-Paid", "yes"]])
    assert done.status == 200
    replay = gateway.post(key=key)
    assert (replay.status, replay.body, replay.get("X-Paid")) == (202, b"done", "yes")
    audit = gateway.logged("audit", 2)
    assert [line["stage"] for line in audit] == ["intended", "done"]
    for line in audit:
        assert (line["action"], line["from"], line["why"]) == ("complete", "unknown", "a test")
        assert line["record"] == record["record"][:12] and line["means"] == "admin"


def test_a_released_key_runs_again(running, own_upstream, fresh_key):
    gateway, admin = running
    key = fresh_key()
    make_unknown(gateway, key)
    assert gateway.post(key=key).status == 409
    assert act(admin, record_of(admin, key), "release").status == 200
    assert gateway.post(key=key).status == 201


def test_a_completed_record_is_not_released_but_deleted(running, fresh_key):
    gateway, admin = running
    key = fresh_key()
    gateway.post(key=key)
    record = record_of(admin, key)
    assert act(admin, record, "release").status == 409
    assert act(admin, record, "delete", dry_run=True).status == 200
    assert gateway.post(key=key).replayed
    assert act(admin, record, "delete").status == 200
    again = gateway.post(key=key)
    assert again.status == 201 and not again.replayed


def test_a_running_operation_is_left_alone_without_force(running, own_upstream, fresh_key):
    gateway, admin = running
    key = fresh_key()
    client = gateway.begin_post(key=key, plan={"gate": key})
    record = wait_until(lambda: next(iter(
        admin.records(f"key={key}&state=in_progress")), None))
    refused = act(admin, record, "release")
    assert refused.status == 409 and int(refused.get("Retry-After")) >= 1
    own_upstream.open(key)
    assert client.read().status == 201
    client.close()


@pytest.mark.parametrize("body, words", [
    (b"", "the body: is no JSON"),
    (b'{"reason":"r","dry_run":true}\0x', "the body: is no JSON"),
    (b'{"reason":"r","dry_run":true,"dry_run":false}', "the body: has a member twice"),
    (b"[]", "the body: is no object"),
    ({"dry_run": True}, "reason"),
    ({"reason": "  "}, "reason"),
    ({"reason": "x", "status": 201}, "status"),
    ({"reason": "x", "force": "yes"}, "force"),
])
def test_a_release_says_why_and_nothing_else(running, body, words):
    _, admin = running
    refused = admin.post(f"/api/records/{'0' * 64}/release", body)
    assert refused.status == 422 and words in refused.json()["detail"]


@pytest.mark.parametrize("body, words", [
    ({"status": 99}, "status"),
    ({"status": 204, "body": "x"}, "has none"),
    ({"headers": [["Connection", "close"]]}, "Connection"),
    ({"headers": [["X", "a\r\nY: b"]]}, "control"),
    ({"body_base64": "?"}, "body_base64"),
])
def test_an_answer_that_could_not_be_sent_is_refused(running, body, words):
    _, admin = running
    refused = admin.post(f"/api/records/{'0' * 64}/complete", {"reason": "x", **body})
    assert refused.status == 422 and words in refused.json()["detail"]


@pytest.mark.parametrize("query", ["state=lost", "limit=0", "limit=x", "limit=1001", "scope=xy",
                                   "cursor=xyz", "since=1h", "older=soon", "older=0s",
                                   "reason=bad", "attention=perhaps", "key=a&key=b",
                                   "limit=1&limit=2", "cursor=6e6f6e65"])
def test_a_wrong_parameter_is_refused(running, query):
    _, admin = running
    assert admin.get(f"/api/records?{query}").status == 400


def test_a_record_that_is_not_there_is_not_found(running):
    _, admin = running
    nothing = {"record": "0" * 64}
    assert admin.get(f"/api/records/{nothing['record']}").status == 404
    for name in ("release", "complete", "delete"):
        assert act(admin, nothing, name).status == 404


def test_a_reload_takes_routes_over_and_says_what_needs_a_restart(running):
    gateway, admin = running
    gateway.write_config({**gateway.config, "defaults": {"required": True},
                          "store": {"timeout": "3s"}})
    answer = admin.post("/api/reload").json()
    assert answer == {"reloaded": True, "faults": [], "restart_needed": ["[store] timeout"]}
    wait_until(lambda: gateway.post().status == 400, what="the new policy")
    whole = admin.get("/api/config").json()
    assert whole["route"][0]["required"] == "true"
    assert whole["store"]["timeout"] == '"10s"'


def test_a_completion_is_kept_as_the_reloaded_configuration_says(running, fresh_key):
    gateway, admin = running
    key = fresh_key()
    make_unknown(gateway, key)
    gateway.write_config({**gateway.config, "defaults": {"retention": "1h"}})
    assert admin.post("/api/reload").json()["reloaded"]
    assert act(admin, record_of(admin, key), "complete").status == 200
    assert 0 < record_of(admin, key)["retention_left_ms"] <= 3_600_000


def test_a_reload_of_a_wrong_configuration_changes_nothing(running):
    gateway, admin = running
    gateway.config_path.write_text(toml_text({"gateway": {"listen": "nowhere"}}))
    answer = admin.post("/api/reload")
    assert answer.status == 422 and not answer.json()["reloaded"]
    assert any("listen" in fault for fault in answer.json()["faults"])
    assert gateway.get().status == 201


def test_a_count_refuses_the_cursor_of_another_store(running):
    _, admin = running
    assert admin.get("/api/counts?cursor=6e6f6e65").status == 400


def test_the_query_where_the_application_is_asked_is_not_shown(begin_admin):
    _, admin = begin_admin({"defaults": {
        "unknown": "probe", "probe": "http://127.0.0.1:1/{scope}/{key}?token=T0KEN",
        "replay_check": "/check?token=T0KEN"}})
    whole = admin.get("/api/config")
    routes = admin.get("/api/routes")
    assert b"T0KEN" not in whole.body + routes.body
    assert whole.json()["route"][0]["probe"] == '"http://127.0.0.1:1/{scope}/{key}…"'
    assert whole.json()["route"][0]["replay_check"] == '"/check…"'
    shown = {one["option"]: one["value"] for one in routes.json()["routes"][0]["policy"]}
    assert shown["replay_check"] == '"/check…"'


def test_a_refused_reload_repeats_no_secret(begin_admin):
    gateway, admin = begin_admin()
    gateway.write_config({**gateway.config, "defaults": {
        "unknown": "probe", "probe": "http://u:T0KEN@127.0.0.1:1/{scope}/{key}?token=T0KEN",
        "replay_check": "check?token=T0KEN"}})
    answer = admin.post("/api/reload")
    assert answer.status == 422
    wait_until(lambda: gateway.logged("reload-refused"), what="the refusal")
    recent = admin.get("/api/recent")
    said = [answer.body.decode(), recent.body.decode(), json.dumps(gateway.logged("configuration"))]
    for text in said:
        assert "http://***@127.0.0.1:1/{scope}/{key}?***" in text and "check?***" in text, text
        assert "T0KEN" not in text


def test_a_drain_ends_the_process(running):
    gateway, admin = running
    assert admin.post("/api/drain").status == 202
    assert gateway.wait() == 0
    assert gateway.logged("draining")[0]["by"] == "operator"


def test_a_drain_waits_for_an_act(begin_admin, fresh_key, tmp_path):
    """The act waits for a lock of the store, which goes only after all requests have ended."""
    audit = tmp_path / "audit.jsonl"
    gateway, admin = begin_admin({"store": {"timeout": "500ms"}}, audit_log=str(audit))
    key = fresh_key()
    # The store has half a second for a claim.
    wait_until(lambda: gateway.post(key=key, plan={"status": 500}).status == 500, what="a run")
    record = record_of(admin, key)
    answers = []
    with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        acting = threading.Thread(target=lambda: answers.append(act(admin, record, "release")))
        acting.start()
        wait_until(lambda: audit.exists() and audit.read_text(), what="the act")
        assert admin.post("/api/drain").status == 202
        gateway.logged("drained")
        other.execute("ROLLBACK")
    acting.join(60)
    assert [answer.status for answer in answers] == [200]
    assert gateway.wait() == 0
    lines = map(json.loads, audit.read_text().splitlines())
    assert [line["stage"] for line in lines if line["action"] == "release"] == ["intended", "done"]


def test_long_bodies_are_sent_one_after_the_other(begin_admin, fresh_key):
    """Each is in memory several times over, and its reader may be slow."""
    gateway, admin = begin_admin({"defaults": {"max_answer_body": "16MiB"}})
    gateway.post(key=fresh_key(), plan={"size": 16 << 20})
    record = admin.records()[0]["record"]
    target = f"/api/records/{record}?body=yes"
    with Connection(admin.address, receive_buffer=4096) as slow:
        slow.send_request("GET", target, [], host=admin.text)
        assert not slow.silent_for(60)
        refused = admin.get(target)
        assert refused.status == 503 and refused.get("Retry-After") == "1"
        assert admin.get(f"/api/records/{record}").status == 200
    whole = wait_until(lambda: next((a for a in [admin.get(target)] if a.status == 200), None))
    assert len(whole.body) > 16 << 20
