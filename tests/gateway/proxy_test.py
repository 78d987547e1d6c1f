"""What a reverse proxy does with every request, guarded or not."""

import pytest

from support.client import chunks, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.pattern import pattern
from support.waiting import wait_until

KINDS = pytest.mark.parametrize("guarded", [False, True], ids=["unguarded", "guarded"])
RESERVED = ["Onceguard-Scope", "onceguard-token", "ONCEGUARD-Attempt", "Onceguard-Lease",
            "Onceguard-Unguarded", "Onceguard-Anything"]


def sent(upstream, path):
    found = upstream.requests(path=path)
    assert len(found) == 1
    return found[0]


def values(request, name):
    return [v for n, v in request["fields"] if n.lower() == name.lower()]


@KINDS
def test_request_fields_travel_in_order(gateway, upstream, key, guarded):
    fields = [["X-A", "1"], ["X-B", "2"], ["X-A", "3"], ["Accept", "a, b"], ["X-Empty", ""],
              ["x-lower", "Case Kept"]]
    gateway.post(f"/{key}", key=key if guarded else None, fields=[tuple(f) for f in fields])
    assert [f for f in sent(upstream, f"/{key}")["fields"] if f in fields] == fields


@KINDS
def test_hop_by_hop_fields_stay_here(gateway, upstream, key, guarded):
    fields = [("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"),
              ("Proxy-Connection", "keep-alive"), ("TE", "trailers"),
              ("Proxy-Authorization", "Basic x"), ("X-Stays", "1")]
    gateway.post(f"/{key}", key=key if guarded else None, fields=fields)
    request = sent(upstream, f"/{key}")
    assert values(request, "X-Stays") == ["1"]
    for name in ("X-Hop", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"):
        assert values(request, name) == [], name
    assert "X-Hop" not in "".join(values(request, "Connection"))
    # What the gateway itself says of trailers; it keeps none of a guarded answer.
    assert values(request, "TE") == ([] if guarded else ["trailers"])


@pytest.mark.parametrize("name", ["Idempotency-Key", "Authorization", "Cookie", "Host"])
def test_connection_cannot_remove_what_the_upstream_relies_on(gateway, upstream, key, name):
    fields = [("Connection", f"close, {name}"), ("Authorization", "Bearer x"), ("Cookie", "a=1")]
    gateway.post(f"/{key}", key=key, fields=fields)
    assert len(values(sent(upstream, f"/{key}"), name)) == 1


@KINDS
def test_reserved_fields_of_a_client_are_removed(gateway, upstream, key, guarded):
    forged = [(name, "forged") for name in RESERVED]
    gateway.post(f"/{key}", key=key if guarded else None, fields=forged)
    request = sent(upstream, f"/{key}")
    ours = [(n, v) for n, v in request["fields"] if n.lower().startswith("onceguard-")]
    assert "forged" not in [v for _, v in ours]
    names = sorted(n.lower() for n, _ in ours)
    assert names == (["onceguard-attempt", "onceguard-lease", "onceguard-scope",
                      "onceguard-token"] if guarded else [])


def test_reserved_fields_are_removed_from_safe_methods_too(gateway, upstream, key):
    gateway.get(f"/{key}", fields=[("Onceguard-Token", "9")])
    assert values(sent(upstream, f"/{key}"), "Onceguard-Token") == []


def test_a_guarded_request_carries_its_scope_and_token(gateway, upstream, key):
    gateway.post(f"/{key}", key=key)
    request = sent(upstream, f"/{key}")
    assert request["attempt"] == "1"
    assert int(request["token"]) >= 1
    assert len(request["scope"]) == 64
    assert len(values(request, "Onceguard-Lease")) == 1
    assert values(request, "Idempotency-Key") == [key]


@KINDS
def test_the_client_is_named(gateway, upstream, key, guarded):
    gateway.post(f"/{key}", key=key if guarded else None, source="127.0.0.9", host="shop.test:81")
    request = sent(upstream, f"/{key}")
    assert values(request, "X-Forwarded-For") == ["127.0.0.9"]
    assert values(request, "X-Forwarded-Proto") == ["http"]
    assert values(request, "X-Forwarded-Host") == ["shop.test:81"]
    forwarded = "".join(values(request, "Forwarded")).lower()
    assert "for=127.0.0.9" in forwarded and "proto=http" in forwarded


def test_what_anybody_wrote_about_the_client_is_replaced(gateway, upstream, key):
    fields = [("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https"),
              ("X-Forwarded-Host", "evil.test"), ("Forwarded", "for=10.0.0.1")]
    gateway.get(f"/{key}", fields=fields)
    request = sent(upstream, f"/{key}")
    assert values(request, "X-Forwarded-For") == ["127.0.0.1"]
    assert values(request, "X-Forwarded-Proto") == ["http"]
    assert values(request, "X-Forwarded-Host") == ["shop.test"]
    assert "10.0.0.1" not in "".join(values(request, "Forwarded"))


def test_what_a_listed_proxy_wrote_is_extended(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"gateway": {"trusted_proxies": ["127.0.0.40"]}})
    fields = [("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https"),
              ("X-Forwarded-Host", "shop.example")]
    gateway.get(f"/{key}", fields=fields, source="127.0.0.40")
    request = sent(upstream, f"/{key}")
    assert values(request, "X-Forwarded-For") == ["10.0.0.1, 127.0.0.40"]
    assert values(request, "X-Forwarded-Proto") == ["https"]
    assert values(request, "X-Forwarded-Host") == ["shop.example"]


@KINDS
@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_bodies_arrive_whole(gateway, upstream, key, guarded, chunked, size):
    body = pattern(size)
    assert_first(gateway.post(f"/{key}", key=key if guarded else None, body=body, chunked=chunked))
    request = sent(upstream, f"/{key}")
    assert request["whole"] and request["size"] == size
    assert request["body"].encode("latin-1") == body[: 64 * 1024]
    if guarded:  # it is buffered, so its length is known
        assert request["framing"] == ("length" if size else "chunked")


@pytest.mark.parametrize("status", [200, 201, 204, 206, 302, 304, 400, 404, 418, 500, 503, 599])
def test_unguarded_answers_pass_untouched(gateway, key, status):
    plan = {"status": status, "body": "text", "reason": "Because",
            "headers": [["X-A", "1"], ["X-B", "2"], ["X-A", "3"], ["Set-Cookie", "a=1"]]}
    answer = gateway.get(f"/{key}", plan=plan)
    assert answer.status == status
    assert answer.body == (b"" if status in (204, 304) else b"text")
    mine = [f for f in answer.fields if f[0].startswith("X-") or f[0] == "Set-Cookie"]
    assert mine == [("X-A", "1"), ("X-B", "2"), ("X-A", "3"), ("Set-Cookie", "a=1")]


def test_head_has_no_body(gateway, key):
    with gateway.connect() as connection:
        for _ in range(2):
            connection.send_request("HEAD", f"/{key}")
            answer = connection.read()
            assert answer.status == 201 and answer.body == b""
        assert connection.reader.buffer == b""


@pytest.mark.parametrize("framing", ["length", "chunked", "eof"])
def test_answers_of_every_framing_pass(gateway, key, framing):
    answer = gateway.get(f"/{key}", plan={"size": 100_000, "framing": framing})
    assert answer.body == pattern(100_000)
    assert not answer.truncated


def test_http_1_0_clients_get_no_chunks(gateway, key):
    with gateway.connect() as connection:
        connection.send_request("GET", f"/{key}",
                                [("X-Trace-Plan", '{"size":9000,"framing":"chunked"}')],
                                version="1.0")
        answer = connection.read()
        assert answer.get("Transfer-Encoding") is None
        assert answer.body == pattern(9000)
        assert connection.closed_within(5)


def test_a_connection_is_kept_alive(gateway, fresh_key):
    with gateway.connect() as connection:
        for number in range(6):
            key = fresh_key() if number % 2 else None
            fields = [("Idempotency-Key", key)] if key else []
            connection.send_request("POST", "/kept", fields, b"body")
            assert_first(connection.read())


def test_connection_close_is_honoured(gateway):
    with gateway.connect() as connection:
        connection.send_request("GET", "/", [("Connection", "close")])
        answer = connection.read()
        assert answer.get("Connection", "").lower() == "close"
        assert connection.closed_within(5)


def test_pipelined_requests_are_answered_in_order(gateway, upstream, key):
    pair = [("Idempotency-Key", key)]
    first = request_bytes("POST", f"/{key}", pair + [("X-Trace-Plan", '{"delay_ms":150}')], b"b")
    batch = (first + request_bytes("GET", f"/{key}/get") + request_bytes("POST", f"/{key}", pair,
                                                                        b"b")
             + request_bytes("POST", f"/{key}", pair, b"other") + request_bytes("HEAD", "/h"))
    with gateway.connect() as connection:
        for method in ("POST", "GET", "POST", "POST", "HEAD"):
            connection.reader.expect(method)
        connection.send(batch)
        ran = assert_first(connection.read())
        assert connection.read().status == 201
        # One after the other: the second found the first completed, not running.
        assert_replay_of(connection.read(), ran)
        assert connection.read().status == 422
        assert connection.read().status == 201
    assert upstream.runs(key) == 1


def test_a_request_may_come_byte_by_byte(gateway, upstream, key):
    whole = request_bytes("POST", f"/{key}", [("Idempotency-Key", key)], pattern(40), chunked=True)
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        for at in range(len(whole)):
            connection.send(whole[at : at + 1])
        assert_first(connection.read())
    assert sent(upstream, f"/{key}")["size"] == 40


def test_upstream_connections_are_reused(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"gateway": {"threads": 1}})
    with gateway.connect() as connection:
        for _ in range(10):
            connection.send_request("GET", "/")
            assert connection.read().status == 201
    assert own_upstream.connections()["accepted"] == 1


def test_an_old_pooled_connection_is_not_used_for_guarded_requests(start_gateway, own_upstream,
                                                                  fresh_key):
    gateway = start_gateway(own_upstream, {"gateway": {"threads": 1}})
    keys = [fresh_key() for _ in range(3)]
    assert_first(gateway.post(key=keys[0]))
    assert_first(gateway.post(key=keys[1]))
    fresh = own_upstream.requests(keys[1])[0]
    if fresh["at"] - own_upstream.requests(keys[0])[0]["at"] < 0.5:
        assert fresh["conn"] == own_upstream.requests(keys[0])[0]["conn"]
    with gateway.connect() as pause:
        assert pause.silent_for(1.2)
    assert_first(gateway.post(key=keys[2]))
    assert own_upstream.requests(keys[2])[0]["conn"] != fresh["conn"]


def test_a_pooled_connection_that_the_upstream_closed_is_noticed(start_gateway, own_upstream,
                                                                 fresh_key):
    gateway = start_gateway(own_upstream)
    for number in range(20):
        key = fresh_key()
        assert_first(gateway.post(key=key))
        own_upstream.cut()
        wait_until(lambda: own_upstream.connections()["open"] == 0)
        assert_first(gateway.post(key=fresh_key()))
        assert gateway.get("/").status == 201, number


def test_a_get_survives_a_connection_that_died(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"gateway": {"threads": 1}})
    for _ in range(20):
        assert gateway.get("/").status == 201
        own_upstream.cut()
        assert gateway.get("/").status == 201


def test_a_post_is_never_sent_twice_by_the_gateway_itself(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"gateway": {"threads": 1}})
    assert gateway.get("/warm").status == 201
    answer = gateway.post(f"/{key}", plan={"drop": "body"})
    assert answer.status == 502
    assert len(own_upstream.requests(path=f"/{key}")) == 1


NO_HOST = b"GET /%s HTTP/1.0\r\n\r\n"


def test_a_request_without_host_names_the_upstream(start_gateway, own_upstream, key):
    """HTTP/1.0 knows no Host; what goes on is HTTP/1.1, which must have one."""
    gateway = start_gateway(own_upstream)
    with gateway.connect() as connection:
        connection.reader.expect("GET")
        connection.send(NO_HOST % key.encode())
        assert connection.read().status == 201
    host = values(sent(own_upstream, f"/{key}"), "Host")
    assert host == ["127.0.0.1:%d" % own_upstream.address[1]]


def test_a_guarded_request_without_host_gets_the_upstreams_host(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    assert_first(gateway.post(f"/{key}", key=key, host=None, version="1.0"))
    host = values(sent(own_upstream, f"/{key}"), "Host")
    assert host == ["127.0.0.1:%d" % own_upstream.address[1]]


@pytest.mark.parametrize("target, host", [
    ("/{key}", "shop.test:"), ("http://shop.test:80/{key}", "shop.test"),
    ("http://shop.test/{key}", "shop.test:80"), ("http://shop.test:/{key}", "shop.test"),
])
def test_the_port_of_the_scheme_may_be_empty_or_left_out(gateway, upstream, key, target, host):
    answer = gateway.ask("GET", target.format(key=key), host=host)
    assert answer.status == 201, answer
    assert values(sent(upstream, f"/{key}"), "Host") == [host]


BREAKS = {
    "chunks without end": b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "within a chunk": b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello",
    "a malformed chunk": b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
    "too few bytes": b"Content-Length: 9\r\n\r\nhello",
}


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("way", BREAKS)
def test_an_answer_that_breaks_off_never_appears_complete(start_gateway, scripted, version, way):
    """Where the end of the connection is that of the answer, only a reset tells."""
    head, begun = (b"HTTP/1.1 200 OK\r\n" + BREAKS[way]).split(b"\r\n\r\n", 1)
    upstream = scripted.add(("head",), ("send", head + b"\r\n\r\n" + begun[:4]),
                            ("gate", "rest"), ("send", begun[4:]), ("pause", 0.05), ("fin",))
    gateway = start_gateway(upstream.url)
    with gateway.connect() as connection:
        connection.send(request_bytes("GET", "/", version=version))
        got, reset = connection.socket.recv(65536), False
        scripted.open(upstream, "rest")
        try:
            while piece := connection.socket.recv(65536):
                got += piece
        except ConnectionResetError:
            reset = True
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    if b"Content-Length: 9" in got:
        assert len(got.partition(b"\r\n\r\n")[2]) < 9
    elif b"Transfer-Encoding" in got:
        assert not got.endswith(b"0\r\n\r\n")
    else:
        assert reset, got
    line, = gateway.logged("upstream-broken")
    assert line["upstream"] == "shop"
    assert ("chunk" if way == "a malformed chunk" else "broke off amid its body") in line["why"]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_fault_before_anything_was_passed_on_is_a_problem(start_gateway, scripted, version):
    broken = b"HTTP/1.1 200 OK\r\n" + BREAKS["a malformed chunk"]
    upstream = scripted.add(("head",), ("send", broken), ("fin",))
    gateway = start_gateway(upstream.url)
    answer = gateway.get("/", version=version)
    assert (answer.status, answer.problem) == (502, "upstream-broken")
    line, = gateway.logged("upstream-broken")
    assert "chunk" in line["why"]


def test_an_http_1_0_client_gets_no_interim_answer(start_gateway, scripted):
    upstream = scripted.add(("head",), ("send", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                                                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    gateway = start_gateway(upstream.url)
    with gateway.connect() as connection:
        connection.send(request_bytes("GET", "/", version="1.0"))
        got = b""
        while piece := connection.socket.recv(65536):
            got += piece
    assert got.startswith(b"HTTP/1.1 200 OK\r\n") and got.endswith(b"\r\n\r\nok")


def test_an_upstreams_fault_is_logged_with_its_cause(start_gateway, scripted):
    upstream = scripted.add(("head",), ("send", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                                                b"Content-Length: 2\r\n\r\n"))
    gateway = start_gateway(upstream.url)
    answer = gateway.get("/")
    assert (answer.status, answer.problem) == (502, "upstream-broken")
    line, = gateway.logged("upstream-broken")
    assert "Content-Length is there more than once" in line["why"]
