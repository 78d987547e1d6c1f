"""Policies by name and inline, as claims by their parts name them."""

import pytest

from support.decisions import DecisionService, busy, fresh

CONFIG = {
    "store": {"url": "memory:"},
    "defaults": {"lease": "5s", "retention": "1h"},
    "serve": {"max_lease": "1m"},
    "policy": [{"name": "brief", "lease": "2s", "unknown": "rerun"},
               {"name": "words", "answer": "status"},
               {"name": "patient", "on_busy": "wait", "wait": "10s"},
               {"name": "careless", "exception": "release"},
               {"name": "discreet", "redact": ["/card"], "answer_pick": ["/id", "/card"]},
               {"name": "few", "quota_in_flight": 1}],
}


@pytest.fixture
def service(onceguard, tmp_path):
    running = DecisionService(onceguard, tmp_path, CONFIG)
    yield running.start()
    running.close()


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


def test_a_claim_has_the_policy_that_it_names(client):
    assert client.run(key=fresh())["lease_ms"] <= 5_000
    assert client.run(key=fresh(), policy="brief")["lease_ms"] <= 2_000
    key = fresh()
    client.complete(client.run(key=key, policy="words")["operation"])
    assert client.claim(key=key, policy="words").json()["kept"] == "status"
    key = fresh()
    client.settle(client.run(key=key, policy="careless")["operation"], "exception")
    assert client.run(key=key)["attempt"] == 2


def test_of_an_answer_a_policy_keeps_parts(client):
    key, other = fresh(), fresh()
    client.complete(client.run(key=key, policy="discreet")["operation"],
                    body='{"id": 1, "card": "4111", "more": 2}')
    again = client.claim(key=key, policy="discreet").json()
    assert again["kept"] == "full"
    assert again["answer"]["body"] == '{"id":1,"card":"[redacted]"}'
    assert ["Onceguard-Redacted", "true"] in again["answer"]["headers"]
    client.complete(client.run(key=other, policy="discreet")["operation"], body="card 4111")
    assert client.claim(key=other, policy="discreet").json()["kept"] == "none"


def test_a_policy_may_limit_what_a_scope_has_in_flight(client):
    first = client.run(key="first", scope="few", policy="few")
    refused = client.claim(key=fresh(), scope="few", policy="few").json()
    assert refused["verdict"] == "overloaded"
    assert refused["retryable"] and refused["retry_after_ms"] > 0
    assert refused["reply"]["status"] == 429
    assert client.claim(key="first", scope="few", policy="few").json()["verdict"] == "busy"
    client.run(key=fresh(), scope="others", policy="few")
    client.complete(first["operation"])
    client.run(key=fresh(), scope="few", policy="few")


def test_a_claim_brings_its_policy_along(client):
    taken = client.run(key=fresh(), policy={"lease": "40s"})
    assert 5_000 < taken["lease_ms"] <= 40_000
    key = fresh()
    client.settle(client.run(key=key, policy={"exception": "fail", "backoff": "60s"})["operation"],
                  "exception")
    assert client.claim(key=key).json()["verdict"] == "backoff"


def test_a_policy_that_waits_hears_of_the_end(service, client):
    key = fresh()
    running = client.run(key=key)
    with service.client() as other:
        other.send("POST", "/v1/operations", (
            '{"scope":"tests","key":"%s","fingerprint":"the same","policy":"patient"}'
            % key).encode(), [("Content-Type", "application/json")])
        busy(client)
        client.complete(running["operation"])
        assert other.read().json()["verdict"] == "replay"


@pytest.mark.parametrize("policy, fault", [
    ("breif", 'policy: there is no policy "breif"; did you mean "brief"?'),
    ({"lease": "2m"}, "policy.lease: at most 1m, the max_lease of [serve]"),
    ({"lease": 2}, "policy.lease: expected a duration from 1s to 1d, got the number 2"),
    ({"unknown": "rerun"}, "policy.unknown: is for a [[policy]] of the service to say"),
    ({"leese": "2s"}, 'policy.leese: no such option; did you mean "lease"?'),
    ({"scope": "none"}, "policy.scope: is for requests"),
])
def test_a_wrong_policy_is_refused_by_its_member(client, policy, fault):
    answer = client.claim(key=fresh(), policy=policy)
    assert answer.status == 400
    assert fault in answer.json()["detail"]


def test_a_reload_takes_policies_and_what_a_claim_may_say(service, client):
    taken = {**CONFIG, "policy": [{"name": "later", "lease": "20s"}],
             "serve": {"inline": ["wait"]}}
    running = client.run(key=fresh(), policy="brief")
    service.write_config(taken)
    assert service.reload() == "reloaded"
    assert client.claim(key=fresh(), policy="brief").status == 400
    assert client.run(key=fresh(), policy="later")["lease_ms"] > 10_000
    assert client.claim(key=fresh(), policy={"lease": "2s"}).status == 400
    # What runs keeps the policy that it began with.
    assert client.complete(running["operation"]).json()["outcome"] == "settled"
