"""The decision service by TLS."""

import contextlib
import socket
import ssl

import pytest

from support.certificates import Authority
from support.decisions import DecisionService, busy, fresh, stays, trusting
from support.waiting import wait_until


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def start(onceguard, tmp_path, authority):
    made = []

    def begin(**serve):
        certificate, key = authority.issue("service")
        made.append(DecisionService(onceguard, tmp_path, {
            "store": {"url": "memory:"}, "defaults": {"lease": "3s"},
            "serve": {"tls_certificate": certificate, "tls_key": key, **serve}}, tcp=True))
        return made[-1].start()

    yield begin
    for one in made:
        one.close()


def test_an_operation_runs_and_is_replayed_by_tls(start, authority):
    service = start()
    key, body = fresh(), "a large answer " * 20_000
    with service.client(tls=trusting(authority)) as client:
        assert client.socket.version() == "TLSv1.3"
        running = client.run(key=key)
        assert client.complete(running["operation"], body=body).json()["outcome"] == "settled"
        replay = client.claim(key=key).json()
        assert (replay["verdict"], replay["answer"]["body"]) == ("replay", body)


def test_a_lease_is_renewed_while_the_connection_lives_and_no_longer(start, authority):
    service = start()
    with service.client(tls=trusting(authority)) as other:
        for _ in range(3):  # a busy machine may renew too late, and not each time
            key, client = fresh(), service.client(tls=trusting(authority))
            client.run(key=key)
            if kept := stays(lambda: other.claim(key=key).json()["verdict"] == "busy", 5):
                break
        assert kept
        client.close()
        wait_until(lambda: other.claim(key=key).json()["verdict"] == "unknown", 20, "the end")


@pytest.mark.parametrize("politely", [True, False])
def test_a_waiter_that_leaves_gets_no_lease(start, authority, politely):
    """It leaves while its claim waits, with the end that TLS has or without."""
    service = start(threads=1)  # it reads all connections, so that busy() puts both in order
    key = fresh()
    with service.client(tls=trusting(authority)) as client:
        running = client.run(key=key)
        waiter = service.client(tls=trusting(authority))
        waiter.send("POST", "/v1/operations", (
            '{"scope":"tests","key":"%s","fingerprint":"the same","wait_ms":20000}' % key).encode(),
            [("Content-Type", "application/json")])
        busy(client)
        if politely:
            waiter.socket.settimeout(0.2)
            try:
                waiter.socket.unwrap()
            except OSError:
                pass  # its other half does not come
        waiter.close()
        busy(client)
        client.settle(running["operation"], "release")
        # Nobody else holds it, so the next one gets it at once.
        assert client.run(key=key)["attempt"] == 2


def test_a_client_without_tls_is_answered_so(start):
    service = start()
    with service.client() as client:
        answer = client.ask("GET", "/healthz")
        assert answer.status == 400
        assert b"HTTPS" in answer.body


def test_a_handshake_that_does_not_go_on_ends(start, authority):
    service = start(message_timeout="500ms")

    def served():
        with contextlib.suppress(OSError):  # a busy machine shakes hands too late
            with service.client(tls=trusting(authority)) as client:
                return client.run(key=fresh())
    with socket.create_connection(service.address, 60) as silent:
        silent.sendall(b"\x16\x03\x01")
        wait_until(served, what="others being served meanwhile")
        assert silent.recv(100) == b""  # or the time of the socket is over


def test_who_has_no_certificate_of_the_authority_is_refused(start, authority, tmp_path):
    service = start(tls_client_ca=authority.file)
    with service.client(tls=trusting(authority, authority.issue("shop"))) as client:
        assert client.run(key=fresh())
    stranger = Authority(tmp_path / "stranger").issue("shop")
    for certificate in (None, stranger):
        with pytest.raises((ssl.SSLError, OSError)):
            with service.client(tls=trusting(authority, certificate)) as client:
                client.claim(key=fresh())


def test_a_new_certificate_is_taken_and_a_wrong_one_is_not(start, authority):
    service = start()

    def number():
        with service.client(tls=trusting(authority)) as client:
            return client.socket.getpeercert()["serialNumber"]

    before = number()
    authority.issue("service")
    assert service.reload() == "reloaded"
    after = number()
    assert after != before
    (authority.folder / "service.pem").write_text("nothing")
    service.reload()
    assert number() == after
