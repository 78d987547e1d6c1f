"""GET /api/changes: what changed for the whole process in the last hour."""

from support.toml import toml_text
from support.waiting import wait_until


def changes(admin):
    return admin.get("/api/changes").json()["changes"]


def test_a_start_and_reloads_with_their_old_and_new_values(begin_admin, fresh_key):
    gateway, admin = begin_admin({"defaults": {"lease": "30s"}})
    wait_until(admin.is_ready, what="readiness")
    whole = admin.get("/api/changes").json()
    assert "listening" in [one["event"] for one in whole["changes"]]
    assert whole["since"] < whole["begun_at"] <= whole["changes"][-1]["at"]

    assert gateway.post(key=fresh_key(), plan={"status": 500}).status == 500
    gateway.write_config({**gateway.config, "defaults": {
        "lease": "45s", "unknown": "probe",
        "probe": "http://127.0.0.1:1/{scope}/{key}?token=T0KEN"}})
    assert admin.post("/api/reload").status == 200
    newest = changes(admin)[0]
    assert (newest["event"], newest["fields"]["by"]) == ("reloaded", "operator")
    said = newest["fields"]["changed"]
    assert '[[route]] "/" lease: "30s" -> "45s"' in said and "T0KEN" not in said, said
    assert "retention" not in said, said

    gateway.write_config({**gateway.config, "route": [
        {"path": f"/{number}", "upstream": "shop"} for number in range(12)]})
    assert admin.post("/api/reload").status == 200
    said = changes(admin)[0]["fields"]["changed"]
    assert '[[route]] "/0": added' in said and said.endswith("; and 2 more"), said

    gateway.config_path.write_text(toml_text({"gateway": {"listen": "nowhere"}}))
    assert admin.post("/api/reload").status == 422
    assert changes(admin)[0]["event"] == "reload-refused"
    assert not any("record" in one["fields"] for one in changes(admin))


def test_since_when_a_route_refuses(begin_admin, fresh_key):
    gateway, admin = begin_admin()
    key = fresh_key()
    assert gateway.post(key=key).status == 201

    def refusals():
        route, = admin.get("/api/overview").json()["routes"]
        return route["refusals"]
    assert gateway.post(key=key, body=b"another").status == 422
    first, = wait_until(refusals, what="the refusal")
    assert gateway.post(key=key, body=b"another").status == 422
    wait_until(lambda: refusals()[0]["count"] == 2, what="another")
    second, = refusals()
    assert second["began_at"] == first["began_at"] == first["last_at"] <= second["last_at"]
