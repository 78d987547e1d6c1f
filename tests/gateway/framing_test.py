"""Requests that two parsers may read differently are refused, never mended."""

import pytest

from support.client import Connection, request_bytes
from support.expecting import assert_first

OK = b"POST /{key} HTTP/1.1\r\nHost: a\r\n"
SMUGGLED = b"GET /{key}/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

# name: (request, statuses that fit)
HEADS = {
    "bare LF after the request line": (b"GET /{key} HTTP/1.1\nHost: a\r\n\r\n", {400}),
    "bare LF after a field": (b"GET /{key} HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", {400}),
    "bare LF at the end": (b"GET /{key} HTTP/1.1\r\nHost: a\r\n\n", {400}),
    "bare CR in a value": (b"GET /{key} HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", {400}),
    "bare CR after a field": (b"GET /{key} HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", {400}),
    "bare CR in the request line": (b"GET /{key}\rHTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "NUL in a value": (b"GET /{key} HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", {400}),
    "NUL in a name": (b"GET /{key} HTTP/1.1\r\nHost: a\r\nX\0: a\r\n\r\n", {400}),
    "NUL in the target": (b"GET /{key}\0 HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "tab in the request line": (b"GET\t/{key} HTTP/1.1\r\nHost: a\r\n\r\n", {400, 501}),
    "tab before the version": (b"GET /{key}\tHTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "two spaces after the method": (b"GET  /{key} HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "two spaces after the target": (b"GET /{key}  HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "space in the target": (b"GET /{key} x HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "space at the end of the request line": (b"GET /{key} HTTP/1.1 \r\nHost: a\r\n\r\n", {400}),
    "space before the method": (b" GET /{key} HTTP/1.1\r\nHost: a\r\n\r\n", {400, 501}),
    "folded line with a space": (OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n", {400}),
    "folded line with a tab": (OK + b"X: a\r\n\tb\r\nContent-Length: 0\r\n\r\n", {400}),
    "folded Transfer-Encoding": (OK + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", {400}),
    "folded Content-Length": (OK + b"Content-Length:\r\n 5\r\n\r\nhello", {400}),
    "first field folded": (b"POST /{key} HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n", {400}),
    "space before the colon": (OK + b"Content-Length : 5\r\n\r\nhello", {400}),
    "tab before the colon": (OK + b"X\t: y\r\n\r\n", {400}),
    "empty name": (OK + b": y\r\n\r\n", {400}),
    "no colon": (OK + b"nonsense\r\n\r\n", {400}),
    "space in a name": (OK + b"X Y: z\r\n\r\n", {400}),
    "name not a token": (OK + b"X(Y): z\r\n\r\n", {400}),
    "name not ASCII": (OK + b"X\xe9: z\r\n\r\n", {400}),
    "Content-Length twice": (OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", {400}),
    "Content-Length differing": (OK + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
                                 {400}),
    "Content-Length list": (OK + b"Content-Length: 5, 5\r\n\r\nhello", {400}),
    "Content-Length with a sign": (OK + b"Content-Length: +5\r\n\r\nhello", {400}),
    "Content-Length negative": (OK + b"Content-Length: -5\r\n\r\nhello", {400}),
    "Content-Length in hex": (OK + b"Content-Length: 0x5\r\n\r\nhello", {400}),
    "Content-Length with a space in it": (OK + b"Content-Length: 5 5\r\n\r\nhello", {400}),
    "Content-Length empty": (OK + b"Content-Length: \r\n\r\nhello", {400}),
    "Content-Length too large": (OK + b"Content-Length: 99999999999999999999\r\n\r\n",
                                 {400, 413}),
    "length and chunked": (OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                           b"0\r\n\r\n", {400}),
    "chunked and length": (OK + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
                           b"0\r\n\r\n", {400}),
    "another coding": (OK + b"Transfer-Encoding: gzip\r\n\r\n", {400, 501}),
    "gzip and chunked": (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {400, 501}),
    "chunked not last": (OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", {400, 501}),
    "empty element and chunked": (OK + b"Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n",
                                  {400, 501}),
    "chunked twice": (OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", {400, 501}),
    "two chunked lines": (OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
                          b"0\r\n\r\n", {400, 501}),
    "identity": (OK + b"Transfer-Encoding: identity\r\n\r\n", {400, 501}),
    "xchunked": (OK + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {400, 501}),
    "chunked with a parameter": (OK + b"Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n",
                                 {400, 501}),
    "chunked with a vertical tab": (OK + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
                                    {400, 501}),
    "chunked in HTTP/1.0": (b"POST /{key} HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                            b"0\r\n\r\n", {400}),
    "no Host": (b"GET /{key} HTTP/1.1\r\nX: y\r\n\r\n", {400}),
    "two Hosts": (b"GET /{key} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", {400}),
    "two equal Hosts": (b"GET /{key} HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", {400}),
    "Host with a space": (b"GET /{key} HTTP/1.1\r\nHost: a b\r\n\r\n", {400}),
    "Host with a path": (b"GET /{key} HTTP/1.1\r\nHost: a/b\r\n\r\n", {400}),
    "Host with a user": (b"GET /{key} HTTP/1.1\r\nHost: u@a\r\n\r\n", {400}),
    "Host with a bad port": (b"GET /{key} HTTP/1.1\r\nHost: a:8x\r\n\r\n", {400}),
    "Host list": (b"GET /{key} HTTP/1.1\r\nHost: a, b\r\n\r\n", {400}),
    "HTTP/0.9": (b"GET /{key}\r\n\r\n", {400, 505}),
    "HTTP/0.9 said": (b"GET /{key} HTTP/0.9\r\nHost: a\r\n\r\n", {400, 505}),
    "HTTP/1.2": (b"GET /{key} HTTP/1.2\r\nHost: a\r\n\r\n", {400, 505}),
    "HTTP/2.0": (b"GET /{key} HTTP/2.0\r\nHost: a\r\n\r\n", {400, 505}),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 501, 505}),
    "HTTP/1": (b"GET /{key} HTTP/1\r\nHost: a\r\n\r\n", {400, 505}),
    "HTTP/11.1": (b"GET /{key} HTTP/11.1\r\nHost: a\r\n\r\n", {400, 505}),
    "http in lower case": (b"GET /{key} http/1.1\r\nHost: a\r\n\r\n", {400, 505}),
    "RTSP": (b"GET /{key} RTSP/1.0\r\nHost: a\r\n\r\n", {400, 505}),
    "ICE": (b"SOURCE /{key} ICE/1.0\r\nHost: a\r\n\r\n", {400, 501, 505}),
    "SOURCE over HTTP": (b"SOURCE /{key} HTTP/1.1\r\nHost: a\r\n\r\n", {400, 501}),
    "DESCRIBE over HTTP": (b"DESCRIBE /{key} HTTP/1.1\r\nHost: a\r\n\r\n", {400, 501}),
    "unknown method": (b"BREW /{key} HTTP/1.1\r\nHost: a\r\n\r\n", {501}),
    "method in lower case": (b"post /{key} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                             {400, 501}),
    "fragment in the target": (b"GET /{key}#x HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "target not ASCII": (b"GET /{key}\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "control character in the target": (b"GET /{key}\x01 HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "relative target": (b"GET {key} HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 40 + b"\r\n\r\n",
            {400, 501, 505}),
}
CHUNKS = {
    "size is no number": b"g\r\nhello\r\n0\r\n\r\n",
    "size with 0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "size with a sign": b"+5\r\nhello\r\n0\r\n\r\n",
    "size negative": b"-5\r\nhello\r\n0\r\n\r\n",
    "space before the size": b" 5\r\nhello\r\n0\r\n\r\n",
    "size empty": b"\r\nhello\r\n0\r\n\r\n",
    "size too large": b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "LF after the size": b"5\nhello\r\n0\r\n\r\n",
    "LF after the piece": b"5\r\nhello\n0\r\n\r\n",
    "CR alone after the size": b"5\rXhello\r\n0\r\n\r\n",
    "piece longer than said": b"5\r\nhelloworld\r\n0\r\n\r\n",
    "LF in an extension": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "extension without end": b"5;" + b"a" * 100_000 + b"\r\nhello\r\n0\r\n\r\n",
    "trailers without end": b"5\r\nhello\r\n0\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    "LF at the end": b"5\r\nhello\r\n0\r\n\n",
    "NUL in a trailer": b"5\r\nhello\r\n0\r\nX: a\0b\r\n\r\n",
    "folded trailer": b"5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n",
}


def filled(data, key):
    return data.replace(b"{key}", key.encode())


def refuse(gateway, data, method="GET"):
    with Connection(gateway.address) as connection:
        connection.reader.expect(method)
        try:
            connection.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = connection.read()
        # It would end by itself after 10 s.
        assert connection.closed_within(9), "the connection stayed open"
        assert connection.reader.buffer == b"", "something came after the refusal"
        return answer


@pytest.mark.parametrize("data, statuses", HEADS.values(), ids=HEADS.keys())
def test_a_malformed_head_is_refused(gateway, upstream, key, data, statuses):
    answer = refuse(gateway, filled(data + SMUGGLED, key))
    assert answer.status in statuses, answer
    assert answer.problem == "bad-request"
    assert answer.get("Connection", "").lower() == "close"
    assert upstream.requests(path=f"/{key}") == []


@pytest.mark.parametrize("coding", CHUNKS.values(), ids=CHUNKS.keys())
def test_a_malformed_chunk_is_refused(gateway, upstream, key, coding):
    head = request_bytes("POST", f"/{key}", [("Idempotency-Key", key),
                                             ("Transfer-Encoding", "chunked")])
    answer = refuse(gateway, head + coding + filled(SMUGGLED, key), "POST")
    assert answer.status in (400, 413, 431), answer
    assert answer.problem == "bad-request"
    assert upstream.requests(path=f"/{key}") == []
    # Nothing was run, and the key is free.
    assert_first(gateway.post(f"/{key}", key=key))


@pytest.mark.parametrize("coding", CHUNKS.values(), ids=CHUNKS.keys())
def test_a_malformed_chunk_never_ends_an_unguarded_request(gateway, upstream, key, coding):
    """It was on its way already; the upstream must not take it for whole."""
    head = request_bytes("POST", f"/{key}", [("Transfer-Encoding", "chunked")])
    with Connection(gateway.address) as connection:
        connection.reader.expect("POST")
        try:
            connection.send(head + coding + filled(SMUGGLED, key))
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert connection.closed_within(9)
    assert upstream.requests(path=f"/{key}", whole=True) == []


def test_chunks_with_extensions_and_trailers_are_fine(gateway, upstream, key):
    head = request_bytes("POST", f"/{key}", [("Idempotency-Key", key),
                                             ("Transfer-Encoding", "chunked")])
    with Connection(gateway.address) as connection:
        connection.reader.expect("POST")
        connection.send(head + b'5;a="b"\r\nhello\r\n00A\r\n0123456789\r\n0;x\r\nX: y\r\n\r\n')
        assert_first(connection.read())
    assert upstream.requests(key)[0]["body"] == "hello0123456789"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_what_is_well_formed_passes(gateway, key, version):
    with Connection(gateway.address) as connection:
        connection.send_request("POST", f"/{key}", [("X-Empty", ""), ("X-Tab", "a\tb"),
                                                    ("X-High", "caf\xe9")], b"x",
                                version=version)
        assert_first(connection.read())


def test_a_length_in_a_trailer_means_nothing(gateway, upstream, key):
    head = request_bytes("POST", f"/{key}", [("Idempotency-Key", key),
                                             ("Transfer-Encoding", "chunked")])
    with Connection(gateway.address) as connection:
        connection.reader.expect("POST")
        connection.send(head + b"5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"
                        + filled(SMUGGLED, key))
        connection.reader.expect("GET")
        first = connection.read()
        if first.status == 400:
            assert connection.closed_within(9)
            return
        assert_first(first)
        assert connection.read().status == 201
    assert upstream.requests(key)[0]["size"] == 5


def test_a_request_that_breaks_off_runs_nothing(gateway, upstream, key):
    whole = request_bytes("POST", f"/{key}", [("Idempotency-Key", key)], b"x" * 100)
    for cut in (10, len(whole) - 100, len(whole) - 1):
        with Connection(gateway.address) as connection:
            connection.send(whole[:cut])
    assert_first(gateway.post(f"/{key}", key=key))
    assert upstream.runs(key) == 1
