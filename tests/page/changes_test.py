"""What changed in the last hour, and what the keyboard alone reaches."""

from support.waiting import wait_until


def test_what_changed_is_listed_with_where_it_leads(begin_page, act_out):
    gateway, admin, facts = begin_page(defaults={"lease": "30s"})
    assert gateway.post(key="order-17").status == 201
    assert gateway.post(key="order-17", body=b"another").status == 422
    assert gateway.post(key="charge-1", plan={"status": 500}).status == 500
    record, = admin.records("state=unknown")
    done = admin.post(f"/api/records/{record['record']}/release", {"reason": "not at the bank"})
    assert done.status == 200, done.body
    gateway.write_config({**gateway.config, "defaults": {"lease": "45s"}})
    assert admin.post("/api/reload").status == 200
    wait_until(lambda: any(one["outcomes"].get("mismatch") for one in
                           admin.get("/api/overview").json()["history"]), 30, "the sample")
    act_out("changes", facts)


def test_a_refusal_that_goes_on_is_not_hidden_by_acts(begin_page, act_out):
    gateway, admin, facts = begin_page(route=[
        {"path": "/charges", "upstream": "shop"},
        {"path": "/refunds", "upstream": "shop", "required": True}])
    assert gateway.post("/charges", key="order-17").status == 201
    assert gateway.post("/charges", key="order-17", body=b"another").status == 422
    for _ in range(3):
        assert gateway.post("/refunds").status == 400
    for number in range(7):
        assert gateway.post("/charges", key=f"c-{number}", plan={"status": 500}).status == 500
    for record in admin.records("state=unknown"):
        done = admin.post(f"/api/records/{record['record']}/release", {"reason": "not booked"})
        assert done.status == 200, done.body
    wait_until(lambda: any(one["outcomes"].get("refused") for one in
                           admin.get("/api/overview").json()["history"]), 30, "the sample")
    act_out("refusal_goes_on", facts)


def test_an_audit_log_that_cannot_be_read_is_said(begin_page, act_out, tmp_path):
    audit = tmp_path / "audit.jsonl"
    _, admin, facts = begin_page(gateway={"audit_log": str(audit)})
    audit.unlink(missing_ok=True)
    audit.symlink_to(audit)
    assert admin.get("/api/audit").status == 503
    act_out("audit_unreadable", facts)


def test_what_rests_under_the_pointer_is_reached_by_the_keyboard(begin_page, act_out):
    gateway, admin, facts = begin_page()
    assert gateway.post(key="order-17").status == 201
    wait_until(lambda: any(one["outcomes"].get("ran") for one in
                           admin.get("/api/overview").json()["history"]), 30, "the sample")
    act_out("by_keyboard_alone", {**facts, "completed": "order-17"})
