"""Which rule applies to a request, and which upstream gets it."""

import contextlib

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.gateway import Gateway
from support.waiting import wait_until


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    from support.upstream import Upstream
    running = Upstream(tmp_path_factory.mktemp("second"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def routed(onceguard, upstream, second, tmp_path_factory):
    from support.gateway import Gateway
    gateway = Gateway(onceguard, tmp_path_factory.mktemp("routed"), upstream.url, {
        "upstream": [{"name": "one", "url": upstream.url},
                     {"name": "two", "url": second.url},
                     {"name": "based", "url": second.url + "/base/"}],
        "route": [
            {"path": "/v1/payments", "upstream": "one", "required": True},
            {"path": "/v1/payments/open", "upstream": "one"},
            {"path": "/two", "upstream": "two"},
            {"path": "/two/one", "upstream": "one"},
            {"path": "/based", "upstream": "based"},
            {"path": "/strict", "host": "strict.test", "upstream": "two", "required": True},
            {"path": "/strict", "upstream": "one"},
            {"path": "/", "host": "based.test", "upstream": "based"},
            {"path": "/only-put", "match_method": ["PUT"], "methods": ["PUT"], "required": True},
        ]})
    yield gateway.start()
    gateway.close()


def required(gateway, target, **how):
    """Does the rule that requires a key apply?"""
    answer = gateway.post(target, **how)
    if answer.status == 400:
        assert_problem(answer, 400, "key-missing", False)
        return True
    assert_first(answer)
    return False


@pytest.mark.parametrize("target", [
    "/v1/payments", "/v1/payments/", "/v1/payments/7", "/v1/payments?x=1", "/v1/payments/a/../b",
    "/v1/./payments", "/v1/x/../payments", "/v1/%70ayments", "/v1/%2e/payments", "/./v1/payments",
    "/v1/x/%2E%2e/payments", "/../v1/payments", "/v1/payments/open/../x", "/%76%31/payments",
    "http://shop.test/v1/payments",
])
def test_the_rule_applies(routed, target):
    assert required(routed, target)


@pytest.mark.parametrize("target", [
    "/", "/v1", "/v1/paymentsx", "/v1/payment", "/v2/payments", "/v1/payments-old", "/V1/payments",
    "/x/v1/payments", "/v1/payments/../x", "/v1/payments/open", "/v1/payments/open/1",
    "/v1/payments/x/../open", "/other?/v1/payments",
])
def test_the_rule_does_not_apply(routed, target):
    assert not required(routed, target)


@pytest.mark.parametrize("escape", ["%2F", "%2f", "%5C", "%5c", "%00"])
def test_ambiguous_escapes_are_refused_where_keys_are_required(routed, upstream, key, escape):
    target = f"/v1/payments/{key}{escape}x"
    assert_problem(routed.post(target, key=key), 400, "bad-request", False)
    assert upstream.runs(key) == 0


@pytest.mark.parametrize("escape", ["%2F", "%5C"])
def test_ambiguous_escapes_pass_elsewhere(routed, upstream, key, escape):
    target = f"/v1/payments/open/{escape}x"
    assert_first(routed.post(target, key=key))
    assert upstream.requests(key)[0]["target"] == target


AROUND = ["/v1%2Fpayments", "/v1%2fpayments/7", "/v1%5Cpayments", "/v1/payments%00",
          "/v1/payments%3Fx", "/v1/x/%252e%252e/payments", "/v1%252Fpayments", "//v1/payments",
          "/v1//payments", "/v1;v=1/payments", "/v1/payments;v=1", "/v1/payments%3bv=1",
          "/x/..;/v1/payments", "/x/..%2fv1/payments", "/x/%2e%2e%2Fv1/payments",
          "/a//../v1/payments", "http://shop.test//v1/payments"]


@pytest.mark.parametrize("target", AROUND)
@pytest.mark.parametrize("with_key", [False, True], ids=["no key", "key"])
def test_nothing_leads_around_a_key(routed, upstream, fresh_key, target, with_key):
    key = fresh_key()
    before = len(upstream.requests())
    answer = routed.post(target, key=key if with_key else None)
    assert_problem(answer, 400, "bad-request", False)
    assert len(upstream.requests()) == before
    # What needs no key goes on as it came.
    assert routed.get(target).status == 201


@pytest.mark.parametrize("target", [
    "/v1/payments/..;/x", "/v1/payments/..%2f..%2fx", "/v1/payments/%2e%2e%2fopen",
    "/v1/payments/;/../x", "/v1/payments/open;v=1/x"])
def test_a_spelling_that_may_lead_out_of_a_rule_is_refused(routed, upstream, key, target):
    assert_problem(routed.post(target, key=key), 400, "bad-request", False)
    assert upstream.runs(key) == 0


@pytest.mark.parametrize("target", [
    "//", "/a//b", "/a%2Fb", "/a;v=1/b%20c", "/a/%252e%252e/b", "/v1/payments-old//x%5C",
    "/v1/payments/open//x", "/v1/payments/;/../../x"])
def test_what_leads_nowhere_else_goes_on(routed, upstream, key, target):
    assert_first(routed.post(target, key=key))
    assert upstream.requests(key)[0]["target"] == target


def test_only_the_methods_that_need_a_key_matter(routed, key):
    assert_first(routed.post("//only-put", key=key))
    assert_problem(routed.ask("PUT", "//only-put", body=b"x"), 400, "bad-request", False)


def test_a_path_that_can_be_read_in_endless_ways(routed):
    endless = "/%" + "25" * 2_000
    assert_problem(routed.post(endless), 400, "bad-request", False)
    assert routed.get(endless).status == 201


@pytest.mark.parametrize("host", ["strict.test.", "STRICT.test.:80", "strict.test.."])
def test_a_trailing_dot_leads_around_no_host(routed, second, upstream, key, host):
    assert_problem(routed.post("/strict", host=host, key=key), 400, "bad-request", False)
    assert upstream.runs(key) == second.runs(key) == 0
    assert_first(routed.post("/elsewhere", host=host, key=key))


@pytest.mark.parametrize("target", [
    "/v1/./payments/x/../7?a=%20&b", "/v1/%70ayments/%7euser", "/v1/payments//double",
    "/v1/payments/a+b;c=d?x=/../y",
])
def test_the_bytes_that_go_upstream_are_the_clients(routed, upstream, key, target):
    assert_first(routed.post(target, key=key))
    assert upstream.requests(key)[0]["target"] == target


def test_the_longest_path_wins(routed, upstream, second, fresh_key):
    for target, chosen in (("/two/x", second), ("/two/one/x", upstream), ("/two", second)):
        key = fresh_key()
        assert_first(routed.post(target, key=key))
        assert chosen.runs(key) == 1


def test_a_base_path_is_put_before_the_target(routed, second, key):
    assert_first(routed.post("/based/x?y=1", key=key))
    assert second.requests(key)[0]["target"] == "/base/based/x?y=1"


@pytest.mark.parametrize("host", ["strict.test", "STRICT.Test", "strict.test:8080"])
def test_a_host_chooses_the_rule(routed, host):
    assert required(routed, "/strict", host=host)


@pytest.mark.parametrize("host", ["other.test", "sub.strict.test", "strict.test.evil"])
def test_another_host_does_not(routed, host):
    assert not required(routed, "/strict", host=host)


def test_the_host_of_an_absolute_target_counts(routed, second, key):
    """RFC 9112 section 3.2.2: it replaces the Host field."""
    answer = routed.post("http://strict.test/strict", host="other.test")
    assert answer.status == 400, answer
    answer = routed.post("http://strict.test/strict", key=key, host="strict.test")
    assert_first(answer)
    assert second.runs(key) == 1


def test_methods_choose_a_rule(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"route": [
        {"path": "/m", "match_method": ["PATCH"], "required": True}, {"path": "/m"}]})
    assert_problem(gateway.post("/m", method="PATCH"), 400, "key-missing", False)
    assert_first(gateway.post("/m"))
    assert_first(gateway.post("/m", method="PATCH", key=key))


@pytest.mark.parametrize("target", ["*", "http://shop.test"])
def test_a_request_for_the_server_as_a_whole_goes_to_the_default_route(routed, upstream, key,
                                                                        target):
    """RFC 9112 section 3.2.4: both say the same, and the upstream gets the short form."""
    with routed.connect() as connection:
        for _ in range(2):
            connection.send_request("OPTIONS", target, fields_for(key))
            assert_first(connection.read())
    assert [r["target"] for r in upstream.requests(key)] == ["*", "*"]
    assert routed.state(key) is None


@pytest.mark.parametrize("target", ["*", "http://based.test"])
def test_the_host_chooses_its_upstream_and_no_base_path_counts(routed, second, key, target):
    assert_first(routed.ask("OPTIONS", target, fields_for(key), host="based.test"))
    assert [r["target"] for r in second.requests(key)] == ["*"]


def test_options_of_a_path_are_of_that_path(routed, upstream, key):
    for target in ("/", "http://shop.test/", "http://shop.test?x"):
        assert_first(routed.ask("OPTIONS", target, fields_for(key)))
    assert [r["target"] for r in upstream.requests(key)] == ["/", "/", "/?x"]


def test_unguarded_requests_are_routed_too(routed, upstream, second, key):
    assert routed.get(f"/two/{key}").status == 201
    assert routed.get(f"/two/one/{key}").status == 201
    assert len(second.requests(path=f"/two/{key}")) == 1
    assert len(upstream.requests(path=f"/two/one/{key}")) == 1


@pytest.mark.parametrize("listen, host", [
    ("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("0.0.0.0", "127.0.0.2"),
    ("[::]", "127.0.0.1"), ("[::]", "[::1]")])
def test_an_upstream_that_is_the_gateway_itself_takes_no_slots(
        onceguard, upstream, tmp_path, key, listen, host):
    """Kept connections to itself would hold all slots, long after the one request."""
    slots = 20
    with contextlib.closing(Gateway(onceguard, tmp_path, upstream.url)) as gateway:
        port = gateway.port.number
        gateway.write_config({
            "gateway": {"listen": f"{listen}:{port}", "max_connections": slots},
            "upstream": [{"name": "shop", "url": upstream.url},
                         {"name": "back", "url": f"http://{host}:{port}"}],
            "route": [{"path": "/back", "upstream": "back"}]})
        gateway.start()
        for answer in (gateway.get("/back"), gateway.post("/back", key=key)):
            assert_problem(answer, 508, "loop-detected", False)
            assert answer.get("Onceguard-Retry") == "no"
        assert gateway.state(key) == "released"
        assert "this gateway itself" in gateway.logged("upstream-unreachable", 2)[1]["why"]
        payments = [request_bytes("POST", "/charges", fields_for(f"{key}-{number}"), b"x")
                    for number in range(slots // 2)]
        for answer in all_at_once(gateway.address, payments):
            assert_first(answer)


def test_two_gateways_that_lead_to_each_other_refuse_what_comes_back(start_gateway, upstream, key):
    """A circle would take every connection of both, until the first time-out."""
    first = start_gateway(upstream, {"gateway": {"max_connections": 6}})
    second = start_gateway(f"http://127.0.0.1:{first.port.number}")
    first.reload({"gateway": {"max_connections": 6},
                  "upstream": [{"name": "second", "url": f"http://127.0.0.1:{second.port.number}"},
                               {"name": "shop", "url": upstream.url}],
                  "route": [{"path": f"/{key}", "upstream": "second"},
                            {"path": "/", "upstream": "shop"}]})
    first.says('"reloaded"')
    for answer in (first.get(f"/{key}"), first.post(f"/{key}", key=key), second.get(f"/{key}")):
        assert_problem(answer, 508, "loop-detected", False)
        assert "come through this gateway before" in answer.json()["detail"]
    # Nothing was run, and no slot is taken.
    assert first.state(key) == second.state(key) == "released"
    assert_first(first.post("/charges", key=f"{key}-2"))


def test_a_mark_of_another_proxy_goes_on(gateway, upstream, key):
    gateway.get(f"/{key}", fields=[("CDN-Loop", "other.example; a=b")])
    request, = upstream.requests(path=f"/{key}")
    marks = [value for name, value in request["fields"] if name.lower() == "cdn-loop"]
    assert marks[0] == "other.example; a=b" and len(marks) == 2
    assert marks[1].startswith("onceguard-")


def test_a_circle_without_marks_ends_after_some_gateways(start_gateway, upstream, key):
    """Each round may meet another process, and somebody may remove CDN-Loop."""
    gateway = start_gateway(upstream, {"gateway": {"max_hops": 3}})
    came = [("Via", "1.1 onceguard, 1.1 cache"), ("Via", "1.1 onceguard, 1.0 onceguard")]
    assert gateway.post(key=key, fields=came).status == 201
    request, = upstream.requests(key=key)
    vias = [value for name, value in request["fields"] if name.lower() == "via"]
    assert vias == [value for _, value in came] + ["1.1 onceguard"]
    came.append(("Via", "1.1 onceguard"))
    for answer in (gateway.post(key=f"{key}-2", fields=came), gateway.get(fields=came)):
        assert_problem(answer, 508, "loop-detected", False)
        assert "too many gateways" in answer.json()["detail"]
    assert upstream.runs(f"{key}-2") == 0


def test_a_508_of_another_service_tells_nothing(gateway, upstream, key):
    assert gateway.post(key=key, plan={"status": 508}).status == 508
    assert gateway.state(key) == "unknown"


def test_a_probe_may_take_the_way_through_the_gateway(onceguard, upstream, tmp_path, key):
    """It is no request to be forwarded, and so it does not come back for ever."""
    with contextlib.closing(Gateway(onceguard, tmp_path, upstream.url)) as gateway:
        probe = f"http://127.0.0.1:{gateway.port.number}/outcome/{{scope}}/{{key}}"
        gateway.write_config({"defaults": {
            "unknown": "probe", "probe": probe, "probe_mode": "ask", "probe_present": "200",
            "upstream_timeout": "1s"}})
        gateway.start()
        gateway.post(key=key, plan={"status": 500})
        scope = gateway.record(key)["scope"]
        upstream.plan(f"/outcome/{scope}/{key}", *[{"status": 200, "effect": False}] * 5)
        wait_until(lambda: gateway.post(key=key).status == 200, what="the probe's answer")
        assert upstream.runs(key) == 1
