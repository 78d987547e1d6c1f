"""`onceguard consume` on Kafka by TLS and SASL: what reaches the broker's side of the line."""

import base64
import json
import signal
import time

import pytest

from support.certificates import Authority
from support.consumer import Consumer
from support.kafka_login import KafkaLogin
from support.waiting import wait_until


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def begin(onceguard, tmp_path):
    made = []

    def consume(url, ready=None, started=True):
        table = {"subscriber": "billing", "from": url, "dead_letter": "drop",
                 "command": ["cat"]}
        made.append(Consumer(onceguard, tmp_path, [table]))
        return made[-1].start(ready) if started else made[-1]

    yield consume
    for one in made:
        one.stop(signal.SIGKILL)


@pytest.fixture
def broker(authority):
    made = []

    def start(expired=False, hosts=("127.0.0.1", "localhost"), client_ca=None):
        made.append(KafkaLogin(authority.issue("kafka", hosts, expired), client_ca))
        return made[-1]

    yield start
    for one in made:
        one.close()


def url_of(server, login="", more=""):
    return f"kafka+ssl://{login}127.0.0.1:{server.port}/orders?group=billing{more}"


def is_away(consumer, text):
    """On a busy machine, the first attempts may end by their timeout."""
    wait_until(lambda: any(text in event["why"] for event in consumer.events("broker-away")), 60,
               f"an attempt to connect that says {text!r}")
    assert consumer.process.poll() is None, "it waits for better days"


def token_of(subject, lifetime=3600):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    return ".".join((part({"alg": "none"}), part({"sub": subject, "exp": time.time() + lifetime}),
                     "signature"))


@pytest.mark.parametrize("word,name,mark", [
    ("plain", "PLAIN", b"\0me\0secret-word"),
    ("scram-sha-256", "SCRAM-SHA-256", b"n,,n=me,r="),
    ("scram-sha-512", "SCRAM-SHA-512", b"n,,n=me,r=")])
def test_a_password_is_shown_as_it_was_asked_for(begin, broker, authority, word, name, mark):
    at = broker()
    consumer = begin(url_of(at, "me:secret-word@", f"&tls_ca={authority.file}&sasl={word}"))
    is_away(consumer, "nobody is known here")
    assert set(at.mechanisms) == {name}
    assert at.answers[0].startswith(mark)
    assert "secret-word" not in (consumer.folder / "log").read_text()


def test_a_token_comes_from_a_file_that_may_change(begin, broker, authority, tmp_path):
    at = broker()
    file = tmp_path / "token"
    file.write_text(token_of("first") + "\n")
    consumer = begin(url_of(at, more=f"&tls_ca={authority.file}&token_file={file}"))
    is_away(consumer, "nobody is known here")
    assert set(at.mechanisms) == {"OAUTHBEARER"}
    first = f"auth=Bearer {file.read_text().strip()}".encode()
    assert first in at.answers[0]
    file.write_text(token_of("second"))
    second = f"auth=Bearer {file.read_text()}".encode()
    wait_until(lambda: second in at.answers[-1], 60, "the new token")
    assert "signature" not in (consumer.folder / "log").read_text()


def test_a_client_is_known_by_its_certificate(begin, broker, authority):
    certificate, key = authority.issue("billing", hosts=(), subject="billing of the shop")
    at = broker(client_ca=authority.file)
    begin(url_of(at, more=f"&tls_ca={authority.file}&tls_certificate={certificate}&tls_key={key}"))
    wait_until(lambda: at.peers, 30, "a handshake")
    assert ((("commonName", "billing of the shop"),),) == at.peers[0]["subject"]


@pytest.mark.parametrize("fault,text", [("authority", "certificate verify failed"),
                                        ("expired", "certificate verify failed"),
                                        ("name", "certificate verify failed")])
def test_a_server_that_is_not_the_right_one_learns_nothing(begin, broker, authority, tmp_path,
                                                           fault, text):
    at = broker(expired=fault == "expired",
                hosts=("kafka.internal",) if fault == "name" else ("127.0.0.1",))
    trusted = authority
    if fault == "authority":
        trusted = Authority(tmp_path / "other", "others")
    consumer = begin(url_of(at, "me:secret-word@", f"&tls_ca={trusted.file}"))
    is_away(consumer, text)
    assert at.mechanisms == [] and at.answers == []


@pytest.mark.parametrize("more,text", [
    ("&tls_ca=/missing.pem", "/missing.pem"), ("&token_file=/missing.token", "/missing.token"),
    ("&token_file={wrong}", "holds no JWT"), ("&tls_name=x", "no parameter")])
def test_check_finds_files_that_can_not_be_used(begin, tmp_path, more, text):
    (tmp_path / "wrong").write_text("secret")
    more = more.replace("{wrong}", str(tmp_path / "wrong"))
    consumer = begin("kafka+ssl://h/orders?group=g" + more, started=False)
    checked = consumer.command("check")
    assert checked.returncode == 3
    assert text in checked.stdout + checked.stderr
