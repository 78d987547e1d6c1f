"""Whose key it is, where the clients are other people's programs: what a caller is known by must be
the same at each try, and must tell callers apart."""

import hashlib
import json
import re
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from requests.auth import HTTPDigestAuth
from requests_oauthlib import OAuth1

from support.expecting import assert_first, assert_problem, assert_replay_of

PASSWORDS = {"ann": "secret", "bob": "hunter2"}


def params_of(authorization):
    return {name: quoted or bare for name, quoted, bare in
            re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', authorization)}


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


class Bank(BaseHTTPRequestHandler):
    """Asks for Digest or believes a signature by its key, and counts what it does."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def may(self, method):
        sent = self.headers.get("Authorization", "")
        given = params_of(sent)
        if sent.startswith("Digest "):
            name = given.get("username")
            if name not in PASSWORDS or name in self.server.revoked:
                return False
            secret = md5(f"{name}:bank:{PASSWORDS[name]}")
            rest = ":".join(given[part] for part in ("nonce", "nc", "cnonce", "qop"))
            return given["response"] == md5(f"{secret}:{rest}:{md5(method + ':' + given['uri'])}")
        named = given.get("oauth_consumer_key") or given.get("Credential", "").split("/")[0]
        return named in ("shop", "AKID") and named not in self.server.revoked

    def say(self, status, text, *fields):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.server.checks.append((self.path, self.headers.get("Onceguard-Method"),
                                   self.headers.get("Onceguard-Target")))
        if self.server.broken:
            return self.say(500, "no")
        if self.may(self.headers.get("Onceguard-Method", "")):
            return self.say(204, "")
        return self.say(401, "who are you?", ("WWW-Authenticate", "Digest stale"))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.may("POST"):
            return self.say(401, "", ("WWW-Authenticate",
                                      'Digest realm="bank", nonce="7", qop="auth"'))
        self.server.runs += 1
        return self.say(201, f"run {self.server.runs}")


@pytest.fixture
def bank():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bank)
    server.runs, server.checks, server.revoked, server.broken = 0, [], set(), False
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def guarded(start_gateway, bank, own_upstream):
    """A gateway before the bank that takes the scope from this part of Authorization."""
    def start(scope, **policy):
        return start_gateway(own_upstream, {
            "upstream": [{"name": "bank", "url": bank.url}],
            "defaults": {"scope": scope, "replay_check": "/auth", **policy}})
    return start


def url_of(gateway, path="/charge"):
    return f"http://{gateway.address[0]}:{gateway.address[1]}{path}"


def charge(gateway, key, auth):
    return requests.post(url_of(gateway), data={"amount": 1}, auth=auth,
                         headers={"Idempotency-Key": key}, timeout=20)


def test_a_signed_request_is_refused_where_its_whole_signature_would_be_the_scope(
        gateway, upstream, key):
    for auth in (OAuth1("shop", "s", "token", "t"), OAuth1("shop", "s", "token", "t")):
        answer = charge(gateway, key, auth)
        assert answer.status_code == 400
        assert answer.json()["type"].endswith("scope-missing")
        assert "auth-param:" in answer.json()["detail"]
        assert "OAuth" in answer.json()["detail"]
        assert answer.headers["Onceguard-Retry"] == "no"
    assert upstream.runs(key) == 0
    # Without a key nothing is asked of it.
    assert gateway.post(fields=[("Authorization", "Digest username=ann")]).status == 201


def test_digest_of_requests_runs_once(guarded, bank, key):
    gateway = guarded("auth-param:username,realm")
    answers = [charge(gateway, key, HTTPDigestAuth("ann", "secret")) for _ in range(3)]
    assert [a.status_code for a in answers] == [201] * 3
    assert {a.text for a in answers} == {"run 1"}
    assert [a.headers.get("Idempotent-Replayed") for a in answers] == [None, "true", "true"]
    assert bank.checks[-1] == ("/auth", "POST", "/charge")
    # Another caller has the same key, and an operation of his own.
    assert charge(gateway, key, HTTPDigestAuth("bob", "hunter2")).text == "run 2"
    assert bank.runs == 2


def test_oauth_of_requests_runs_once(guarded, bank, key):
    gateway = guarded("auth-param:oauth_consumer_key,oauth_token")
    answers = [charge(gateway, key, OAuth1("shop", "s", "token", "t")) for _ in range(3)]
    assert [a.text for a in answers] == ["run 1"] * 3
    assert charge(gateway, key, OAuth1("shop", "s", "another", "t")).text == "run 2"
    assert bank.runs == 2


@pytest.mark.parametrize("scope, how", [
    ("auth-param:username", ["--digest", "--user", "ann:secret"]),
    ("auth-param:credential", ["--aws-sigv4", "aws:amz:eu-west-1:pay", "--user", "AKID:secret"])])
def test_curl_runs_once(guarded, bank, key, scope, how):
    gateway = guarded(scope)
    bodies = {subprocess.run(
        [shutil.which("curl"), "-s", *how, "-H", f"Idempotency-Key: {key}", "-d", "amount=1",
         url_of(gateway)], check=True, capture_output=True, timeout=60).stdout for _ in range(3)}
    assert bodies == {b"run 1"}
    assert bank.runs == 1


def test_who_forges_the_part_gets_the_services_refusal(guarded, bank, key):
    gateway = guarded("auth-param:username")
    assert charge(gateway, key, HTTPDigestAuth("ann", "secret")).status_code == 201
    forged = [("Authorization", 'Digest username="ann", realm="bank", nonce="7", nc=1, cnonce="1",'
                                ' qop=auth, uri="/charge", response="guess"'),
              ("Content-Type", "application/x-www-form-urlencoded")]
    answer = gateway.post("/charge", key=key, fields=forged, body=b"amount=1", content_type=None,
                          host="{}:{}".format(*gateway.address))
    assert answer.status == 401 and answer.body == b"who are you?"
    assert answer.get("WWW-Authenticate") == "Digest stale"
    assert bank.runs == 1


def test_rights_that_were_revoked_end_the_replays(guarded, bank, key):
    gateway = guarded("auth-param:oauth_consumer_key")
    auth = OAuth1("shop", "s", "token", "t")
    assert charge(gateway, key, auth).text == "run 1"
    bank.revoked.add("shop")
    assert charge(gateway, key, auth).status_code == 401
    bank.revoked.clear()
    bank.broken = True
    answer = charge(gateway, key, auth)
    assert answer.status_code == 503
    assert answer.json()["type"].endswith("replay-unchecked")
    assert answer.headers["Onceguard-Retry"] == "same-key" and answer.headers["Retry-After"] == "1"
    gateway.says("it answered 500")
    bank.broken = False
    assert charge(gateway, key, auth).text == "run 1"
    assert bank.runs == 1


def test_a_check_that_nobody_answers_gives_no_replay(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"replay_check": "/auth"}})
    who = [("Authorization", "Bearer ann")]
    first = assert_first(gateway.post(key=key, fields=who))
    own_upstream.plan("/auth", {"status": 200})
    assert_replay_of(gateway.post(key=key, fields=who), first)
    own_upstream.refuse()
    answer = gateway.post(key=key, fields=who)
    assert_problem(answer, 503, "replay-unchecked", True, retry_after=True)
    own_upstream.listen()
    assert_replay_of(gateway.post(key=key, fields=who), first)
    asked = own_upstream.requests(path="/auth")[0]
    assert asked["method"] == "GET"


def test_a_listed_proxy_may_vouch_for_a_part(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"gateway": {"trusted_proxies": ["127.0.0.40"]},
                                       "defaults": {"scope": "auth-param:id"}})

    def through(source, number):
        return gateway.post(key=key, source=source, fields=[
            ("Authorization", f'Hawk id="shop", ts="{number}", mac="m{number}"')])
    first = assert_first(through("127.0.0.40", 1))
    assert_replay_of(through("127.0.0.40", 2), first)
    assert_problem(through("127.0.0.2", 3), 400, "scope-missing", False)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("defaults, word", [
    ({"scope": "auth-param:username"}, "replay_check"),
    ({"scope": "header:X-Shop", "previous_scope": ["auth-param:username"]}, "trusted_proxies"),
    ({"credential_schemes": ["Digest"]}, "stranger"),
    ({"scope": []}, "empty"),
    ({"scope": ["credential", "none"]}, "one of several"),
    ({"scope": "header:X-Shop", "previous_scope": ["jwt:sub"]}, "keys_file"),
    ({"replay_check": "auth"}, "expected a path")], ids=str)
def test_what_would_leak_or_double_is_refused_at_start(start_gateway, upstream, defaults, word):
    gateway = start_gateway(upstream, {"defaults": defaults}, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    gateway.says(word)


def test_a_scope_of_two_sources(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"defaults": {"scope": ["credential", "header:X-Tenant"]}})

    def post(who, tenant):
        return gateway.post(key=key, fields=[("Authorization", f"Bearer {who}"), ("X-Shop", "s"),
                                             *([("X-Tenant", tenant)] if tenant else [])])
    first = assert_first(post("ann", "a"))
    assert_first(post("ann", "b"))
    assert_first(post("bob", "a"))
    assert_replay_of(post("ann", "a"), first)
    assert_problem(post("ann", None), 400, "scope-missing", False)
    assert upstream.runs(key) == 3
    assert {r["scope_kind"] for r in gateway.keys() if r["key"] == key} == {
        "credential + header:x-tenant"}
    # And from there to another scope, without a run too many.
    gateway.stop()
    gateway.write_config({"defaults": {"scope": "header:X-Shop",
                                       "previous_scope": ["credential + header:X-Tenant"]}})
    gateway.start()
    moved = [("Authorization", "Bearer ann"), ("X-Tenant", "a"), ("X-Shop", "s")]
    assert_replay_of(gateway.post(key=key, fields=moved), first)


UNNAMED = ["X-Forwarded-Client-Cert", "Signature-Input", "Cf-Access-Jwt-Assertion", "X-Client-Id",
           "X-Amzn-Mtls-Clientcert-Subject", "X-Amzn-Oidc-Identity", "X-Partner", "X-Device",
           "X-Forwarded-Host", "Client-Cert", "X-SSL-Client-DN", "X-Goog-Iap-Jwt-Assertion",
           "X-Real-Ip", "X-Merchant", "Origin", "X-Org", "From", "X-Certificate-Sha1"]


@pytest.mark.parametrize("name", UNNAMED)
def test_an_anonymous_stranger_is_known_by_any_field(gateway, upstream, key, name):
    first = assert_first(gateway.post(key=key, fields=[(name, "mine")]))
    for fields in ([(name, "theirs")], []):
        assert_problem(gateway.post(key=key, fields=fields), 422, "key-reused", False)
    assert_replay_of(gateway.post(key=key, fields=[(name, "mine")]), first)
    assert upstream.runs(key) == 1


def test_what_differs_from_one_try_to_the_next_makes_no_stranger(gateway, upstream, key):
    names = ["traceparent", "X-Request-Id", "Sec-Fetch-Mode", "Accept-Language", "User-Agent",
             "Via", "X-Forwarded-For", "Date", "Referer", "X-B3-SpanId", "Baggage"]
    first = assert_first(gateway.post(key=key, fields=[(name, "1") for name in names]))
    assert_replay_of(gateway.post(key=key, fields=[(name, "2") for name in names[1:]]), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("former, stored, sent", [
    ("header:X-Tenant", ("X-Tenant", "a"), [("X-Tenant", "a"), ("X-Tenant", "a")]),
    ("cookie:session", ("Cookie", "session=a"), [("Cookie", "session=a; session=b")]),
    ("credential", ("Authorization", "Bearer a"),
     [("Authorization", "Bearer a"), ("Authorization", "Bearer b")])])
def test_a_former_scope_that_can_not_be_looked_up_is_refused(start_gateway, upstream, key, former,
                                                             stored, sent):
    shop = ("X-Shop", "s")
    gateway = start_gateway(upstream, {"defaults": {"scope": former}})
    first = assert_first(gateway.post(key=key, fields=[shop, stored]))
    gateway.stop()
    gateway.write_config({"defaults": {"scope": "header:X-Shop", "previous_scope": [former]}})
    gateway.start()
    answer = gateway.post(key=key, fields=[shop, *sent])
    assert_problem(answer, 400, "scope-missing", False)
    assert "former scope" in json.loads(answer.body)["detail"]
    assert_replay_of(gateway.post(key=key, fields=[shop, stored]), first)
    # Without the former source, there was nothing to store under.
    if former != "credential":
        assert_problem(gateway.post(key=key, fields=[("X-Shop", "")]), 400, "scope-missing", False)
        assert_first(gateway.post(key=key, fields=[("X-Shop", "other")]))
