"""POST /api/explain and GET /api/routes: what would become of a request, and by whose rule."""

import pytest

from support.waiting import wait_until

BODY = '{"amount":1}'


@pytest.fixture
def explained(begin_admin):
    """A gateway, and what its listener says of a request."""
    gateway, admin = begin_admin({
        "defaults": {"backoff": "1m"},
        "route": [{"path": "/fails", "outcome": {"503": "fail"}, "upstream": "shop"},
                  {"path": "/seen", "observe": True, "upstream": "shop"},
                  {"path": "/strict", "required": True, "upstream": "shop"},
                  {"path": "/again", "unknown": "rerun", "upstream": "shop"},
                  {"path": "/", "upstream": "shop", "lease": "45s"}]})
    wait_until(admin.is_ready, what="readiness")

    def explain(path="/charges", key=None, body=BODY, method="POST", **more):
        headers = [["Content-Type", "application/json"]]
        headers += [["Idempotency-Key", key]] if key else []
        answer = admin.post("/api/explain", {"method": method, "body": body, "headers": headers,
                                             "url": f"http://shop.test{path}", **more})
        assert answer.status == 200, answer.body
        return answer.json()

    return gateway, admin, explain


def test_it_says_what_the_gateway_then_does(explained, fresh_key):
    gateway, admin, explain = explained
    key = fresh_key()
    before = explain(key=key)
    assert (before["verdict"], before["current"]) == ("run", None)
    assert admin.records() == []  # nothing was claimed
    assert gateway.post(key=key, body=BODY.encode()).status == 201
    after = explain(key=key)
    assert (after["verdict"], after["same_request"]) == ("replay", True)
    record = admin.records(f"key={key}")[0]
    for name in ("record", "key", "scope", "fingerprint"):
        assert before[name] == after[name] == record[name], name
    assert explain(key=key, body='{"amount":2}')["verdict"] == "mismatch"
    assert explain()["verdict"] == "passes" and explain()["reason"]
    assert explain(method="GET", key=key)["verdict"] == "passes"


def test_a_record_is_compared_by_the_rule_that_it_was_made_with(explained, fresh_key):
    gateway, _, explain = explained
    key = fresh_key()
    assert gateway.post(key=key, body=BODY.encode()).status == 201
    gateway.reload({**gateway.config, "defaults": {"fingerprint": "json"}})
    gateway.logged("reloaded")
    said = explain(key=key)
    assert (said["verdict"], said["same_request"]) == ("replay", True)
    assert explain(key=key, body='{"amount":2}')["verdict"] == "mismatch"


@pytest.mark.parametrize("url, verdict", [("/charges", "unknown"), ("/again", "run")])
def test_what_is_unknown_is_held_or_run_again_as_the_route_says(explained, fresh_key, url, verdict):
    gateway, _, explain = explained
    key = fresh_key()
    assert gateway.post(url, key=key, body=BODY.encode(), plan={"status": 500}).status == 500
    assert explain(url, key)["verdict"] == verdict


def test_a_failed_one_waits_and_one_that_runs_is_busy(explained, own_upstream, fresh_key):
    gateway, admin, explain = explained
    failed, running = fresh_key(), fresh_key()
    answer = gateway.post("/fails", key=failed, body=BODY.encode(), plan={"status": 503})
    assert answer.status == 503
    seen = explain("/fails", failed)
    assert seen["verdict"] == "backoff" and 0 < seen["retry_after_ms"] <= 60_000
    with gateway.begin_post(key=running, body=BODY.encode(), plan={"gate": running}):
        wait_until(lambda: admin.records(f"key={running}"), what="the claim")
        wait_until(lambda: explain(key=running)["verdict"] == "busy", what="the lease")
    own_upstream.open(running)


def test_what_a_route_refuses_or_only_observes(explained, fresh_key):
    _, _, explain = explained
    refused = explain("/strict")
    assert (refused["verdict"], refused["status"]) == ("refused", 400)
    observed = explain("/seen", fresh_key())
    assert observed["observed"] and observed["verdict"] == "passes"


@pytest.mark.parametrize("change, fault", [
    ({"method": "FETCH"}, "501"), ({"url": "charges"}, "url"), ({"url": "/a b"}, "url"),
    ({"headers": [["a b", "c"]]}, "token"), ({"headers": [["a", "c\r\nd: e"]]}, "control"),
    ({"headers": {}}, "headers"), ({"more": 1}, "more"), ({"body": 1}, "body")])
def test_a_request_that_is_none_is_refused(explained, change, fault):
    _, admin, _ = explained
    answer = admin.post("/api/explain", {"method": "POST", "url": "/charges", **change})
    assert answer.status == 422 and fault in answer.json()["detail"]


def test_no_secret_comes_back(explained, fresh_key):
    _, admin, _ = explained
    answer = admin.post("/api/explain", {
        "method": "POST", "url": "/charges?token=secret-2",
        "headers": [["Authorization", "Bearer secret-1"], ["Idempotency-Key", fresh_key()]]})
    assert answer.status == 200 and b"secret" not in answer.body


def test_each_value_has_its_source(explained):
    gateway, admin, _ = explained
    routes = {one["route"]: {value["option"]: value for value in one["policy"]}
              for one in admin.get("/api/routes").json()["routes"]}
    lines = gateway.config_path.read_text().splitlines()

    def line_of(value):
        name, line, _ = value["position"].rsplit(":", 2)
        assert name == str(gateway.config_path)
        return lines[int(line) - 1]

    lease = routes["/"]["lease"]
    assert lease["table"] == "[[route]]" and line_of(lease).startswith("lease")
    backoff = routes["/"]["backoff"]
    assert backoff["table"] == "[defaults]" and line_of(backoff).startswith("backoff")
    assert set(routes["/strict"]["lease"]) == {"option", "value"}  # the default


@pytest.mark.parametrize("given, status", [
    ({"path": "/charges#x"}, 400), ({"path": "/charges\\x"}, 400),
    ({"host": ["a", "b"]}, 400), ({"host": ["a b"]}, 400),
    ({"fields": [["X-Big", "a" * 70_000]]}, 431), ({"fields": [["X-A", "1"]] * 120}, 431),
    ({"path": "/" + "a/../" * 190_000}, 414)])
def test_a_head_that_the_gateway_refuses_is_refused_at_once(explained, fresh_key, given, status):
    """Before any rule looks at it: a long one takes no time of the admin listener."""
    gateway, admin, _ = explained
    fields = [["Host", host] for host in given.get("host", ["shop.test"])]
    fields += [["Idempotency-Key", fresh_key()]] + given.get("fields", [])
    said = admin.post("/api/explain", {"method": "POST", "url": given.get("path", "/charges"),
                                       "headers": fields, "body": BODY}).json()
    assert (said["verdict"], said["status"]) == ("refused", status), said
    assert said["reason"]


def test_the_host_that_is_given_counts_and_not_that_of_the_url(explained, fresh_key):
    """As curl sends it: one Host."""
    gateway, admin, explain = explained
    key = fresh_key()
    headers = [["Host", "shop.test"], ["Idempotency-Key", key],
               ["Content-Type", "application/json"]]
    assert gateway.post(key=key, body=BODY.encode()).status == 201
    said = explain(headers=headers, url="http://127.0.0.1:8080/charges")
    assert (said["verdict"], said["same_request"]) == ("replay", True)
