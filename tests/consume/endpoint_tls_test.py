"""Endpoints of `onceguard consume` by HTTPS: certificates, names, and connections that are kept."""

import itertools

import pytest

from support.certificates import Authority
from support.consumer import outcomes, settled
from support.https_endpoint import HttpsEndpoint, kept_between
from support.waiting import wait_until


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def endpoint(authority):
    made = []

    def begin(**settings):
        made.append(HttpsEndpoint(**{"authority": authority, **settings}))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def failures(consumer):
    return [event["reason"] for event in consumer.events("message-failed")]


def is_refused(consume, stream, text, **table):
    """The message waits for another attempt, for that reason, and is not lost."""
    stream.add("x", "m1")
    consumer = consume(attempts=1000, **table)
    # On a busy machine, the first attempts may end by their timeout.
    wait_until(lambda: any(text in why for why in failures(consumer)), 30,
               f"a failed attempt that says {text!r}")
    assert outcomes(consumer) == [], "nothing is dead, and nothing unknown"
    return consumer


def test_messages_go_by_https_over_connections_that_are_kept(consume, stream, endpoint, authority):
    at = endpoint()
    keys = []

    def send():
        for _ in range(20):
            keys.append(f"m{len(keys)}")
            stream.add(f"payload of {keys[-1]}", keys[-1])

    send()
    consumer = consume(to=at.url + "/events", tls_ca=authority.file, concurrency=1)
    settled(consumer, 20)
    while not at.keeps_connections():
        send()
        settled(consumer, len(keys))
    assert sorted(at.keys()) == sorted(keys)
    assert {request["body"] for request in at.requests} == {
        f"payload of {key}".encode() for key in keys}


def test_a_client_is_known_by_its_certificate(consume, stream, endpoint, authority):
    at = endpoint(client_ca=authority)
    certificate, key = authority.issue("billing", hosts=(), subject="billing of the shop")
    stream.add("x", "m1")
    consumer = consume(to=at.url, tls_ca=authority.file, tls_certificate=certificate, tls_key=key)
    settled(consumer, 1)
    (request,) = at.requests
    assert ((("commonName", "billing of the shop"),),) == request["peer"]["subject"]


def test_without_the_certificate_that_is_asked_for_nothing_has_run(consume, stream, endpoint,
                                                                  authority):
    at = endpoint(client_ca=authority)
    is_refused(consume, stream, "certificate required", to=at.url, tls_ca=authority.file)
    assert at.keys() == []


def test_an_authority_that_is_not_ours_is_refused(consume, stream, endpoint, tmp_path):
    other = Authority(tmp_path / "other", "others")
    at = endpoint()
    is_refused(consume, stream, "certificate", to=at.url, tls_ca=other.file)
    assert at.keys() == []


def test_the_name_of_the_host_must_be_in_the_certificate(consume, stream, endpoint, authority):
    at = endpoint(hosts=("events.internal",))
    consumer = is_refused(consume, stream, "IP address mismatch", to=at.url, tls_ca=authority.file)
    assert any(f"127.0.0.1:{at.port}" in why for why in failures(consumer)), "the peer is named"
    assert at.keys() == []


def test_another_name_may_be_asked_for(consume, stream, endpoint, authority):
    at = endpoint(hosts=("events.internal",))
    stream.add("x", "m1")
    consumer = consume(to=at.url, tls_ca=authority.file, tls_name="events.internal")
    settled(consumer, 1)
    assert at.keys() == ["m1"]


def test_an_expired_certificate_is_refused_until_it_is_renewed(consume, stream, endpoint,
                                                               authority):
    at = endpoint(expired=True)
    consumer = is_refused(consume, stream, "certificate has expired", to=at.url,
                          tls_ca=authority.file)
    at.settings.load_cert_chain(*authority.issue("endpoint"))
    settled(consumer, 1)
    assert outcomes(consumer) == ["handled"]
    assert at.keys() == ["m1"]


def test_a_renewed_authority_is_read_again(consume, stream, endpoint, authority, tmp_path):
    other = Authority(tmp_path / "other", "others")
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(open(other.file).read())
    at = endpoint()
    consumer = is_refused(consume, stream, "certificate", to=at.url, tls_ca=str(trusted))
    trusted.write_text(open(authority.file).read())
    settled(consumer, 1)
    assert at.keys() == ["m1"]


def test_a_server_without_tls_gets_no_message(consume, stream, endpoint):
    at = endpoint(authority=None)
    is_refused(consume, stream, "TLS", to=f"https://127.0.0.1:{at.port}")
    assert at.keys() == []


@pytest.mark.parametrize("closing", ["announced", "silent", "promised"])
def test_a_connection_that_the_endpoint_closes_costs_no_message(consume, stream, endpoint, closing):
    at = endpoint(authority=None)
    at.closing = closing
    consumer = consume(to=at.url, concurrency=1)
    for number in range(10):
        stream.add("x", f"m{number}")
        settled(consumer, number + 1)
        wait_until(lambda: at.ended == number + 1, what="the end of the connection")
    assert outcomes(consumer) == ["handled"] * 10
    assert len(at.connections()) == 10


@pytest.mark.parametrize("secure", [False, True])
def test_a_request_that_broke_off_on_a_kept_connection_is_sent_once(consume, stream, endpoint,
                                                                    authority, secure):
    at = endpoint() if secure else endpoint(authority=None)
    consumer = consume(to=at.url, concurrency=1, **({"tls_ca": authority.file} if secure else {}))
    for number in itertools.count():
        keys = [f"{name}-{number}" for name in ("before", "cut", "after")]
        at.cut = keys[1]
        for key in keys:
            stream.add("x", key)
        settled(consumer, 3 * (number + 1))
        requests = at.requests[3 * number:]
        assert [request["key"] for request in requests] == keys
        before, cut, after = requests
        assert kept_between(before, cut)
        assert cut["connection"] != after["connection"]
        if before["connection"] == cut["connection"]:
            break
    assert sorted(outcomes(consumer)) == 2 * (number + 1) * ["handled"] + (number + 1) * ["unknown"]


@pytest.mark.parametrize("table,text", [
    ({"tls_ca": "/missing.pem"}, "/missing.pem"),
    ({"tls_certificate": "/missing.pem", "tls_key": "/missing.key"}, "/missing.pem"),
    ({"tls_certificate": "/missing.pem"}, "both or neither"),
    ({"secret_file": "/missing.secret"}, "/missing.secret"),
    ({"to": "http://127.0.0.1:9", "tls_name": "x"}, "only with https://"),
])
def test_check_finds_files_that_are_missing(consume, table, text):
    consumer = consume(started=False, **{"to": "https://127.0.0.1:9", **table})
    checked = consumer.command("check")
    assert checked.returncode == 3
    assert text in checked.stdout + checked.stderr
    assert "onceguard.toml:" in checked.stdout + checked.stderr
