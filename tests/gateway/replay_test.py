"""A replay is the first answer, byte for byte."""

import email.utils
import gzip
import time

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.pattern import pattern

CONFIG = {
    "route": [
        {"path": "/cookies", "keep_set_cookie": True},
        {"path": "/small", "max_answer_body": "1KiB"},
        {"path": "/large", "max_answer_body": "4MiB"},
    ]
}
SIZES = [0, 1, 64 * 1024, 1024 * 1024]


@pytest.fixture
def three_ways(gateway, start_gateway, upstream):
    """Asks from memory, from the file in another process, and from the file after a restart."""
    def ask(path, key):
        yield gateway.post(path, key=key)
        other = start_gateway(upstream, CONFIG, database=gateway.database)
        yield other.post(path, key=key)
        other.restart()
        yield other.post(path, key=key)
    return ask


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", SIZES)
def test_bodies_of_every_size(gateway, upstream, three_ways, key, size, framing):
    plan = {"size": size, "seed": size + 7, "framing": framing,
            "headers": [["Content-Type", "application/octet-stream"]]}
    first = assert_first(gateway.post(key=key, plan=plan))
    assert first.body == pattern(size, size + 7)
    assert first.all("Content-Length") == [str(size)]
    assert first.get("Transfer-Encoding") is None
    for again in three_ways("/charges", key):
        assert_replay_of(again, first)
        assert again.all("Content-Length") == [str(size)]
        assert again.get("Transfer-Encoding") is None
    assert upstream.runs(key) == 1


def test_every_byte_there_is(gateway, three_ways, key):
    text = "".join(map(chr, range(256))) * 4
    plan = {"body": text, "headers": [["Content-Type", "application/octet-stream"]]}
    first = assert_first(gateway.post(key=key, plan=plan))
    assert first.body == text.encode("latin-1")
    for again in three_ways("/charges", key):
        assert_replay_of(again, first)


def test_an_encoded_body_stays_encoded(gateway, three_ways, key):
    packed = gzip.compress(pattern(5000), mtime=0)
    plan = {"body": packed.decode("latin-1"), "headers": [["Content-Encoding", "gzip"]]}
    first = assert_first(gateway.post(key=key, plan=plan))
    assert first.body == packed
    for again in three_ways("/charges", key):
        assert_replay_of(again, first)
        assert again.get("Content-Encoding") == "gzip"


def test_repeated_headers_keep_their_order(gateway, three_ways, key):
    headers = [["Link", "<a>; rel=x"], ["Vary", "Accept"], ["Link", "<b>"], ["X-Empty", ""],
               ["Vary", "Origin"], ["Link", "<a>; rel=x"], ["x-lower", "Value With Case"],
               ["Warning", '199 - "a, b"']]
    first = assert_first(gateway.post(key=key, plan={"headers": headers}))
    assert [[n, v] for n, v in first.fields if [n, v] in headers] == headers
    for again in three_ways("/charges", key):
        assert_replay_of(again, first)


@pytest.mark.parametrize("status", [200, 201, 202, 203, 206, 226, 301, 302, 303, 307, 308])
def test_the_status_is_replayed(gateway, key, status):
    first = assert_first(gateway.post(key=key, plan={"status": status}), status)
    assert_replay_of(gateway.post(key=key), first)


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body(gateway, three_ways, key, status):
    plan = {"status": status, "headers": [["ETag", '"1"']]}
    first = assert_first(gateway.post(key=key, plan=plan), status)
    if status == 204:
        assert first.get("Content-Length") is None
    for again in three_ways("/charges", key):
        assert_replay_of(again, first)
    with gateway.connect() as connection:  # and the connection is still in step
        for _ in range(2):
            connection.send_request("POST", "/charges", [("Content-Type", "application/json"),
                                                         ("Idempotency-Key", key)],
                                    b'{"amount":100}')
            assert connection.read().replayed


def test_what_belongs_to_one_connection_is_not_stored(gateway, three_ways, key):
    headers = [["Connection", "X-Hop, keep-alive"], ["X-Hop", "1"], ["Keep-Alive", "timeout=5"],
               ["Proxy-Connection", "keep-alive"], ["X-Stays", "1"]]
    first = assert_first(gateway.post(key=key, plan={"headers": headers}))
    for answer in [first, *three_ways("/charges", key)]:
        assert answer.get("X-Stays") == "1"
        for name in ("X-Hop", "Proxy-Connection"):
            assert answer.get(name) is None, name
        assert "timeout=5" not in answer.all("Keep-Alive")
        assert "X-Hop" not in (answer.get("Connection") or "")


def test_a_stored_close_does_not_close_the_repeats_connection(gateway, key):
    first = assert_first(gateway.post(key=key, plan={"close": True}))
    with gateway.connect() as connection:
        for _ in range(3):
            connection.send_request("POST", "/charges", [("Content-Type", "application/json"),
                                                         ("Idempotency-Key", key)],
                                    b'{"amount":100}')
            answer = assert_replay_of(connection.read(), first)
            assert (answer.get("Connection") or "").lower() != "close"


def test_the_date_of_a_replay_is_fresh(gateway, three_ways, key):
    old = "Sun, 06 Nov 1994 08:49:37 GMT"
    first = assert_first(gateway.post(key=key, plan={"headers": [["Date", old]]}))
    assert first.all("Date") == [old]
    for again in three_ways("/charges", key):
        assert again.replayed
        dates = again.all("Date")
        assert len(dates) == 1
        when = email.utils.parsedate_to_datetime(dates[0]).timestamp()
        assert abs(when - time.time()) < 60


def test_set_cookie_goes_to_the_first_client_only(gateway, three_ways, key):
    headers = [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"], ["X-Other", "1"]]
    first = assert_first(gateway.post(key=key, plan={"headers": headers}))
    assert first.all("Set-Cookie") == ["a=1", "b=2"]
    for again in three_ways("/charges", key):
        assert again.replayed
        assert again.all("Set-Cookie") == []
        assert again.get("X-Other") == "1"


def test_set_cookie_is_kept_by_configuration(gateway, three_ways, key):
    headers = [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]]
    first = assert_first(gateway.post("/cookies", key=key, plan={"headers": headers}))
    for again in three_ways("/cookies", key):
        assert_replay_of(again, first)
        assert again.all("Set-Cookie") == ["a=1", "b=2"]


def test_trailers_are_not_part_of_a_replay(gateway, key):
    plan = {"framing": "chunked", "trailers": [["X-Checksum", "1"]], "body": "text"}
    first = assert_first(gateway.post(key=key, plan=plan))
    again = assert_replay_of(gateway.post(key=key), first)
    assert again.trailers == []
    assert again.get("X-Checksum") is None


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_exactly_the_limit_is_kept(gateway, key, framing):
    plan = {"size": 1024, "framing": framing}
    first = assert_first(gateway.post("/small", key=key, plan=plan))
    assert_replay_of(gateway.post("/small", key=key), first)


def assert_not_kept(gateway, upstream, path, key):
    again = gateway.post(path, key=key)
    assert_problem(again, 409, "answer-not-kept", False)
    assert again.get("Retry-After") is None
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("size", [1025, 300_000])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_more_than_the_limit_is_passed_on_and_not_kept(gateway, upstream, key, size, framing):
    plan = {"size": size, "framing": framing, "headers": [["X-Other", "1"]]}
    first = assert_first(gateway.post("/small", key=key, plan=plan))
    assert first.body == pattern(size)
    assert not first.truncated
    assert first.get("X-Other") == "1"
    assert_not_kept(gateway, upstream, "/small", key)


def test_an_answer_that_ends_with_its_connection_is_not_kept(gateway, upstream, key):
    plan = {"size": 5000, "framing": "eof"}
    first = assert_first(gateway.post(key=key, plan=plan))
    assert first.body == pattern(5000)
    assert_not_kept(gateway, upstream, "/charges", key)


def test_an_event_stream_is_streamed_and_not_kept(gateway, upstream, key):
    plan = {"framing": "chunked", "headers": [["Content-Type", "text/event-stream"]],
            "pieces": ["data: 1\n\n", "data: 2\n\n"], "gate_half": key, "status": 200}
    with gateway.begin_post(key=key, plan=plan) as connection:
        part = connection.read_part(9)
        assert part.status == 200
        assert b"data: 1" in part.body and b"data: 2" not in part.body
        # It is settled before the first byte of it goes out.
        assert_not_kept(gateway, upstream, "/charges", key)
        upstream.open(key)
        assert connection.read().body == b"data: 1\n\ndata: 2\n\n"
    assert_not_kept(gateway, upstream, "/charges", key)


def test_an_event_stream_that_breaks_off_took_effect_all_the_same(gateway, upstream, key):
    plan = {"framing": "chunked", "headers": [["Content-Type", "text/event-stream"]],
            "body": "data: 1\n\n" * 100, "drop": "half", "status": 200}
    with gateway.begin_post(key=key, plan=plan) as connection:
        assert connection.read().truncated
    assert_not_kept(gateway, upstream, "/charges", key)


def test_larger_limits_keep_larger_answers(gateway, three_ways, key):
    plan = {"size": 4 << 20}
    first = assert_first(gateway.post("/large", key=key, plan=plan))
    for again in three_ways("/large", key):
        assert_replay_of(again, first)


def test_replays_over_one_connection_stay_in_step(gateway, fresh_key):
    firsts = {}
    for size in (0, 1, 7000, 100_000):
        key = fresh_key()
        firsts[key] = assert_first(gateway.post(key=key, plan={"size": size}))
    with gateway.connect() as connection:
        for _ in range(3):
            for key, first in firsts.items():
                connection.send_request(
                    "POST", "/charges", [("Content-Type", "application/json"),
                                         ("Idempotency-Key", key)], b'{"amount":100}')
                assert_replay_of(connection.read(), first)


def test_http_1_0_clients_get_replays_too(gateway, key):
    first = assert_first(gateway.post(key=key))
    with gateway.connect() as connection:
        connection.send_request("POST", "/charges", [("Content-Type", "application/json"),
                                                     ("Idempotency-Key", key)],
                                b'{"amount":100}', version="1.0")
        assert_replay_of(connection.read(), first)
        assert connection.closed_within(5)
