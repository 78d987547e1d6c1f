"""GET /api/store: where the store is, how it is, and what it counts; no password in it."""

from support.waiting import wait_until


def test_a_store_that_works(begin_admin, fresh_key):
    gateway, admin = begin_admin(metrics_records_interval="1s")
    wait_until(admin.is_ready, what="readiness")
    assert gateway.post(key=fresh_key()).status == 201
    wait_until(lambda: admin.get("/api/store").json()["records"].get("by_state", {})
               .get("completed") == 1, what="a count of the records")
    seen = admin.get("/api/store").json()
    assert (seen["kind"], seen["location"]) == ("sqlite", f"sqlite:{gateway.database}")
    assert (seen["durable"], seen["shared"]) == (True, True)
    assert seen["health"] == {"up": True, "refuses_for_ms": 0, "forgot": False}
    assert 0 < seen["answers_in_us"] < 10_000_000
    numbers = {one["name"]: one for one in seen["numbers"]}
    assert numbers["onceguard_store_calls_total"]["value"] > 0
    assert numbers["onceguard_runs_total"]["value"] == 1
    assert all(one["meaning"] for one in numbers.values())


def test_a_store_that_is_away_is_said_and_its_password_is_not(begin_admin):
    _, admin = begin_admin({"store": {
        "url": "postgresql://alice:secret-1@127.0.0.1:1/x?p%61ssword=secret-2", "timeout": "1s"}},
        wait=False)
    answer = None

    def answers():
        nonlocal answer
        try:
            answer = admin.get("/api/store")
        except OSError:
            return False
        return answer.status == 200

    wait_until(answers, what="the listener")
    seen = answer.json()
    assert seen["kind"] == "postgres" and not seen["health"]["up"]
    assert seen["does_not_answer"] and "answers_in_us" not in seen
    assert "127.0.0.1:1/x" in seen["location"]
    assert b"secret" not in answer.body
