"""What an act is bound to: an answer that was kept meanwhile, and a reason for a drain."""

import json
import threading

import pytest

from admin.api_test import act, make_unknown, record_of
from support.waiting import wait_until


def test_a_delete_keeps_what_was_completed_meanwhile(begin_admin, fresh_key):
    gateway, admin = begin_admin()
    key = fresh_key()
    make_unknown(gateway, key)
    seen = record_of(admin, key)
    assert act(admin, seen, "complete", status=201, body="paid", force=True).status == 200
    refused = act(admin, seen, "delete", token=seen["token"], keep_completed=True, force=True)
    assert refused.status == 409, refused.body
    assert refused.json()["outcome"] == "already_completed"
    answer = gateway.post(key=key)
    assert (answer.status, answer.body) == (201, b"paid")
    assert act(admin, seen, "delete", force=True, wait=False).status == 200
    assert [one["state"] for one in admin.records(f"key={key}")] in ([], ["released"])


@pytest.mark.parametrize("path, status, state", [("/charges", 500, "unknown"),
                                                ("/fails", 503, "failed")])
def test_a_selection_deletes_no_answer_that_came_meanwhile(begin_admin, fresh_key, path, status,
                                                           state):
    """Whatever another operator completes between the listing and the act keeps its answer."""
    gateway, admin = begin_admin({"route": [
        {"path": "/fails", "outcome": {"503": "fail"}, "backoff": "10m", "backoff_max": "10m"},
        {"path": "/"}]})
    keys = [fresh_key() for _ in range(60)]
    for key in keys:
        assert gateway.post(path, key=key, plan={"status": status}).status == status
    records = {key: record_of(admin, key) for key in keys}
    completed = []

    def complete():
        for key in reversed(keys):
            done = act(admin, records[key], "complete", status=201, force=True,
                       token=records[key]["token"])
            if done.status == 200:
                completed.append(key)

    other = threading.Thread(target=complete)
    other.start()
    done = admin.post("/api/records/delete", {
        "reason": "a test", "filter": {"state": [state]}, "dry_run": False, "force": True,
        "wait": False})
    other.join(60)
    assert done.status == 200, done.body
    for key in completed:
        assert record_of(admin, key)["state"] == "completed"


def test_a_drain_has_its_reason_in_the_audit_log(begin_admin, tmp_path):
    audit = tmp_path / "audit.jsonl"
    gateway, admin = begin_admin(audit_log=str(audit))
    wait_until(admin.is_ready, what="readiness")
    for wrong in ({"reason": " "}, {"why": "x"}):
        assert admin.post("/api/drain", wrong).status == 422
    assert not audit.exists() or not audit.read_text().strip("\0")
    assert admin.post("/api/drain", {"reason": "a new release"}).status == 202
    assert gateway.wait() == 0
    lines = [json.loads(line) for line in audit.read_text().strip("\0").splitlines()]
    assert [(one["stage"], one["action"], one["why"]) for one in lines] == [
        ("intended", "drain", "a new release"), ("done", "drain", "a new release")]
