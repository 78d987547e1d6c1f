"""TLS on the listener and to the upstream."""

import contextlib
import json
import socket
import ssl
import subprocess
import threading

import pytest

from support.certificates import Authority
from support.client import Connection, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.ports import Port
from support.waiting import wait_until


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def trusting(authority, certificate=None, **versions):
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    for name, value in versions.items():
        setattr(context, name, value)
    return context


class SecureConnection(Connection):
    """A connection of support.client over TLS."""

    def __init__(self, address, context, name="localhost"):
        super().__init__(address)
        self.socket = context.wrap_socket(self.socket, server_hostname=name)


def post(gateway, context, key, body=b'{"amount":100}', fields=(), plan=None, target="/charges"):
    sent = [("Content-Type", "application/json")] + fields_for(key, plan, fields)
    with SecureConnection(gateway.address, context) as connection:
        connection.send_request("POST", target, sent, body)
        return connection.read()


@pytest.fixture
def secure(start_gateway, upstream, authority):
    """A gateway whose listener speaks TLS."""
    def start(config=None, **tls):
        certificate, key = authority.issue("gateway")
        config = dict(config or {})
        config["gateway"] = {"tls_certificate": certificate, "tls_key": key, **tls,
                             **config.get("gateway", {})}
        return start_gateway(upstream, config, started=False).start()
    return start


# ---- the listener

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
        connection.send_request("GET", "/large", [("X-Plan", json.dumps(plan))])
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
        input=text, capture_output=True, timeout=30, check=False)


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
    said = [subprocess.run([*command, url], capture_output=True, text=True, timeout=30,
                           check=True).stdout for _ in range(2)]
    assert said == ["201 ", "201 true"]
    without = subprocess.run(["curl", "-s", url], capture_output=True, timeout=30, check=False)
    assert without.returncode == 60


def test_plain_http_to_it_is_told_so(secure):
    gateway = secure()
    answer = gateway.get("/")
    assert answer.status == 400 and b"https://" in answer.body


def test_a_connection_that_never_shakes_hands_ends(secure, authority, key):
    gateway = secure({"gateway": {"header_timeout": "300ms"}})
    with socket.create_connection(gateway.address, timeout=10) as silent, \
            socket.create_connection(gateway.address, timeout=10) as half:
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert silent.recv(1) == b"" and half.recv(1) == b""
    assert_first(post(gateway, trusting(authority), key))


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


# ---- to the upstream

class SecureUpstream:
    """An upstream behind TLS: a proxy of the tests in front of the counting one."""

    def __init__(self, upstream, certificate, client_ca=None):
        self._to = upstream.address
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        if client_ca:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        self.context = context
        self.port = Port()
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", self.port.number), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, host="localhost"):
        return f"https://{host}:{self.port.number}"

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.port.close()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain):
        with contextlib.suppress(OSError), contextlib.closing(plain):
            plain.settimeout(30)
            with self.context.wrap_socket(plain, server_side=True) as client, \
                    socket.create_connection(self._to) as server:
                threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
                self._pump(client, server)

    @staticmethod
    def _pump(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


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
    return start_gateway(url, {"upstream": [{"name": "shop", "url": url, **tls}]})


def test_the_upstream_is_verified_and_its_connection_kept(start_gateway, upstream, behind_tls,
                                                          authority, key):
    shop = behind_tls()
    gateway = to(start_gateway, shop.url(), tls_ca=authority.file)
    for number in range(10):
        first = assert_first(gateway.post(key=f"{key}-{number}"))
        assert_replay_of(gateway.post(key=f"{key}-{number}"), first)
    assert gateway.get("/x").status in (200, 201)
    assert shop.connections == 1, "a session ticket is no reason to give a connection up"
    assert all(upstream.runs(f"{key}-{number}") == 1 for number in range(10))


@pytest.mark.parametrize("wrong, reason", [
    ("unknown authority", "certificate"), ("another name", "mismatch"), ("expired", "expired"),
    ("no TLS there", "")])
def test_an_upstream_that_is_not_the_one_gets_nothing(start_gateway, upstream, behind_tls, authority,
                                                      key, wrong, reason):
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


def test_the_gateway_shows_its_certificate(start_gateway, behind_tls, authority, key):
    shop = behind_tls(client_ca=authority.file)
    certificate, private = authority.issue("client")
    gateway = to(start_gateway, shop.url(), tls_ca=authority.file, tls_certificate=certificate,
                 tls_key=private)
    assert_first(gateway.post(key=key))
    without = to(start_gateway, shop.url(), tls_ca=authority.file)
    assert without.post(key=f"{key}-2").status == 502


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
    wait_until(lambda: "TLS with" in gateway.log(), what="the refusal")


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
