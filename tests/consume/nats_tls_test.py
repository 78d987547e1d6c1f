"""`onceguard consume` on NATS by TLS: with nkeys, credentials files and certificates."""

import signal

import pytest

from support.certificates import Authority
from support.consumer import Consumer, outcomes, settled
from support.nats_tls import Client, Nats, Nkey, credentials
from support.waiting import wait_until

UNBOUNDED = {"subs": -1, "conn": -1, "leaf": -1, "data": -1, "payload": -1, "imports": -1,
             "exports": -1, "wildcards": True}
STREAMS = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}


class Login:
    """A server by TLS that knows one user, and what stands in URLs for that."""

    def __init__(self, folder, authority, way, expired=False):
        self.authority = authority
        self.user, self.token, self.certificate = Nkey("user"), None, None
        certificate, key = authority.issue("nats", expired=expired)
        tls = f'tls: {{cert_file: "{certificate}", key_file: "{key}"}}\n'
        if way == "nkey":
            file = folder / "user.nk"
            file.write_text(self.user.seed + "\n")
            self.words = f"nkey={file}"
            more = f"authorization: {{users: [{{nkey: {self.user.public}}}]}}"
        elif way == "credentials":
            file = folder / "user.creds"
            more = self._operator()
            file.write_text(credentials(self.token, self.user))
            self.words = f"credentials={file}"
        else:
            self.user = None
            self.certificate = own, own_key = authority.issue("billing", hosts=())
            tls = tls.replace("}", f', ca_file: "{authority.file}", verify: true}}')
            self.words, more = f"tls_certificate={own}&tls_key={own_key}", ""
        self.server = Nats(tls + more).start()

    def _operator(self):
        operator, account, system = Nkey("operator"), Nkey("account"), Nkey("account")
        self.token = account.grant(self.user.public, "billing", {
            "type": "user", "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}})
        preload = "\n".join(
            f"{one.public}: "
            + operator.grant(one.public, name, {"type": "account", "limits": UNBOUNDED | more})
            for one, name, more in ((account, "shop", STREAMS), (system, "SYS", {})))
        return (f'operator: {operator.grant(operator.public, "tests", {"type": "operator"})}\n'
                f"system_account: {system.public}\nresolver: MEMORY\n"
                f"resolver_preload: {{\n{preload}\n}}\n")

    def client(self):
        return Client(self.server, self.authority.file, self.user, self.token,
                      self.certificate)

    def url(self, path, words=None, ca=None):
        return (f"nats+tls://localhost:{self.server.port.number}/{path}"
                f"?tls_ca={ca or self.authority.file}"
                + ("&" + self.words if words is None else words))


@pytest.fixture
def begin(onceguard, tmp_path):
    made = []

    def consume(url, dead, ready="broker-connected", started=True):
        table = {"subscriber": "billing", "from": url, "dead_letter": dead, "id": "json:/id",
                 "command": ["sh", "-c", "grep -q good || exit 65"]}
        made.append(Consumer(onceguard, tmp_path, [table]))
        return made[-1].start(ready) if started else made[-1]

    yield consume
    for one in made:
        one.stop(signal.SIGKILL)


@pytest.fixture
def login(tmp_path):
    made = []

    def start(way, **more):
        made.append(Login(tmp_path, Authority(tmp_path / "authority"), way, **more))
        return made[-1]

    yield start
    for one in made:
        one.server.close()


@pytest.mark.parametrize("way", ["nkey", "credentials", "certificate"])
def test_a_user_is_known_by_a_key_or_a_certificate(begin, login, way):
    at = login(way)
    with at.client() as client:
        client.make_stream("ORDERS", "orders", "billing")
        client.make_stream("DEAD", "dead", "nobody")
        client.publish("orders", '{"id": 1, "is": "good"}')
        client.publish("orders", '{"id": 2, "is": "bad"}')
        consumer = begin(at.url("ORDERS/billing"), at.url("dead"))
        settled(consumer, 2)
        assert sorted(outcomes(consumer)) == ["dead", "handled"]
        wait_until(lambda: client.messages("DEAD"), 30, "the dead letter")
        assert client.messages("DEAD") == ['{"id": 2, "is": "bad"}']
    if at.user:
        assert at.user.seed not in (consumer.folder / "log").read_text()


def test_without_the_certificate_that_is_asked_for_it_waits(begin, login):
    at = login("certificate")
    consumer = begin(at.url("ORDERS/billing", words=""), at.url("dead"), ready=None)
    is_away(consumer, "ask for a certificate (tls_certificate)")


def is_away(consumer, *words):
    """On a busy machine, the first attempts may end by their timeout."""
    def said():
        return any(all(word in event["why"].lower() for word in map(str.lower, words))
                   for event in consumer.events("broker-away"))
    wait_until(said, 30, f"an attempt to connect that says {words}")
    assert consumer.process.poll() is None, "it waits for better days"


def test_another_key_is_refused_and_tried_again(begin, login, tmp_path):
    at = login("nkey")
    right = (tmp_path / "user.nk").read_text()
    (tmp_path / "user.nk").write_text(Nkey("user").seed)
    with at.client() as client:
        client.make_stream("ORDERS", "orders", "billing")
    consumer = begin(at.url("ORDERS/billing"), at.url("dead"), ready=None)
    is_away(consumer, "Authorization Violation", "nkey")
    (tmp_path / "user.nk").write_text(right)
    wait_until(lambda: consumer.events("broker-connected"), 30, "a connection")


def test_another_authority_is_refused(begin, login, tmp_path):
    at = login("nkey")
    other = Authority(tmp_path / "other", "others")
    consumer = begin(at.url("ORDERS/billing", ca=other.file), at.url("dead"), ready=None)
    is_away(consumer, "certificate", f"localhost:{at.server.port.number}")


def test_an_expired_certificate_is_refused(begin, login):
    at = login("nkey", expired=True)
    consumer = begin(at.url("ORDERS/billing"), at.url("dead"), ready=None)
    is_away(consumer, "certificate has expired")


def test_the_name_must_be_in_the_certificate(begin, login):
    at = login("nkey")
    url = at.url("ORDERS/billing") + "&tls_name=nats.internal"
    consumer = begin(url, at.url("dead"), ready=None)
    is_away(consumer, "hostname mismatch")


@pytest.mark.parametrize("url,text", [
    ("nats://h/S/C?nkey=/missing.nk", "/missing.nk"),
    ("nats+tls://h/S/C?credentials=/missing.creds", "/missing.creds"),
    ("nats+tls://h/S/C?tls_ca=/missing.pem", "/missing.pem"),
    ("nats://a:b@h/S/C?nkey=/x", "one of them at most"),
    ("nats://h/S/C?tls_ca=/x", "has none"),
    ("nats+tls://10.0.0.1/S/C", "tls_name"),
    ("nats://h/S/C?nkey={empty}", "holds no seed of a user"),
])
def test_check_finds_what_can_not_be(begin, tmp_path, url, text):
    (tmp_path / "empty").write_text("\n")
    url = url.replace("{empty}", str(tmp_path / "empty"))
    consumer = begin(url, "nats://h/dead", started=False)
    checked = consumer.command("check")
    assert checked.returncode == 3
    assert text in checked.stdout + checked.stderr
