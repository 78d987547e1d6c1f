"""Proxies that others wrote, between the gateway and the service: none of them makes a request
take effect twice, neither by sending it again nor by what it says of it."""

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.proxies import PROXIES
from support.waiting import wait_until

GONE = {"drop": "head"}    # the service has the request, and breaks off


@pytest.fixture(scope="module")
def between(upstream, tmp_path_factory):
    """Proxies before the service, each started once for the file."""
    made = {}

    def start(name, **how):
        wanted = (name, *how.items())
        if wanted not in made:
            made[wanted] = PROXIES[name](tmp_path_factory.mktemp(name), upstream.address[1], **how)
        return made[wanted]
    yield start
    for each in made.values():
        each.close()


def warm(gateway):
    """Proxies repeat on a kept connection only. The service names itself."""
    answer = gateway.get("/warm", plan={"headers": [["Server", "shop"]]})
    assert answer.status == 201


@pytest.mark.parametrize("name", PROXIES)
def test_a_request_without_a_body_is_not_sent_again(start_gateway, upstream, between, key,
                                                    name):
    gateway = start_gateway(between(name).url)
    warm(gateway)
    first = gateway.post("/capture", key=key, plan=GONE, body=b"")
    assert first.status in (502, 503)
    wait_until(lambda: upstream.runs(key) >= 1)
    assert_problem(gateway.post("/capture", key=key, body=b""), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("name", ["caddy", "varnish"])
def test_these_do_repeat_what_has_a_length_of_zero(start_gateway, upstream, between, key,
                                                   name):
    proxy = between(name)
    gateway = start_gateway(proxy.url, {"upstream": [
        {"name": "service", "url": proxy.url, "empty_body": "length"}]})
    warm(gateway)
    gateway.post("/capture", key=key, plan=GONE, body=b"")
    assert upstream.runs(key) > 1


@pytest.mark.parametrize("name", PROXIES)
def test_a_broken_connection_leaves_the_outcome_unknown(start_gateway, upstream, between, key,
                                                        name):
    gateway = start_gateway(between(name).url)
    warm(gateway)
    assert gateway.post("/pay", key=key, plan=GONE).status in (502, 503)
    assert_problem(gateway.post("/pay", key=key), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("name, status", [("varnish", 503), ("haproxy", 504), ("nginx", 504),
                                          ("caddy", 504)])
def test_who_does_not_wait_for_the_service_leaves_the_outcome_unknown(
        start_gateway, upstream, between, key, name, status):
    gateway = start_gateway(between(name, patience="300ms").url)
    slow = {"gate": f"later-{name}"}
    assert gateway.post("/pay", key=key, plan=slow).status == status
    for _ in range(2):
        assert_problem(gateway.post("/pay", key=key, plan=slow), 409, "outcome-unknown", False)
    upstream.arrived(1, key)  # a busy service may take it after the proxy has given it up
    upstream.open(slow["gate"])
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("name, status, meant", [
    ("haproxy", 503, "released"), ("varnish", 503, "unknown"), ("nginx", 502, "unknown"),
    ("caddy", 502, "unknown")])
def test_a_service_that_is_not_there(start_gateway, upstream, between, key, name, status, meant):
    """Only HAProxy says by its page that nothing was sent; a 502 tells nothing."""
    gateway = start_gateway(between(name).url)
    warm(gateway)
    upstream.cut()
    upstream.refuse()
    try:
        assert gateway.post("/pay", key=key).status == status
    finally:
        upstream.listen()
    # Varnish does not try a service again within 0.25 s (backend_remote_error_holddown).
    wait_until(lambda: gateway.get("/warm").status == 201, what="the service through the proxy")
    assert gateway.state(key) == meant
    if meant == "released":
        assert_first(gateway.post("/pay", key=key))


@pytest.mark.parametrize("name", PROXIES)
def test_answers_come_through_and_are_replayed(start_gateway, upstream, between, key, name):
    gateway = start_gateway(between(name).url)
    for kind, body in (("full", b'{"amount":1}'), ("empty", b"")):
        each = f"{key}-{kind}"
        first = assert_first(gateway.post("/pay", key=each, body=body))
        assert_replay_of(gateway.post("/pay", key=each, body=body), first)
        assert upstream.runs(each) == 1
        assert upstream.requests(each)[0]["size"] == len(body)
    declined = f"{key}-declined"
    for _ in range(2):
        assert gateway.post("/pay", key=declined, plan={"status": 402}).status == 402
    assert upstream.runs(declined) == 2, "a refusal that a proxy passes on is the service's"


def test_the_service_has_the_last_word_through_a_proxy(start_gateway, upstream, between, key):
    gateway = start_gateway(between("varnish").url)
    plan = {"status": 503, "headers": [["Onceguard-Outcome", "none"]]}
    for _ in range(2):
        answer = gateway.post("/pay", key=key, plan=plan)
        assert answer.status == 503 and answer.get("Onceguard-Outcome") is None
    assert upstream.runs(key) == 2
