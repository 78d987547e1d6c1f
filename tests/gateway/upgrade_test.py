"""WebSocket and other upgrades are passed through."""

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.pattern import pattern
from support.waiting import wait_until

UPGRADE = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
           ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]


def open_tunnel(gateway, key, early=b""):
    connection = gateway.connect()
    connection.reader.expect("GET")
    fields = UPGRADE + fields_for(None, {"upgrade": True})
    connection.send(request_bytes("GET", f"/{key}", fields) + early)
    return connection


def test_an_upgrade_becomes_a_tunnel(gateway, upstream, key):
    with open_tunnel(gateway, key) as connection:
        answer = connection.read()
        assert answer.status == 101
        assert answer.get("Upgrade") == "websocket"
        assert "upgrade" in answer.get("Connection").lower()
        for number in range(5):
            text = b"\x81\x05frame\0\r\n%d" % number
            connection.send(text)
            assert connection.read_raw(5 + len(text)) == b"echo:" + text
        request = upstream.requests(path=f"/{key}")[0]
        assert "upgrade: websocket" in request["head"].lower()


def test_the_upstreams_end_ends_the_tunnel(gateway, key):
    with open_tunnel(gateway, key) as connection:
        assert connection.read().status == 101
        connection.send(b"bye")
        assert connection.closed_within(5)


def test_the_clients_end_ends_the_tunnel(gateway, upstream, key):
    with open_tunnel(gateway, key) as connection:
        assert connection.read().status == 101
    upstream.arrived(1, path=f"/{key}", closed=True)


def test_bytes_that_came_with_the_upgrade_go_into_the_tunnel(gateway, key):
    with open_tunnel(gateway, key, early=b"first") as connection:
        assert connection.read().status == 101
        assert connection.read_raw(10) == b"echo:first"


def test_bytes_that_came_with_the_switch_reach_the_client(start_gateway, scripted, key):
    switched = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                b"Upgrade: websocket\r\n\r\nwelcome")
    gateway = start_gateway(scripted.add(("head",), ("send", switched), ("stall",)).url)
    with open_tunnel(gateway, key) as connection:
        assert connection.read().status == 101
        assert connection.read_raw(7) == b"welcome"


def test_a_tunnel_carries_many_bytes_both_ways(gateway, key):
    block = pattern(30_000)
    with open_tunnel(gateway, key) as connection:
        assert connection.read().status == 101
        for _ in range(40):
            connection.send(block)
            got = b""
            while got.replace(b"echo:", b"") != block:
                got += connection.read_raw(1)
                if len(connection.reader.buffer):
                    got += connection.read_raw(len(connection.reader.buffer))
                assert len(got) <= 2 * len(block)


def test_an_upgrade_that_is_refused_is_an_ordinary_answer(gateway, key):
    with gateway.connect() as connection:
        connection.send_request("GET", f"/{key}", UPGRADE + fields_for(None, {"status": 426}))
        assert connection.read().status == 426
        connection.send_request("GET", f"/{key}")
        assert connection.read().status == 201


def test_a_guarded_request_is_never_upgraded(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send_request("POST", "/charges", UPGRADE + fields_for(key), b"x")
        assert_first(connection.read())
    head = upstream.requests(key)[0]["head"].lower()
    assert "\r\nupgrade:" not in head
    assert "upgrade" not in head.split("\r\nconnection:")[-1].split("\r\n")[0] or (
        "\r\nconnection:" not in head)


def test_an_upstream_that_upgrades_unasked_leaves_the_record_unknown(gateway, upstream, key):
    answer = gateway.post(key=key, plan={"upgrade": True})
    assert_problem(answer, 502, "upstream-broken", True)
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("target", ["shop.test:443", "/charges"])
def test_connect_is_no_way_around(gateway, upstream, target):
    """A reverse proxy opens no tunnels to where a client wants."""
    with gateway.connect() as connection:
        connection.send_request("CONNECT", target)
        answer = connection.read()
        assert 400 <= answer.status < 600
    assert upstream.requests(method="CONNECT") == []


@pytest.mark.parametrize("protocols", ["h2c", "websocket, H2C", "h2c-14"])
def test_nothing_gets_past_the_rules_by_http_2(gateway, upstream, key, protocols):
    """What followed would be requests whose fields nobody has looked at."""
    fields = [("Connection", "Upgrade"), ("Upgrade", protocols), ("HTTP2-Settings", "AAMAAABk")]
    assert_first(gateway.get(f"/{key}", fields=fields))
    head = upstream.requests(path=f"/{key}")[0]["head"].lower()
    assert "upgrade" not in head and "http2-settings" not in head


def test_an_unrequested_protocol_switch_is_no_answer(gateway, key):
    answer = gateway.get(f"/{key}", plan={"upgrade": True})
    assert_problem(answer, 502, "upstream-broken", True)


SWITCHED = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\n\r\n")


@pytest.mark.parametrize("framing, begun", [
    (("Content-Length", "10"), b"abc"), (("Transfer-Encoding", "chunked"), b"3\r\nabc\r\n")],
    ids=["sized", "chunked"])
def test_a_switch_before_the_request_is_whole_is_no_answer(
        start_gateway, scripted, key, framing, begun):
    """The tunnel would take the rest of the body, and the body the tunnel's bytes."""
    gateway = start_gateway(scripted.add(("head",), ("send", SWITCHED), ("stall",)).url)
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", UPGRADE + [framing]) + begun)
        assert_problem(connection.read(), 502, "upstream-broken", True)
    assert "before the request was whole" in gateway.logged("upstream-broken")[0]["why"]


def test_a_switch_behind_a_body_opens_the_tunnel(start_gateway, scripted, key):
    upstream = scripted.add(("head",), ("body", 10), ("send", SWITCHED), ("body", 5),
                            ("send", b"welcome"), ("stall",))
    gateway = start_gateway(upstream.url)
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", UPGRADE + [("Content-Length", "10")]))
        wait_until(lambda: upstream.begun, what="the head at the upstream")
        connection.send(b"0123456789")
        assert connection.read().status == 101
        connection.send(b"frame")
        assert connection.read_raw(7) == b"welcome"
    assert upstream.taken == 15
