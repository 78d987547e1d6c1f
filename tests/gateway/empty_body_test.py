"""A guarded request without a body goes out so that no proxy on the way sends it again, and so that
services take it."""

import pytest

from support.expecting import assert_first, assert_replay_of
from support.services import SERVICES, Service
from support.waiting import wait_until


@pytest.fixture
def service(tmp_path):
    made = []

    def start(name):
        made.append(Service(name, tmp_path))
        return made[-1]
    yield start
    for each in made:
        each.close()


def of_length(url):
    return {"upstream": [{"name": "service", "url": url, "empty_body": "length"}]}


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "fastify"])
def test_services_take_an_empty_chunked_body(start_gateway, service, fresh_key, name):
    gateway = start_gateway(service(name).url)
    for _ in range(5):
        key = fresh_key()
        first = assert_first(gateway.post("/pay", key=key, body=b""))
        assert first.body == b"0 bytes"
        assert_replay_of(gateway.post("/pay", key=key, body=b""), first)
        assert assert_first(gateway.post("/pay", key=fresh_key(), body=b"abc")).body == b"3 bytes"


def test_fastify_wants_a_length_where_there_is_no_content_type(start_gateway, service, key):
    def post(gateway):
        with gateway.connect() as connection:
            connection.send_request("POST", "/pay", [("Idempotency-Key", key)], b"")
            return connection.read()

    url = service("fastify").url
    assert post(start_gateway(url)).status == 415
    assert assert_first(post(start_gateway(url, of_length(url)))).body == b"0 bytes"


def framing(upstream, key):
    return {name.lower(): value for name, value in upstream.requests(key)[0]["fields"]
            if name.lower() in ("content-length", "transfer-encoding")}


def test_only_a_guarded_request_without_a_body_is_framed_so(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    gateway.post(key=key, body=b"")
    gateway.post(key=f"{key}-full", body=b"1")
    assert framing(own_upstream, key) == {"transfer-encoding": "chunked"}
    assert framing(own_upstream, f"{key}-full") == {"content-length": "1"}
    wait_until(lambda: own_upstream.requests(key)[0]["closed"],
               what="the end of its connection, which is not used again")
    assert not own_upstream.requests(f"{key}-full")[0]["closed"]
    length = start_gateway(own_upstream.url, of_length(own_upstream.url))
    length.post(key=f"{key}-length", body=b"")
    assert framing(own_upstream, f"{key}-length") == {"content-length": "0"}
    assert not own_upstream.requests(f"{key}-length")[0]["closed"]
