"""GET /api/audit, and who is shown a stored answer."""

import json

import pytest

from support.waiting import wait_until


@pytest.fixture
def acted(begin_admin, fresh_key, tokens, tmp_path):
    """A gateway with a file for the audit log, and a record that was released; listener and key."""
    path, operator, _ = tokens
    gateway, admin = begin_admin(admin_token_file=path, audit_log=str(tmp_path / "audit"))
    admin.token = operator
    wait_until(admin.is_ready, what="readiness")
    key = fresh_key()
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    record = admin.records(f"key={key}")[0]["record"]
    assert admin.post(f"/api/records/{record}/release", {"reason": "a test"}).status == 200
    return gateway, admin, key, record


def test_the_lines_of_the_file_come_from_the_newest_on(acted, tmp_path):
    _, admin, key, record = acted
    whole = admin.get("/api/audit").json()
    written = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert whole["entries"] == written[::-1]
    assert (whole["kept"], whole["unreadable"], whole["cursor"]) == ("file", 0, "")
    first = admin.get("/api/audit?limit=1").json()
    rest = admin.get(f"/api/audit?cursor={first['cursor']}").json()
    assert first["entries"] + rest["entries"] == whole["entries"]
    for filter_, count in ((f"key={key}", 2), ("who=alice", 2), ("who=bob", 0),
                           (f"record={record}", 2), (f"who=alice&key=x{key}", 0)):
        assert len(admin.get(f"/api/audit?{filter_}").json()["entries"]) == count, filter_


def test_after_a_look_only_what_is_new_comes(acted, fresh_key):
    gateway, admin, _, _ = acted
    seen = admin.get("/api/audit").json()
    assert seen["follows"] is False
    nothing = admin.get(f"/api/audit?after={seen['newest']}").json()
    assert (nothing["follows"], nothing["entries"], nothing["newest"]) == (True, [], seen["newest"])
    key = fresh_key()
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    record = admin.records(f"key={key}")[0]["record"]
    assert admin.post(f"/api/records/{record}/release", {"reason": "a test"}).status == 200
    new = admin.get(f"/api/audit?after={seen['newest']}").json()
    assert [(one["key"], one["stage"]) for one in new["entries"]] == [(key, "done"),
                                                                      (key, "intended")]
    strange = admin.get("/api/audit?after=1-2").json()
    assert strange["follows"] is False and len(strange["entries"]) == 4


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "key=", "nothing=1", "cursor=1-2",
                                   "who=a&who=b"])
def test_a_query_that_makes_no_sense_is_refused(acted, query):
    _, admin, _, _ = acted
    answer = admin.get(f"/api/audit?{query}")
    assert answer.status == 400 and query.split("=")[0] in answer.json()["detail"]


def test_it_needs_a_token(acted):
    _, admin, _, _ = acted
    admin.token = None
    assert admin.get("/api/audit").status == 401


def test_who_is_shown_a_stored_answer_is_written(acted, fresh_key, tokens):
    gateway, admin, _, _ = acted
    key = fresh_key()
    assert gateway.post(key=key).status == 201
    record = admin.records(f"key={key}")[0]["record"]
    assert admin.get(f"/api/records/{record}?body=no").status == 200
    assert admin.get(f"/api/audit?key={key}").json()["entries"] == []
    shown = admin.get(f"/api/records/{record}?body=yes", token=tokens[2])
    assert shown.status == 200 and shown.json()["body"]
    (line,) = admin.get(f"/api/audit?key={key}").json()["entries"]
    assert (line["action"], line["who"], line["stage"]) == ("show", "viewer", "done")


def test_what_cannot_be_written_is_not_shown(acted, fresh_key, tmp_path):
    gateway, admin, _, _ = acted
    key = fresh_key()
    assert gateway.post(key=key).status == 201
    record = admin.records(f"key={key}")[0]["record"]
    (tmp_path / "audit").unlink()
    (tmp_path / "audit").mkdir()
    refused = admin.get(f"/api/records/{record}")
    assert refused.status == 503 and "audit log" in refused.json()["detail"]
    assert admin.get(f"/api/records/{record}?body=no").status == 200
