"""Fields behind a chunked body: passed on where nothing is kept, and never taken for the head."""

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of

FORBIDDEN = ["Onceguard-Token", "onceguard_token", "Idempotency-Key", "Idempotency_Key", "Host",
             "Authorization", "Cookie", "Content-Length", "Connection", "TE",
             "X-Forwarded-For", "X_Forwarded_For", "Forwarded", "Upgrade", "Content-Type"]


def post_with_trailers(gateway, path, trailers, fields=()):
    head = request_bytes("POST", path, [("Transfer-Encoding", "chunked"), *fields])
    lines = "".join(f"{name}: {value}\r\n" for name, value in trailers)
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(head + b"3\r\nabc\r\n0\r\n" + lines.encode("latin-1") + b"\r\n")
        return assert_first(connection.read())


def test_trailers_of_an_unguarded_request_pass(gateway, upstream, key):
    trailers = [("X-Checksum", "900150983cd2"), ("X-Empty", ""), ("x-lower", "Case Kept")]
    post_with_trailers(gateway, f"/{key}", trailers, [("Trailer", "X-Checksum")])
    request, = upstream.requests(path=f"/{key}")
    assert request["trailers"] == [list(pair) for pair in trailers]
    assert [v for n, v in request["fields"] if n == "Trailer"] == ["X-Checksum"]


def test_trailers_behind_a_long_upload_pass(gateway, upstream, key):
    """Beyond what is gathered before the first write, the body is passed on piece by piece."""
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", f"/{key}", [("Transfer-Encoding", "chunked")]))
        for _ in range(40):
            connection.send(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        connection.send(b"0\r\nX-Checksum: 1\r\n\r\n")
        assert_first(connection.read())
    request, = upstream.requests(path=f"/{key}")
    assert request["size"] == 40 * 0x2000
    assert request["trailers"] == [["X-Checksum", "1"]]


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_belongs_into_a_head_is_dropped(gateway, upstream, key, name):
    post_with_trailers(gateway, f"/{key}", [("X-A", "1"), (name, "7"), ("X-B", "2")])
    request, = upstream.requests(path=f"/{key}")
    assert request["trailers"] == [["X-A", "1"], ["X-B", "2"]]


def test_what_connection_names_is_dropped(gateway, upstream, key):
    post_with_trailers(gateway, f"/{key}", [("X-Hop", "7"), ("X-B", "2")],
                       [("Connection", "X-Hop")])
    request, = upstream.requests(path=f"/{key}")
    assert request["trailers"] == [["X-B", "2"]]


def test_a_guarded_request_goes_on_without_its_trailers(gateway, upstream, key):
    post_with_trailers(gateway, f"/{key}", [("X-A", "1"), ("Onceguard-Token", "7")],
                       fields_for(key))
    request, = upstream.requests(key)
    assert request["framing"] == "length" and "trailers" not in request


def ask_for_trailers(gateway, path, fields, **how):
    plan = {"framing": "chunked", "body": "abc", "headers": [["Trailer", "X-Checksum"]],
            "trailers": [["X-Checksum", "1"], ["Set-Cookie", "a=1"],
                         ["Idempotent-Replayed", "true"], ["X-B", "2"]]}
    with gateway.connect() as connection:
        connection.send_request("GET", path, fields_for(None, plan, fields), **how)
        return connection.read()


def test_trailers_of_an_answer_pass_to_a_client_that_accepts_them(gateway, upstream, key):
    answer = ask_for_trailers(gateway, f"/{key}", [("TE", "deflate, trailers"),
                                                   ("Connection", "TE")])
    assert answer.body == b"abc"
    assert answer.trailers == [("X-Checksum", "1"), ("X-B", "2")]
    assert answer.get("Trailer") == "X-Checksum"
    request, = upstream.requests(path=f"/{key}")
    assert [v for n, v in request["fields"] if n == "TE"] == ["trailers"]
    assert [v for n, v in request["fields"] if n == "Connection"] == ["TE"]


@pytest.mark.parametrize("how", [{}, {"fields": [("TE", "deflate")]},
                                 {"fields": [("TE", "trailers")], "version": "1.0"}])
def test_other_clients_get_no_trailers(gateway, key, how):
    fields = how.pop("fields", [])
    answer = ask_for_trailers(gateway, f"/{key}", fields, **how)
    assert answer.body == b"abc" and not answer.truncated
    assert answer.trailers == [] and answer.get("Trailer") is None


def test_an_answer_is_kept_without_its_trailers(gateway, key):
    plan = {"framing": "chunked", "body": "abc", "trailers": [["X-Checksum", "1"]]}
    te = [("TE", "trailers"), ("Connection", "TE")]
    first = assert_first(gateway.post(key=key, plan=plan, fields=te))
    assert first.trailers == [] and first.body == b"abc"
    assert_replay_of(gateway.post(key=key, plan=plan, fields=te), first)
