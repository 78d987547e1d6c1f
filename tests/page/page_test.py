"""The web page, in Debian's Chromium: what a person does there, on SQLite."""

import subprocess

import pytest

from page.browser import HERE
from support.waiting import wait_until


def make_unknown(gateway, names):
    for name in names:
        assert gateway.post(key=name, plan={"status": 500}).status == 500


@pytest.fixture
def filled(begin_page):
    """A gateway with records; the gateway, its listener, the facts."""
    gateway, admin, facts = begin_page()
    assert gateway.post(key="order-17").status == 201
    assert gateway.post(key="order-17").status == 201
    unknown = ["charge-1", "charge-2", "charge-3"]
    make_unknown(gateway, unknown)
    records = admin.records("state=unknown")
    assert len(records) == 3
    return gateway, admin, {**facts, "completed": "order-17", "unknown": unknown,
                            "records": [one["record"] for one in records]}


def state_of(admin, key):
    return [one["state"] for one in admin.records(f"key={key}")]


@pytest.mark.parametrize("name", ["every_view", "viewer"])
def test_a_scenario_that_changes_nothing(filled, act_out, name):
    _, admin, facts = filled
    act_out(name, facts)
    assert [state_of(admin, key) for key in facts["unknown"]] == 3 * [["unknown"]]


def test_the_acts_of_one_key(filled, act_out):
    gateway, admin, facts = filled
    act_out("acts", facts)
    completed, released, deleted = facts["unknown"]
    assert state_of(admin, completed) == ["completed"]
    answer = gateway.post(key=completed)
    assert (answer.status, answer.body) == (201, b'{"id":17}')
    assert state_of(admin, released) == ["released"]
    assert state_of(admin, deleted) in ([], ["released"])


def noted(admin, key, count):
    """Waits for the requests of a key: a request is noted after its answer, on a thread that need
    not be that of the next one."""
    wait_until(lambda: len(admin.get(f"/api/recent?key={key}").json()["requests"]) == count,
               what=f"{count} requests of {key}")


def test_the_timeline_of_a_key(filled, act_out):
    gateway, admin, facts = filled
    for _ in range(16):
        assert gateway.post(key="order-17").status == 201
    noted(admin, "order-17", 18)
    assert gateway.post(key="order-17", body=b"another").status == 422
    noted(admin, "order-17", 19)
    assert gateway.post(key="order-17").status == 201
    noted(admin, "order-17", 20)
    act_out("timeline", facts)


@pytest.mark.parametrize("name", ["life", "commands", "texts", "times", "changes",
                                  "lists", "list_acts", "verdict", "reason", "acts",
                                  "audit_tail", "latest"])
def test_what_the_scripts_make_of_answers(name):
    done = subprocess.run(["node", "--test", HERE / f"{name}.test.mjs"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("table", [{}, {"audit_log": "audit.jsonl"}])
def test_the_audit_log_says_who_saw_and_did_what(begin_page, act_out, tmp_path, table):
    gateway, admin, facts = begin_page(
        gateway={name: str(tmp_path / path) for name, path in table.items()})
    assert gateway.post(key="order-17").status == 201
    make_unknown(gateway, ["charge-1"])
    record = admin.records("state=unknown")[0]["record"]
    done = admin.post(f"/api/records/{record}/release", {"reason": "not at the bank"})
    assert done.status == 200, done.body
    act_out("audit", {**facts, "completed": "order-17", "unknown": ["charge-1"]})


def test_many_are_settled_by_the_keyboard(filled, act_out):
    _, admin, facts = filled
    act_out("many_by_keyboard", facts)
    assert [state_of(admin, key) for key in facts["unknown"]] == 3 * [["completed"]]


def test_forty_are_settled_by_a_list(begin_page, act_out):
    gateway, admin, facts = begin_page()
    keys = [f"charge-{i}" for i in range(40)]
    make_unknown(gateway, keys)
    act_out("by_a_list", {**facts, "unknown": keys, "paid": keys[:25]})
    states = {one["key"]: one["state"] for one in admin.records()}
    assert states == {key: "completed" if i < 25 else "released" for i, key in enumerate(keys)}


def test_a_request_is_explained(begin_page, act_out):
    gateway, admin, facts = begin_page(
        defaults={"backoff": "7s"},
        route=[{"path": "/charges", "lease": "45s", "upstream": "shop"},
               {"path": "/", "upstream": "shop"}])
    assert gateway.post(key="order-17", body=b"amount=5",
                        content_type="application/x-www-form-urlencoded").status == 201
    curl = "curl -XPOST shop.test/charges -H 'Idempotency-Key: {}' -d amount={}{}"
    act_out("explain", {**facts, "requests": [
        (curl.format("order-17", 5, ""), "It would get the stored answer.",
         "the stored answer: status 201"),
        (curl.format("order-17", 6, ""), "The key was used for another request",
         "a refusal: key-reused"),
        (curl.format("order-18", 6, " -u alice:secret-of-alice"), "It would run.",
         "what the service answers"),
        ("POST /charges HTTP/1.1\nHost: x\n\n{}", "It would pass unguarded.",
         "what the service answers")]})
    assert len(admin.records()) == 1


@pytest.mark.parametrize("name", ["without_tokens", "started_anew", "search_goes_on"])
def test_a_scenario_without_tokens(begin_page, act_out, name):
    _, _, facts = begin_page(tokens=False)
    act_out(name, facts)


def test_the_order_the_number_and_the_latest_keys_of_a_search(begin_page, act_out):
    gateway, admin, facts = begin_page(tokens=False)
    keys = [f"order-{number}" for number in range(3)]
    for key in [*keys, keys[1]]:
        assert gateway.post(key=key).status == 201
    make_unknown(gateway, ["order-3"])
    for key, count in ((keys[1], 2), (keys[2], 1), ("order-3", 1)):
        noted(admin, key, count)
    wait_until(lambda: sum(admin.get("/api/overview").json()["records"].get("by_state", {})
                           .values()) == 4, what="the count")
    act_out("newest", {**facts, "keys": [*keys, "order-3"], "completed": 3,
                       "latest": ["order-3", keys[1], keys[2], keys[0]]})


def test_an_open_page_asks_for_little_and_a_hidden_one_for_nothing(begin_page, act_out):
    gateway, admin, facts = begin_page()
    make_unknown(gateway, ["charge-1"])
    record = admin.records("state=unknown")[0]["record"]
    assert admin.post(f"/api/records/{record}/release", {"reason": "not paid"}).status == 200
    act_out("asks_for_little", facts)


def test_a_gateway_that_is_gone_and_comes_back(begin_page, browser):
    gateway, _, facts = begin_page(tokens=False)
    words = browser.begin("gateway_gone", facts)
    assert next(words) == "stop"
    gateway.stop()
    assert next(words) == "start"
    gateway.start()
    assert not list(words)


def test_the_page_can_be_off(begin_page):
    _, admin, _ = begin_page(tokens=False, gateway={"admin_page": False})
    wait_until(admin.is_ready, what="readiness")
    for path in ("/", "/page.js", "/page.css", "/api/sign-in"):
        assert admin.get(path).status == 404
