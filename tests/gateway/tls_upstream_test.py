"""TLS to the upstream."""

import pytest

from support.certificates import Authority
from support.client import fields_for
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.secure import SecureUpstream, post, trusting
from support.waiting import wait_until


@pytest.fixture
def behind_tls(upstream, authority):
    made = []

    def start(**how):
        certificate = how.pop("certificate", None) or authority.issue("shop")
        made.append(SecureUpstream(upstream, certificate, **how))
        return made[-1]
    yield start
    for each in made:
        each.close()


def to(start_gateway, url, **tls):
    return start_gateway(url, {"gateway": {"threads": 1},
                               "upstream": [{"name": "shop", "url": url, **tls}]})


def test_the_upstream_is_verified_and_its_connection_kept(start_gateway, upstream, behind_tls,
                                                          authority, key):
    shop = behind_tls()
    gateway = to(start_gateway, shop.url(), tls_ca=authority.file)
    for number in range(10):
        first = assert_first(gateway.post(key=f"{key}-{number}"))
        assert_replay_of(gateway.post(key=f"{key}-{number}"), first)
    assert gateway.get("/x").status in (200, 201)
    arrived = [one["at"] for one in upstream.requests()][-11:]
    # One that idles for a second is no longer taken.
    late = sum(later - earlier > 0.9 for earlier, later in zip(arrived, arrived[1:]))
    assert shop.connections <= 1 + late, "a session ticket is no reason to give one up"
    assert all(upstream.runs(f"{key}-{number}") == 1 for number in range(10))


@pytest.mark.parametrize("wrong, reason", [
    ("unknown authority", "certificate"), ("another name", "mismatch"), ("expired", "expired"),
    ("no TLS there", "")])
def test_an_upstream_that_is_not_the_one_gets_nothing(start_gateway, upstream, behind_tls,
                                                      authority, key, wrong, reason):
    shop = behind_tls(certificate=authority.issue(
        "shop2", hosts=("elsewhere.test",) if wrong == "another name" else ("localhost",),
        expired=wrong == "expired"))
    url = f"https://127.0.0.1:{upstream.address[1]}" if wrong == "no TLS there" else shop.url()
    ca = {} if wrong == "unknown authority" else {"tls_ca": authority.file}
    gateway = to(start_gateway, url, **ca)
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    assert gateway.state(key) == "released"
    assert upstream.runs(key) == 0
    why = gateway.logged("upstream-unreachable")[0]["why"]
    assert why.startswith("TLS with ") and reason in why, why


def test_another_name_may_be_asked_for(start_gateway, behind_tls, authority, key):
    shop = behind_tls(certificate=authority.issue("shop3", hosts=("payments.internal",)))
    gateway = to(start_gateway, shop.url("127.0.0.1"), tls_ca=authority.file,
                 tls_name="payments.internal")
    assert_first(gateway.post(key=key))


def test_an_address_in_the_certificate_counts(start_gateway, behind_tls, authority, key):
    shop = behind_tls(certificate=authority.issue("shop4", hosts=("127.0.0.1",)))
    assert_first(to(start_gateway, shop.url("127.0.0.1"), tls_ca=authority.file).post(key=key))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_an_upstream_that_is_named_by_its_address_is_no_other_host(start_gateway, upstream,
                                                                   behind_tls, authority, key,
                                                                   host):
    shop = behind_tls(certificate=authority.issue(f"other-{host}", hosts=(host,)))
    gateway = to(start_gateway, shop.url("127.0.0.1"), tls_ca=authority.file)
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    assert upstream.runs(key) == 0
    assert "mismatch" in gateway.logged("upstream-unreachable")[0]["why"]


def test_the_gateway_shows_its_certificate(start_gateway, behind_tls, authority, key):
    shop = behind_tls(client_ca=authority.file)
    certificate, private = authority.issue("client")
    gateway = to(start_gateway, shop.url(), tls_ca=authority.file, tls_certificate=certificate,
                 tls_key=private)
    assert_first(gateway.post(key=key))


def test_an_upstream_that_breaks_off_leaves_the_outcome_unknown(start_gateway, upstream, behind_tls,
                                                                authority, key):
    gateway = to(start_gateway, behind_tls().url(), tls_ca=authority.file)
    for drop in ("head", "body", "half"):
        answer = gateway.post(key=f"{key}-{drop}", plan={"drop": drop})
        assert_problem(answer, 502, "upstream-broken", True)
        assert_problem(gateway.post(key=f"{key}-{drop}"), 409, "outcome-unknown", False)
        assert upstream.runs(f"{key}-{drop}") == 1


@pytest.mark.parametrize("size", [10, 16_384, 900_000])
def test_both_sides_with_bodies(secure, upstream, behind_tls, authority, key, size):
    shop = behind_tls()
    gateway = secure({"upstream": [{"name": "shop", "url": shop.url(), "tls_ca": authority.file}]})
    plan = {"status": 201, "size": size}
    context = trusting(authority)
    first = assert_first(post(gateway, context, key, body=b"b" * size, plan=plan))
    assert len(first.body) == size
    assert_replay_of(post(gateway, context, key, body=b"b" * size, plan=plan), first)
    assert upstream.runs(key) == 1


def test_a_probe_over_tls(start_gateway, upstream, behind_tls, authority, key):
    """The probe's own address is verified by the system's authorities, which lack the tests'."""
    shop = behind_tls()
    gateway = start_gateway(upstream, {"defaults": {
        "unknown": "probe", "probe": shop.url() + "/outcome/{scope}/{key}"}})
    gateway.post(key=key, plan={"status": 500})
    assert gateway.post(key=key).status == 409
    gateway.says("TLS with")


@pytest.mark.parametrize("shown, alert", [
    ("none", "certificate required"), ("expired", "certificate expired"),
    ("of another authority", "decrypt error")])
def test_an_upstream_that_refuses_the_certificate_has_run_nothing(
        start_gateway, upstream, behind_tls, authority, tmp_path, key, shown, alert):
    """In TLS 1.3 the refusal comes when the request may be on its way."""
    shop = behind_tls(client_ca=authority.file)
    tls = {"tls_ca": authority.file}
    if shown != "none":
        signer = authority if shown == "expired" else Authority(tmp_path)
        tls["tls_certificate"], tls["tls_key"] = signer.issue("client5", expired=shown == "expired")
    gateway = to(start_gateway, shop.url(), **tls)
    for number in range(20):
        assert_problem(gateway.post(key=f"{key}-{number}"), 502, "upstream-unreachable", True)
        assert gateway.state(f"{key}-{number}") == "released"
        assert upstream.runs(f"{key}-{number}") == 0
    assert gateway.get("/x").status == 502
    whys = [line["why"] for line in gateway.logged("upstream-unreachable")]
    refused = "it refused this gateway's certificate"
    assert any(refused in why and alert in why for why in whys), whys


def unbounded(key):
    return {"status": 201, "framing": "eof", "body": f"all of {key}"}


def test_an_announced_end_makes_an_answer_whole(start_gateway, upstream, behind_tls, authority,
                                                key):
    gateway = to(start_gateway, behind_tls(announces_end=True).url(), tls_ca=authority.file)
    first = assert_first(gateway.post(key=key, plan=unbounded(key)))
    assert first.body == f"all of {key}".encode()
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_an_answer_that_is_cut_off_is_not_kept(start_gateway, upstream, behind_tls, authority, key):
    gateway = to(start_gateway, behind_tls().url(), tls_ca=authority.file)
    assert_problem(gateway.post(key=key, plan=unbounded(key)), 502, "upstream-broken", True)
    assert gateway.state(key) == "unknown"
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


def test_events_over_tls_are_not_waited_for(start_gateway, upstream, behind_tls, authority, key):
    gateway = to(start_gateway, behind_tls().url(), tls_ca=authority.file)
    plan = {"headers": [["Content-Type", "text/event-stream"]], "framing": "eof",
            "body": "data: 1\n\ndata: 2\n\n", "gate_half": "later"}
    with gateway.connect() as connection:
        connection.send_request("POST", "/x", fields_for(key, plan), b"{}")
        upstream.arrived(key=key)
        wait_until(lambda: gateway.state(key) == "completed")
        upstream.open("later")
