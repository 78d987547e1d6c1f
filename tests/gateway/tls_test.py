"""TLS on the listener."""

import contextlib
import json
import socket
import ssl
import subprocess
import threading

import pytest

from support.certificates import Authority
from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.secure import SecureConnection, post, trusting
from support.waiting import wait_until


def test_first_and_repeat_over_tls(secure, upstream, authority, key):
    gateway = secure()
    context = trusting(authority)
    first = assert_first(post(gateway, context, key))
    assert_replay_of(post(gateway, context, key), first)
    arrived, = upstream.requests(key)
    fields = {name.lower(): value for name, value in arrived["fields"]}
    assert fields["x-forwarded-proto"] == "https"
    assert fields["forwarded"].endswith("proto=https")


def test_one_connection_serves_many_requests(secure, authority, key):
    gateway = secure()
    with SecureConnection(gateway.address, trusting(authority)) as connection:
        for number in range(20):
            connection.send_request("POST", "/charges", fields_for(f"{key}-{number}"), b"x")
            assert_first(connection.read())
        pipelined = b"".join(request_bytes("POST", "/charges", fields_for(f"{key}-{number}"), b"x")
                             for number in range(20))
        for _ in range(20):
            connection.reader.expect("POST")
        connection.send(pipelined)
        assert all(connection.read().replayed for _ in range(20))


@pytest.mark.parametrize("size", [1, 16_383, 16_384, 16_385, 700_000])
def test_bodies_of_every_size(secure, upstream, authority, key, size):
    gateway = secure()
    context = trusting(authority)
    plan = {"status": 201, "size": size}
    body = b"x" * size
    first = assert_first(post(gateway, context, key, body=body, plan=plan))
    assert len(first.body) == size
    assert_replay_of(post(gateway, context, key, body=body, plan=plan), first)
    assert upstream.runs(key) == 1


def test_an_unguarded_answer_of_many_records_is_streamed(secure, authority):
    gateway = secure()
    plan = {"status": 200, "size": 5 << 20}
    with SecureConnection(gateway.address, trusting(authority)) as connection:
        connection.send_request("GET", "/large", [("X-Trace-Plan", json.dumps(plan))])
        assert len(connection.read().body) == 5 << 20


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_modern_versions(secure, authority, version, key):
    gateway = secure()
    exact = getattr(ssl.TLSVersion, version)
    context = trusting(authority, minimum_version=exact, maximum_version=exact)
    assert_first(post(gateway, context, f"{key}-{version}"))


def s_client(gateway, *arguments, text=b""):
    return subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{gateway.port.number}", *arguments],
        input=text, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("arguments", [
    ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], ["-tls1", "-cipher", "ALL:@SECLEVEL=0"],
    ["-tls1_2", "-cipher", "AES128-SHA"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
    ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384"], ["-alpn", "h2"]],
    ids=lambda a: " ".join(a))
def test_what_is_refused(secure, arguments):
    done = s_client(secure(), *arguments)
    assert done.returncode != 0, done.stdout.decode()
    assert b"alert" in done.stderr, done.stderr.decode()


def test_what_is_negotiated(secure):
    gateway = secure()
    done = s_client(gateway, "-tls1_2", "-alpn", "h2,http/1.1")
    assert b"ALPN protocol: http/1.1" in done.stdout
    assert b"Compression: NONE" in done.stdout
    assert b"Secure Renegotiation IS supported" in done.stdout
    early = s_client(gateway, "-tls1_3")
    assert b"Max Early Data: 0" in early.stdout or b"Early data was not sent" in early.stdout


def test_curl_verifies_it(secure, authority, key):
    gateway = secure()
    url = f"https://localhost:{gateway.port.number}/charges"
    command = ["curl", "-s", "--cacert", authority.file, "--resolve",
               f"localhost:{gateway.port.number}:127.0.0.1", "-H", f"Idempotency-Key: {key}",
               "--json", "{}", "-o", "/dev/null", "-w", "%{http_code} %header{idempotent-replayed}"]
    said = [subprocess.run([*command, url], capture_output=True, text=True, timeout=120,
                           check=True).stdout for _ in range(2)]
    assert said == ["201 ", "201 true"]
    without = subprocess.run(["curl", "-s", url], capture_output=True, timeout=120, check=False)
    assert without.returncode == 60


def test_plain_http_to_it_is_refused(secure):
    gateway = secure()
    answer = gateway.get("/")
    assert answer.status == 400 and b"https://" in answer.body


def test_a_connection_that_never_shakes_hands_ends(secure, authority, key):
    gateway = secure({"gateway": {"header_timeout": "300ms"}})
    with socket.create_connection(gateway.address, timeout=60) as silent, \
            socket.create_connection(gateway.address, timeout=60) as half:
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert silent.recv(1) == b"" and half.recv(1) == b""

    def answered():
        with contextlib.suppress(OSError):  # a busy machine shakes hands too late
            return post(gateway, trusting(authority), key)
    assert_first(wait_until(answered, what="a handshake in time"))


def test_a_request_that_is_cut_off_is_none(secure, upstream, authority, key):
    """Without the end of its body nothing runs, with and without a proper end of TLS."""
    gateway = secure()
    whole = request_bytes("POST", "/charges", fields_for(key), b"x" * 100)
    for properly in (True, False):
        connection = SecureConnection(gateway.address, trusting(authority))
        connection.send(whole[:-10])
        if properly:
            with contextlib.suppress(OSError):
                connection.socket.unwrap()
        connection.close()
    assert_first(post(gateway, trusting(authority), f"{key}-2"))
    assert upstream.runs(key) == 0


def test_answers_that_are_lost_cost_nothing(secure, upstream, authority, key):
    gateway = secure()
    lost = []
    for number in range(6):
        connection = SecureConnection(gateway.address, trusting(authority))
        connection.send_request("POST", "/charges", fields_for(f"{key}-{number}"), b"x")
        wait_until(lambda n=number: upstream.runs(f"{key}-{n}") == 1, what="the run")
        connection.reset()
        lost.append(number)
    for number in lost:
        wait_until(lambda n=number: gateway.state(f"{key}-{n}") == "completed", what="its end")
        with SecureConnection(gateway.address, trusting(authority)) as connection:
            connection.send_request("POST", "/charges", fields_for(f"{key}-{number}"), b"x")
            assert connection.read().replayed
        assert upstream.runs(f"{key}-{number}") == 1


# ---- clients with certificates

def test_a_client_certificate_is_required(secure, authority, tmp_path, key):
    gateway = secure(tls_client_ca=authority.file)
    ann = authority.issue("ann")
    assert_first(post(gateway, trusting(authority, ann), key))
    stranger = Authority(tmp_path / "other").issue("mallory")
    expired = authority.issue("expired", expired=True)
    for certificate in (None, stranger, expired):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            post(gateway, trusting(authority, certificate), key)


def test_a_client_certificate_is_a_scope(secure, upstream, authority, key):
    gateway = secure(tls_client_ca=authority.file, tls_client="ask")
    ann, bob = (trusting(authority, authority.issue(name)) for name in ("ann", "bob"))
    first = assert_first(post(gateway, ann, key))
    other = assert_first(post(gateway, bob, key))
    assert first.body != other.body
    assert_replay_of(post(gateway, ann, key), first)
    # Without a certificate it is an anonymous caller, and with Authorization that credential.
    assert_first(post(gateway, trusting(authority), key))
    assert_first(post(gateway, ann, key, fields=[("Authorization", "Bearer x")]))
    kinds = sorted(r["scope_kind"] for r in gateway.keys() if r["key"] == key)
    assert kinds == ["anonymous", "certificate", "certificate", "credential"]
    assert upstream.runs(key) == 4


@pytest.mark.parametrize("name", ["uri", "subject"])
def test_a_renewed_certificate_of_one_name_is_the_same_caller(secure, upstream, authority, key,
                                                              name):
    gateway = secure(tls_client_ca=authority.file, tls_client="ask", tls_client_name=name)

    def issue(file, *uris, subject="any"):
        return trusting(authority, authority.issue(file, hosts=("localhost", *uris),
                                                   subject=subject if name == "subject" else file))
    ann, renewed = (issue(file, "spiffe://c/ann", subject="ann") for file in ("one", "two"))
    first = assert_first(post(gateway, ann, key))
    assert_replay_of(post(gateway, renewed, key), first)
    assert_first(post(gateway, issue("three", "spiffe://c/bob", subject="bob"), key))
    assert upstream.runs(key) == 2
    assert {r["scope_kind"] for r in gateway.keys() if r["key"] == key} == {"certificate"}
    if name == "uri":  # without one URI, a certificate is known by itself
        both = ("spiffe://c/ann", "spiffe://c/eve")
        for uris in ((), both, both[::-1]):
            assert_first(post(gateway, issue("four", *uris), key))


# ---- rotation

def serial_of(gateway, authority):
    with SecureConnection(gateway.address, trusting(authority)) as connection:
        return connection.socket.getpeercert()["serialNumber"]


@pytest.mark.parametrize("how", ["watched", "SIGHUP"])
def test_a_rotated_certificate_under_load(secure, authority, key, how):
    gateway = secure()
    context = trusting(authority)
    before = serial_of(gateway, authority)
    ended, statuses, faults = threading.Event(), [], []

    def post_on(name):
        number = 0
        while not ended.is_set():
            number += 1
            try:
                statuses.append(post(gateway, context, f"{key}-{name}-{number}").status)
            except OSError as fault:
                faults.append(fault)

    threads = [threading.Thread(target=post_on, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    try:
        authority.issue("gateway")
        if how == "SIGHUP":
            gateway.reload(gateway.config)
        wait_until(lambda: serial_of(gateway, authority) != before, what="the new certificate")
        time_before = len(statuses)
        wait_until(lambda: len(statuses) > time_before + 5, what="more requests")
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert faults == [] and set(statuses) == {201}


def test_a_damaged_certificate_changes_nothing(secure, authority, key):
    gateway = secure()
    before = serial_of(gateway, authority)
    with open(gateway.config["gateway"]["tls_certificate"], "w", encoding="ascii") as file:
        file.write("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    gateway.logged("file-refused")
    assert serial_of(gateway, authority) == before
    assert_first(post(gateway, trusting(authority), key))


@pytest.mark.parametrize("tls, fault", [
    ({"tls_certificate": "/nowhere.pem"}, "tls_certificate: needs tls_key"),
    ({"tls_certificate": "/nowhere.pem", "tls_key": "/nowhere.key"}, "/nowhere.pem: "),
    ({"tls_key": "/nowhere.key"}, "tls_key: only with tls_certificate"),
])
def test_check_reads_the_files(start_gateway, own_upstream, tls, fault):
    gateway = start_gateway(own_upstream, started=False)
    gateway.write_config({"gateway": tls})
    done = gateway.command("check", "--config", str(gateway.config_path))
    assert done.returncode == 3 and fault in done.stderr, done


def test_check_compares_key_and_certificate(start_gateway, own_upstream, authority):
    gateway = start_gateway(own_upstream, started=False)
    certificate, _ = authority.issue("one")
    _, other = authority.issue("two")
    gateway.write_config({"gateway": {"tls_certificate": certificate, "tls_key": other}})
    done = gateway.command("check", "--config", str(gateway.config_path))
    assert done.returncode == 3 and "key values mismatch" in done.stderr, done.stderr
    expired, private = authority.issue("old", expired=True)
    gateway.write_config({"gateway": {"tls_certificate": expired, "tls_key": private}})
    done = gateway.command("check", "--config", str(gateway.config_path))
    assert done.returncode == 0 and "has expired" in done.stdout, done


def test_a_client_beyond_the_limit_gets_no_plain_text(secure, authority):
    gateway = secure({"gateway": {"max_connections": 1, "threads": 1}})
    with SecureConnection(gateway.address, trusting(authority)) as held:
        held.send_request("GET", "/")
        assert held.read().status == 201
        with socket.create_connection(gateway.address, timeout=60) as plain:
            with contextlib.suppress(ConnectionResetError):
                assert plain.recv(100) == b""
        with pytest.raises((ConnectionError, ssl.SSLError)) as refused:
            SecureConnection(gateway.address, trusting(authority))
        assert "WRONG_VERSION_NUMBER" not in str(refused.value)
        assert gateway.logged("overloaded")
