"""Scopes from verified tokens, which are signed by PyJWT: it shares no code with the gateway."""

import base64
import hashlib
import hmac
import json
import threading
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, ed448, rsa
from cryptography.hazmat.primitives import serialization

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import PATIENCE, wait_until

ISSUER = "https://login.example"
AUDIENCE = "https://api.example"
SECRET = b"k" * 64


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number64(number, size=None):
    return url64(number.to_bytes(size or (number.bit_length() + 7) // 8, "big"))


def rsa_jwk(key, kid):
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "use": "sig", "n": number64(numbers.n),
            "e": number64(numbers.e)}


def curve_jwk(key, kid, curve, size):
    numbers = key.public_key().public_numbers()
    return {"kty": "EC", "kid": kid, "crv": curve, "x": number64(numbers.x, size),
            "y": number64(numbers.y, size)}


def edwards_jwk(key, kid, curve):
    raw = key.public_key().public_bytes(serialization.Encoding.Raw,
                                        serialization.PublicFormat.Raw)
    return {"kty": "OKP", "kid": kid, "crv": curve, "x": url64(raw)}


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
P256, P384, P521 = (ec.generate_private_key(curve()) for curve in
                    (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
ED25519, ED448 = ed25519.Ed25519PrivateKey.generate(), ed448.Ed448PrivateKey.generate()
KEYS = {"keys": [
    rsa_jwk(RSA, "rsa"), curve_jwk(P256, "p256", "P-256", 32), curve_jwk(P384, "p384", "P-384", 48),
    curve_jwk(P521, "p521", "P-521", 66), edwards_jwk(ED25519, "ed25519", "Ed25519"),
    edwards_jwk(ED448, "ed448", "Ed448"), {"kty": "oct", "kid": "secret", "k": url64(SECRET)}]}
SIGNERS = {"HS256": (SECRET, "secret"), "HS384": (SECRET, "secret"), "HS512": (SECRET, "secret"),
           **{name: (RSA, "rsa") for name in
              ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")},
           "ES256": (P256, "p256"), "ES384": (P384, "p384"), "ES512": (P521, "p521"),
           "EdDSA": (ED25519, "ed25519")}


def token(subject="ann", algorithm="RS256", key=None, headers=None, **claims):
    signer, kid = SIGNERS[algorithm]
    now = int(time.time())
    payload = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "exp": now + 300, **claims}
    payload = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(payload, key or signer, algorithm=algorithm,
                      headers={"kid": kid} if headers is None else headers)


def bearer(text):
    return [("Authorization", f"Bearer {text}")]


@pytest.fixture
def keys_file(tmp_path):
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(KEYS))
    return file


@pytest.fixture
def guarded(start_gateway, upstream, keys_file):
    return start_gateway(upstream, {
        "jwt": {"keys_file": str(keys_file), "issuer": ISSUER, "audience": AUDIENCE,
                "leeway": "0s"},
        "defaults": {"scope": "jwt:sub"}})


@pytest.mark.parametrize("algorithm", sorted(SIGNERS))
def test_a_refreshed_token_is_the_same_caller(guarded, upstream, key, algorithm):
    first = assert_first(guarded.post(key=key, fields=bearer(token(algorithm=algorithm))))
    again = token(algorithm=algorithm, jti="another", exp=int(time.time()) + 999)
    assert_replay_of(guarded.post(key=key, fields=bearer(again)), first)
    other = guarded.post(key=key, fields=bearer(token("bob", algorithm=algorithm)))
    assert other.status == 201 and not other.replayed
    assert upstream.runs(key) == 2
    assert {r["scope_kind"] for r in guarded.keys() if r["key"] == key} == {"jwt:sub"}


def test_a_token_signed_by_ed448(guarded, upstream, key):
    text = token(algorithm="EdDSA", key=ED448, headers={"kid": "ed448"})
    assert_first(guarded.post(key=key, fields=bearer(text)))


def forged():
    """Tokens that nobody who may has signed for this moment and this service."""
    now = int(time.time())
    public = RSA.public_key().public_bytes(serialization.Encoding.PEM,
                                           serialization.PublicFormat.SubjectPublicKeyInfo)
    head, payload, signature = token().split(".")
    swapped = url64(json.dumps({"alg": "HS256", "kid": "rsa"}).encode()) + "." + payload
    none = url64(json.dumps({"alg": "none"}).encode()) + "." + payload + "."
    changed = json.loads(base64.urlsafe_b64decode(payload + "=="))
    changed["sub"] = "bob"
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return {
        "expired": token(exp=now - 1),
        "not yet valid": token(nbf=now + 100),
        "another issuer": token(iss="https://login.example.evil"),
        "another audience": token(aud="https://other.example"),
        "without audience": token(aud=None),
        "without subject": token(subject=None),
        "a stranger's": token(key=stranger),
        "none": none,
        "none with a signature": none + signature,
        "the public key as secret": swapped + "." + url64(
            hmac.new(public, swapped.encode(), hashlib.sha256).digest()),
        "another algorithm":
            url64(b'{"alg":"PS256","kid":"rsa"}') + "." + payload + "." + signature,
        "changed claims": f"{head}.{url64(json.dumps(changed).encode())}.{signature}",
        "no signature": f"{head}.{payload}.",
        "cut": token()[:-10],
        "two parts": f"{head}.{payload}",
        "garbage": "a.b.c",
        "empty": "",
        "long": "a" * 20000,
    }


@pytest.mark.parametrize("which", sorted(forged()))
def test_a_token_that_proves_nothing_is_refused(guarded, upstream, key, which):
    text = forged()[which]
    refused = guarded.post(key=key, fields=bearer(text))
    problem = assert_problem(refused, 400, "scope-missing", False)
    assert "token" in problem["detail"]
    assert upstream.runs(key) == 0
    assert not text or text not in json.dumps(problem) + guarded.log()


def test_the_leeway_is_that_of_the_configuration(start_gateway, upstream, keys_file, key):
    gateway = start_gateway(upstream, {"jwt": {"keys_file": str(keys_file), "leeway": "30s"},
                                       "defaults": {"scope": "jwt:sub"}})
    now = int(time.time())
    late = gateway.post(key=key, fields=bearer(token(exp=now - 90)))
    assert_problem(late, 400, "scope-missing", False)
    assert upstream.runs(key) == 0
    assert_first(gateway.post(key=key, fields=bearer(token(exp=now - 5))))


@pytest.mark.parametrize("fields", [
    [], [("Authorization", "Basic YTpi")], [("Authorization", "Bearer")],
    [("Authorization", "Bearer x"), ("Authorization", "Bearer y")]], ids=repr)
def test_no_single_token_is_refused(guarded, upstream, key, fields):
    assert_problem(guarded.post(key=key, fields=fields), 400, "scope-missing", False)
    assert upstream.runs(key) == 0


def test_a_request_without_a_key_needs_no_token(guarded, upstream):
    assert guarded.post(key=None).status == 201


def test_new_keys_count_without_a_restart_and_none_is_lost_meanwhile(guarded, keys_file, key):
    new = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    old_token, new_token = token(), token(key=new, headers={"kid": "new"})
    assert_problem(guarded.post(key=key, fields=bearer(new_token)), 400, "scope-missing", False)
    ended, statuses = threading.Event(), []

    def post_on():
        number = 0
        while not ended.is_set():
            number += 1
            statuses.append(guarded.post(key=f"{key}-{number}", fields=bearer(old_token)).status)

    load = threading.Thread(target=post_on)
    load.start()
    try:
        keys_file.write_text(json.dumps({"keys": [*KEYS["keys"], rsa_jwk(new, "new")]}))
        wait_until(lambda: guarded.post(key=key, fields=bearer(new_token)).status == 201,
                   what="the new key")
        # A file that is half written changes nothing.
        keys_file.write_text(json.dumps(KEYS)[:100])
        guarded.logged("file-refused")
        assert guarded.post(key=key, fields=bearer(new_token)).replayed
    finally:
        ended.set()
        load.join()
    assert set(statuses) == {201}
    # The old key is withdrawn by renaming another file over it.
    other = keys_file.with_name("other.json")
    other.write_text(json.dumps({"keys": [rsa_jwk(new, "new")]}))
    other.rename(keys_file)
    wait_until(lambda: guarded.post(key=f"{key}-old", fields=bearer(old_token)).status == 400,
               what="the old key's end")
    assert guarded.post(key=key, fields=bearer(new_token)).replayed


def test_sighup_takes_another_issuer_over(guarded, keys_file, key):
    text = token(iss="https://second.example")
    assert_problem(guarded.post(key=key, fields=bearer(text)), 400, "scope-missing", False)
    guarded.reload({"jwt": {"keys_file": str(keys_file), "audience": AUDIENCE},
                    "defaults": {"scope": "jwt:sub"}})
    guarded.logged("reloaded")
    mine = assert_first(guarded.post(key=key, fields=bearer(text)))
    # Two issuers may call different people the same.
    other = assert_first(guarded.post(key=key, fields=bearer(token())))
    assert mine.body != other.body


def test_a_route_that_took_credentials_before_goes_on(start_gateway, own_upstream, keys_file, key):
    config = {"jwt": {"keys_file": str(keys_file)}}
    gateway = start_gateway(own_upstream, config)
    text = token()
    first = assert_first(gateway.post(key=key, fields=bearer(text)))
    gateway.reload({**config, "defaults": {"scope": "jwt:sub", "previous_scope": ["credential"]}})
    gateway.logged("reloaded")
    assert_replay_of(gateway.post(key=key, fields=bearer(text)), first)


@pytest.mark.parametrize("table, fault", [
    ({}, "needs keys_file of [jwt]"),
    ({"keys_file": "/nowhere"}, "/nowhere: can't be read: No such file"),
    ({"keys_file": "/dev/null"}, "/dev/null: is no regular file"),
])
def test_check_reads_the_keys(start_gateway, own_upstream, table, fault):
    gateway = start_gateway(own_upstream)
    gateway.write_config({"jwt": table, "defaults": {"scope": "jwt:sub"}})
    done = gateway.command("check", "--config", str(gateway.config_path))
    assert done.returncode == 3
    assert fault in done.stderr


def test_a_number_is_somebody_else_than_the_text_of_its_digits(guarded, upstream, key):
    # PyJWT makes no token with a number as its subject, as RFC 7519 has none.
    def numbered(value):
        head, payload, _ = token().split(".")
        said = json.loads(base64.urlsafe_b64decode(payload + "=="))
        text = url64(json.dumps({"alg": "HS256", "kid": "secret"}).encode()) + "." + url64(
            json.dumps({**said, "sub": value}).encode())
        return text + "." + url64(hmac.new(SECRET, text.encode(), hashlib.sha256).digest())
    first = assert_first(guarded.post(key=key, fields=bearer(numbered("17"))))
    other = assert_first(guarded.post(key=key, fields=bearer(numbered(17))))
    assert first.body != other.body
    assert_replay_of(guarded.post(key=key, fields=bearer(numbered("17"))), first)
    assert upstream.runs(key) == 2


def test_keys_of_two_issuers(start_gateway, upstream, keys_file, key):
    """Each issuer may call whomever it likes so, but not in the name of the other one."""
    theirs = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    ours = {**rsa_jwk(RSA, "rsa"), "iss": ISSUER}
    keys_file.write_text(json.dumps({"keys": [
        ours, {**rsa_jwk(theirs, "theirs"), "iss": "https://theirs.example"}]}))
    gateway = start_gateway(upstream, {"jwt": {"keys_file": str(keys_file)},
                                       "defaults": {"scope": "jwt:sub"}})
    assert_first(gateway.post(key=key, fields=bearer(token())))
    assert_first(gateway.post(key=key, fields=bearer(
        token(key=theirs, headers={"kid": "theirs"}, iss="https://theirs.example"))))
    for headers in ({"kid": "theirs"}, {}):
        forged_token = token(key=theirs, headers=headers)
        answer = gateway.post(key=key, fields=bearer(forged_token))
        assert_problem(answer, 400, "scope-missing", False)
    assert upstream.runs(key) == 2
    # A file in which some keys are bound and some are not is refused, and the former keys stay.
    keys_file.write_text(json.dumps({"keys": [ours, rsa_jwk(theirs, "theirs")]}))
    gateway.logged("file-refused")
    assert_problem(gateway.post(key=key, fields=bearer(forged_token)), 400, "scope-missing", False)


def test_check_asks_for_the_issuer(start_gateway, own_upstream, keys_file):
    gateway = start_gateway(own_upstream)
    for table, warned in (({}, True), ({"issuer": ISSUER}, False)):
        gateway.write_config({"jwt": {"keys_file": str(keys_file), **table},
                              "defaults": {"scope": "jwt:sub"}})
        done = gateway.command("check", "--config", str(gateway.config_path))
        assert ("a key of one issuer" in done.stdout + done.stderr) is warned


def test_an_expired_former_token_is_no_reason_to_run_again(start_gateway, own_upstream, keys_file,
                                                           key):
    config = {"jwt": {"keys_file": str(keys_file), "leeway": "0s"}}
    shop = ("X-Shop", "s")
    gateway = start_gateway(own_upstream, {**config, "defaults": {"scope": "jwt:sub"}})
    first = assert_first(gateway.post(key=key, fields=[shop, *bearer(token())]))
    gateway.reload({**config, "defaults": {"scope": "header:X-Shop",
                                           "previous_scope": ["jwt:sub"]}})
    gateway.logged("reloaded")
    expired = token(exp=int(time.time()) - 1)
    answer = gateway.post(key=key, fields=[shop, *bearer(expired)])
    assert_problem(answer, 400, "scope-missing", False)
    assert "the token has expired" in json.loads(answer.body)["detail"]
    assert_replay_of(gateway.post(key=key, fields=[shop, *bearer(token())]), first)
    assert own_upstream.runs(key) == 1
    # Who never had a token has no record under one.
    assert_first(gateway.post(key=key, fields=[("X-Shop", "another")]))


def test_bogus_tokens_do_not_take_the_thread(start_gateway, upstream, keys_file, key):
    """A signature of P-521 takes milliseconds to refuse, and anybody can send one."""
    many = [ec.generate_private_key(ec.SECP521R1()) for _ in range(99)]
    keys_file.write_text(json.dumps({"keys": [
        *(curve_jwk(one, f"k{number}", "P-521", 66) for number, one in enumerate(many)),
        rsa_jwk(RSA, "rsa")]}))
    gateway = start_gateway(upstream, {"gateway": {"threads": 1},
                                       "jwt": {"keys_file": str(keys_file), "issuer": ISSUER},
                                       "defaults": {"scope": "jwt:sub"}})
    stranger = token(key=P521, algorithm="ES512", headers={})
    head, payload, signature = stranger.split(".")
    ended, refused = threading.Event(), []

    def post_on(number):
        count = 0
        while not ended.is_set():
            count += 1
            made_up = url64(json.dumps({"sub": f"{number}-{count}"}).encode())
            answer = gateway.post(key=key, fields=bearer(f"{head}.{made_up}.{signature}"))
            refused.append(answer.status)

    load = [threading.Thread(target=post_on, args=(number,)) for number in range(20)]
    for one in load:
        one.start()
    try:
        wait_until(lambda: len(refused) > 40, what="refusals")
        times = []
        for _ in range(20):
            began = time.monotonic()
            assert gateway.get("/").status == 201
            times.append(time.monotonic() - began)
    finally:
        ended.set()
        for one in load:
            one.join()
    assert set(refused) == {400}
    assert sorted(times)[10] < 0.1 * PATIENCE  # each of them would take that thread for longer
    assert upstream.runs(key) == 0
    assert_first(gateway.post(key=key, fields=bearer(token())))
