"""What needs attention and no record says alone, a list of keys that several callers have, and a
gateway's drain: in the page."""

import json

from support.waiting import wait_until


def as_caller(name):
    return [("Authorization", f"Bearer {name}")]


def test_what_no_record_says_alone(begin_page, act_out):
    gateway, admin, facts = begin_page()
    for key in ("order-17", "order-18"):
        assert gateway.post(key=key).status == 201
    for number in range(4):
        refused = gateway.post(key="order-17", body=f"another {number}".encode())
        assert refused.status == 422
    assert gateway.post(key="order-18", body=b"one typing error").status == 422
    for caller in ("alice", "bob"):
        assert gateway.post(key="order-19", fields=as_caller(caller)).status == 201
    # They are noted after the answers.
    events = wait_until(lambda: (got := admin.get("/api/recent?event=other-scope").json())["events"]
                        and got, what="the event")
    assert events["requests"] == [] and len(events["events"]) == 1, events
    whole = "/api/recent?event=other-scope&outcome=mismatch"
    both = wait_until(lambda: len((got := admin.get(whole).json())["requests"]) == 5 and got,
                      what="the mismatches")
    assert {one["event"] for one in both["events"]} == {
        "other-scope"}
    act_out("conspicuous", facts)


def list_of_two_scopes(begin_page, act_out, **config):
    """One of the two is completed, and needs nobody."""
    gateway, admin, facts = begin_page(**config)
    assert gateway.post(key="order-17", fields=as_caller("alice")).status == 201
    assert gateway.post(key="order-17", plan={"status": 500},
                        fields=as_caller("bob")).status == 500
    assert gateway.post(key="order-18", plan={"status": 500},
                        fields=as_caller("bob")).status == 500
    bob, = admin.records("key=order-18")
    act_out("list_of_two_scopes", {**facts, "scope": bob["scope"]})
    states = {(one["scope"] == bob["scope"], one["key"]): one["state"]
              for one in admin.records()}
    assert states == {(False, "order-17"): "completed", (True, "order-17"): "released",
                      (True, "order-18"): "unknown"}


def test_a_list_does_not_choose_among_two_scopes(begin_page, act_out):
    list_of_two_scopes(begin_page, act_out)


def test_a_gateway_is_drained_in_the_page(begin_page, act_out, tmp_path):
    audit = tmp_path / "audit"
    gateway, _, facts = begin_page(gateway={"audit_log": str(audit)})
    act_out("drain", {**facts, "gone": True, "heading": "Overview"})
    assert gateway.wait() == 0
    lines = [json.loads(line) for line in audit.read_text().strip("\0").splitlines()]
    assert [(one["stage"], one["action"], one["who"], one["why"]) for one in lines] == [
        ("intended", "drain", "alice", "a new release"),
        ("done", "drain", "alice", "a new release")]
