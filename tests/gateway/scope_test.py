"""Whose key it is: a key never crosses scopes."""

import re

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

CONFIG = {
    "gateway": {"trusted_proxies": ["127.0.0.40", "127.0.50.0/24"]},
    "route": [
        {"path": "/header", "scope": "header:X-Tenant"},
        {"path": "/other-header", "scope": "header:X-Other"},
        {"path": "/cookie", "scope": "cookie:session"},
        {"path": "/address", "scope": "address"},
        {"path": "/none", "scope": "none"},
    ],
}


def authorized(name):
    return [("Authorization", f"Bearer {name}")]


def test_two_credentials_are_two_scopes(gateway, upstream, key):
    ann = assert_first(gateway.post(key=key, fields=authorized("ann")))
    bob = assert_first(gateway.post(key=key, fields=authorized("bob")))
    assert ann.body != bob.body
    assert_replay_of(gateway.post(key=key, fields=authorized("ann")), ann)
    assert_replay_of(gateway.post(key=key, fields=authorized("bob")), bob)
    assert upstream.runs(key) == 2


def test_the_upstream_gets_the_scope_as_a_digest(gateway, upstream, key):
    for name in ("ann", "bob"):
        assert_first(gateway.post(key=key, fields=authorized(name)))
    scopes = {r["scope"] for r in upstream.requests(key)}
    assert len(scopes) == 2
    assert all(re.fullmatch("[0-9a-f]{64}", scope) for scope in scopes)


def test_two_credentials_in_one_request_are_refused(gateway, upstream, key):
    answer = gateway.post(key=key, fields=authorized("ann") + authorized("bob"))
    assert_problem(answer, 400, "scope-missing", False)
    assert upstream.runs(key) == 0


@pytest.mark.parametrize("credential", ["", " ", "Bearer", "Basic "], ids=repr)
def test_an_empty_credential_is_none(gateway, upstream, key, credential):
    """Else all who send it would share a scope, without the marks that tell them apart."""
    def post(*cookie):
        return gateway.post(key=key, fields=[("Authorization", credential), *cookie])
    first = assert_first(post(("Cookie", "session=ann")))
    assert_problem(post(("Cookie", "session=bob")), 422, "key-reused", False)
    assert_problem(post(), 422, "key-reused", False)
    assert_replay_of(post(("Cookie", "session=ann")), first)
    assert gateway.record(key)["scope_kind"] == "anonymous"
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("both", [["", "Bearer ann"], ["Bearer ann", ""], ["", ""]], ids=str)
def test_two_credentials_of_which_one_is_empty_are_refused(gateway, upstream, key, both):
    answer = gateway.post(key=key, fields=[("Authorization", value) for value in both])
    assert_problem(answer, 400, "scope-missing", False)
    assert upstream.runs(key) == 0


def test_an_empty_authorization_is_as_good_as_none(gateway, key):
    first = assert_first(gateway.post(key=key, fields=[("Cookie", "a=1")]))
    again = [("Authorization", ""), ("Cookie", "a=1")]
    assert_replay_of(gateway.post(key=key, fields=again), first)


def test_with_a_credential_other_fields_do_not_matter(gateway, key):
    first = assert_first(gateway.post(key=key, fields=authorized("ann") + [("Cookie", "a=1")]))
    again = authorized("ann") + [("Cookie", "a=2"), ("X-Colour", "x")]
    assert_replay_of(gateway.post(key=key, fields=again), first)


def test_with_a_credential_another_user_that_it_speaks_for_matters(gateway, upstream, key):
    first = assert_first(gateway.post(key=key, fields=authorized("ann") + [("X-User", "x")]))
    assert_replay_of(gateway.post(key=key, fields=authorized("ann") + [("X-User", "x")]), first)
    other = gateway.post(key=key, fields=authorized("ann") + [("X-User", "y")])
    assert_problem(other, 422, "key-reused", False)
    assert upstream.runs(key) == 1


def test_a_header_as_scope(gateway, upstream, key):
    one = assert_first(gateway.post("/header", key=key, fields=[("X-Tenant", "one")]))
    assert_first(gateway.post("/header", key=key, fields=[("X-Tenant", "two")]))
    assert_replay_of(gateway.post("/header", key=key, fields=[("x-tenant", "one")]), one)
    assert upstream.runs(key) == 2


@pytest.mark.parametrize("fields", [
    [], [("X-Tenant", "a"), ("X-Tenant", "b")], [("X-Tenant", "a"), ("X-Tenant", "a")],
    [("X-Tenant", "")], [("X-Tenant", "a"), ("X-Tenant", "")], [("X-Tenant", "\t ")],
], ids=["missing", "twice", "twice the same", "empty", "empty and not", "blank"])
def test_a_header_that_is_not_there_once(gateway, upstream, key, fields):
    answer = gateway.post("/header", key=key, fields=fields)
    assert_problem(answer, 400, "scope-missing", False)
    assert upstream.runs(key) == 0


def test_the_kind_of_scope_is_a_part_of_the_scope(gateway, upstream, key):
    assert_first(gateway.post("/header", key=key, fields=[("X-Tenant", "one")]))
    assert_first(gateway.post("/other-header", key=key, fields=[("X-Other", "one")]))
    assert len({r["scope"] for r in upstream.requests(key)}) == 2


def test_a_cookie_as_scope(gateway, upstream, key):
    def with_cookie(text):
        return gateway.post("/cookie", key=key, fields=[("Cookie", text)])
    one = assert_first(with_cookie("session=one"))
    assert_first(with_cookie("session=two"))
    assert_replay_of(with_cookie("theme=dark; session=one; lang=en"), one)
    assert upstream.runs(key) == 2


def test_cookies_may_come_in_several_lines(gateway, key):
    one = assert_first(gateway.post("/cookie", key=key, fields=[("Cookie", "session=one")]))
    split = [("Cookie", "theme=dark"), ("Cookie", "session=one")]
    assert_replay_of(gateway.post("/cookie", key=key, fields=split), one)


@pytest.mark.parametrize("fields", [
    [], [("Cookie", "theme=dark")], [("Cookie", "session=a; session=b")],
    [("Cookie", "session=a"), ("Cookie", "session=b")], [("Cookie", "xsession=a")],
    [("Cookie", "")], [("Cookie", "session=")], [("Cookie", 'session=""')],
    [("Cookie", "session=; session=a")], [("Cookie", "session =b; session=a")],
], ids=["missing", "other", "twice", "in two lines", "another name's end", "no cookie at all",
        "empty", "empty in quotes", "empty and not", "twice with a space"])
def test_a_cookie_that_is_not_there_once(gateway, upstream, key, fields):
    answer = gateway.post("/cookie", key=key, fields=fields)
    assert_problem(answer, 400, "scope-missing", False)
    assert upstream.runs(key) == 0


def test_the_address_without_its_port_as_scope(gateway, upstream, key):
    near = assert_first(gateway.post("/address", key=key, source="127.0.0.2"))
    assert_first(gateway.post("/address", key=key, source="127.0.0.3"))
    assert_replay_of(gateway.post("/address", key=key, source="127.0.0.2"), near)
    assert upstream.runs(key) == 2


def test_x_forwarded_for_of_an_unlisted_client_does_not_count(gateway, key):
    first = assert_first(gateway.post("/address", key=key, source="127.0.0.2"))
    forged = [("X-Forwarded-For", "10.9.9.9")]
    assert_replay_of(
        gateway.post("/address", key=key, source="127.0.0.2", fields=forged), first)


@pytest.mark.parametrize("proxy", ["127.0.0.40", "127.0.50.7"])
def test_a_listed_proxys_x_forwarded_for_is_the_clients_address(gateway, upstream, key, proxy):
    def through(*hops):
        return gateway.post("/address", key=key, source=proxy,
                            fields=[("X-Forwarded-For", ", ".join(hops))])
    one = assert_first(through("10.1.1.1"))
    assert_first(through("10.2.2.2"))
    # What stands left of the last address that is no proxy, a client could have written.
    assert_replay_of(through("10.2.2.2", "10.1.1.1"), one)
    assert_replay_of(through("10.1.1.1", "127.0.0.40"), one)
    assert upstream.runs(key) == 2


@pytest.mark.parametrize("chain", ["unknown", "10.1.1.1, _hidden", "10.1.1.1:4711"])
def test_a_listed_proxy_without_x_forwarded_for(gateway, upstream, key, chain):
    """Its own address would be the scope of everybody behind it."""
    answer = gateway.post("/address", key=key, source="127.0.0.40",
                          fields=[("X-Forwarded-For", chain)])
    assert_problem(answer, 400, "scope-missing", False)
    assert upstream.runs(key) == 0


def test_no_scope_at_all_is_one_for_everybody(gateway, key):
    first = assert_first(gateway.post("/none", key=key, fields=authorized("ann")))
    assert_replay_of(gateway.post("/none", key=key, fields=authorized("bob")), first)


CALLERS = ["Cookie", "X_Api_Key", "X_USER",
           "X-Auth-Request-Email", "X-Access-Token", "X-Api-Key", "ApiKey",
           "X-Session-Id", "X-Forwarded-User", "X-Tenant", "X-Account-Id"]


@pytest.mark.parametrize("name", CALLERS)
def test_an_anonymous_stranger_never_gets_the_answer(gateway, upstream, key, name):
    mine = [(name, "secret=mine")]
    first = assert_first(gateway.post(key=key, fields=mine))
    for fields in ([(name, "secret=theirs")], []):
        answer = gateway.post(key=key, fields=fields)
        assert_problem(answer, 422, "key-reused", False)
    assert_replay_of(gateway.post(key=key, fields=mine), first)
    assert upstream.runs(key) == 1


def test_the_host_distinguishes_anonymous_callers(gateway, key):
    assert_first(gateway.post(key=key, host="one.test"))
    assert_problem(gateway.post(key=key, host="two.test"), 422, "key-reused", False)


def test_other_fields_may_differ_for_anonymous_callers(gateway, key):
    first = assert_first(gateway.post(key=key, fields=[("User-Agent", "a"), ("X-Trace", "1")]))
    again = [("X-Trace", "2"), ("User-Agent", "b")]
    assert_replay_of(gateway.post(key=key, fields=again), first)


def test_the_order_of_an_anonymous_callers_fields_does_not_matter(gateway, key):
    fields = [("Cookie", "a=1"), ("X-Api-Key", "k")]
    first = assert_first(gateway.post(key=key, fields=fields))
    assert_replay_of(gateway.post(key=key, fields=fields[::-1]), first)


def test_the_log_says_once_which_scope_to_configure(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)

    def hints():
        return [line for line in gateway.log_lines() if line["event"] == "anonymous-scope"]
    before = len(hints())
    assert_first(gateway.post(key=fresh_key()))
    wait_until(lambda: len(hints()) == before + 1, what="a line about the scope")
    for _ in range(5):
        assert_first(gateway.post(key=fresh_key()))
    assert len(hints()) == before + 1


def test_the_credential_is_nowhere_in_store_or_log(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    secret = f"Bearer secret-of-{key}"
    assert_first(gateway.post(key=key, fields=[("Authorization", secret)]))
    gateway.stop()
    files = [f for f in gateway.folder.iterdir() if f.is_file()]
    assert gateway.database in files
    for file in files:
        assert secret.encode() not in file.read_bytes(), file


def test_jwt_scopes_are_refused_until_they_exist(start_gateway, upstream):
    gateway = start_gateway(upstream, {"defaults": {"scope": "jwt:sub"}}, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    gateway.says("jwt")
