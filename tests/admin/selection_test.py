"""Acts of the admin API on all records that a filter chooses."""

import pytest

from support.sqlite_files import overwrite_page_of
from support.waiting import wait_until


@pytest.fixture
def unknown(begin_admin, fresh_key):
    """A gateway with three unknown records and a completed one; the gateway, its listener, the
    unknown keys and the completed one."""
    gateway, admin = begin_admin()
    keys = [fresh_key() for _ in range(3)]
    for key in keys:
        assert gateway.post(key=key, plan={"status": 500}).status == 500
    done = fresh_key()
    gateway.post(key=done)
    return gateway, admin, keys, done


def select(admin, act, chosen, **more):
    body = {"reason": "ticket 17", "filter": chosen, **more}
    answer = admin.post(f"/api/records/{act}", body)
    assert answer.status == 200, answer.body
    return answer.json()


def states(admin):
    return {one["key"]: one["state"] for one in admin.records()}


def test_a_selection_is_only_shown_unless_it_is_asked_for(unknown):
    gateway, admin, keys, done = unknown
    shown = select(admin, "release", {"method": "POST"})
    assert (shown["dry_run"], shown["changed"], shown["cursor"]) == (True, 0, "")
    assert {one["key"]: one["outcome"] for one in shown["records"]} == \
        {key: "done" for key in keys}
    assert states(admin) == {**{key: "unknown" for key in keys}, done: "completed"}
    assert "audit" not in gateway.log()


def test_a_selection_is_released_with_two_lines_each_in_the_audit_log(unknown):
    gateway, admin, keys, done = unknown
    made = select(admin, "release", {"reason": "upstream_status"}, dry_run=False)
    assert (made["dry_run"], made["changed"]) == (False, 3)
    assert {one["outcome"] for one in made["records"]} == {"done"}
    assert {state for key, state in states(admin).items() if key != done} <= {"released"}
    audit = gateway.logged("audit", 6)
    assert [line["stage"] for line in audit] == ["intended", "done"] * 3
    assert {line["key"] for line in audit} == set(keys)
    assert {(line["action"], line["from"], line["why"], line["means"]) for line in audit} == \
        {("release", "unknown", "ticket 17", "admin")}
    assert gateway.post(key=keys[0]).status == 201


def test_a_selection_is_completed_with_an_answer(unknown):
    gateway, admin, keys, _ = unknown
    made = select(admin, "complete", {"attention": True}, dry_run=False, status=201, body="paid")
    assert made["changed"] == 3
    for key in keys:
        replay = gateway.post(key=key)
        assert (replay.status, replay.body, replay.replayed) == (201, b"paid", True)


def test_completed_records_are_deleted_and_not_released(unknown):
    gateway, admin, _, done = unknown
    kept = select(admin, "release", {"state": "completed"}, dry_run=False)
    assert [one["outcome"] for one in kept["records"]] == ["already_completed"]
    assert (kept["changed"], kept["forgets_answer"]) == (0, False)
    gone = select(admin, "delete", {"state": ["completed"]}, dry_run=False, wait=False)
    assert (gone["changed"], gone["forgets_answer"]) == (1, True)
    wait_until(lambda: not gateway.post(key=done).replayed, what="a new run")


def test_a_selection_goes_on_page_by_page(unknown):
    _, admin, keys, _ = unknown
    seen, cursor = [], ""
    for _ in range(50):
        page = select(admin, "release", {"method": "POST"}, limit=1, cursor=cursor)
        assert len(page["records"]) <= 1
        seen += [one["key"] for one in page["records"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert seen == keys and cursor == ""


def test_what_runs_is_left_alone_and_said(unknown, own_upstream, fresh_key):
    gateway, admin, _, _ = unknown
    key = fresh_key()
    with gateway.begin_post(key=key, plan={"gate": key}) as client:
        own_upstream.arrived(key=key)
        made = select(admin, "release", {"state": "in_progress", "key": key}, dry_run=False)
        assert [one["outcome"] for one in made["records"]] == ["running"]
        assert made["changed"] == 0
        own_upstream.open(key)
        assert client.read().status == 201


def test_what_can_not_be_read_is_said_and_left_alone(unknown, fresh_key):
    gateway, admin, _, _ = unknown
    more = [fresh_key() for _ in range(80)]
    for key in more:
        gateway.post(key=key)
    gateway.stop()
    overwrite_page_of(gateway.database, more[40])
    gateway.start()
    made = select(admin, "release", {"state": "completed"}, dry_run=False, force=True, limit=1000)
    lost = {one["record"] for one in made["records"] if one["state"] == "unreadable"}
    assert lost and made["changed"] == 0
    for one in made["records"]:
        left = one["record"] in lost
        assert one["outcome"] == ("unreadable" if left else "already_completed")
    after = admin.records("state=completed&limit=1000")
    assert {one["record"] for one in after if one["state"] == "unreadable"} == lost


@pytest.mark.parametrize("body, words", [
    ({"filter": {"method": "POST"}}, "reason"),
    ({"reason": "x"}, "filter"),
    ({"reason": "x", "filter": {}}, "filter"),
    ({"reason": "x", "filter": {"colour": "red"}}, "colour"),
    ({"reason": "x", "filter": {"state": []}}, "state"),
    ({"reason": "x", "filter": {"text": ""}}, "text"),
    ({"reason": "x", "filter": {"scope": ""}}, "scope"),
    ({"reason": "x", "filter": {"method": "POST", "route": ""}}, "route"),
    ({"reason": "x", "filter": {"attention": False}}, "attention"),
    ({"reason": "x", "filter": {"older": "soon"}}, "older"),
    ({"reason": "x", "filter": {"older": "0s"}}, "older"),
    ({"reason": "x", "filter": {"state": "lost"}}, "state"),
    ({"reason": "x", "filter": {"older": 5}}, "older"),
    ({"reason": "x", "filter": {"method": "POST"}, "limit": 0}, "limit"),
    ({"reason": "x", "filter": {"method": "POST"}, "cursor": "xyz"}, "cursor"),
    ({"reason": "x", "filter": {"method": "POST"}, "cursor": "6e6f6e65"}, "cursor"),
    ({"reason": "x", "filter": {"method": "POST"}, "key": "k"}, "key"),
    ({"reason": "x", "filter": {"method": "POST"}, "status": 201}, "status"),
])
def test_a_selection_without_a_filter_or_with_a_wrong_one_is_refused(unknown, body, words):
    _, admin, _, _ = unknown
    refused = admin.post("/api/records/release", {"dry_run": False, **body})
    assert refused.status == 422 and words in refused.json()["detail"]
    assert "unknown" in states(admin).values()
