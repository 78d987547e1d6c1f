"""Each way of answering that RESTinio has: what of it is kept for repeats."""

import pytest

from support.answering import AnsweringServer
from support.client import ask
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

LONG = b"x" * 2000


@pytest.fixture
def server(tmp_path):
    (tmp_path / "file").write_bytes(LONG)
    opened = AnsweringServer("restinio", tmp_path / "file")
    yield opened
    opened.close()


KEPT = {"/one-part": b"run 1", "/file": b"run 1xxx", "/later": b"run 1", "/lease": b"held"}
NOT_KEPT = {"/stream": b"run 1", "/later-stream": b"run 1", "/parts": b"run 1",
            "/long": b"run 1" + LONG, "/long-file": b"run 1" + LONG}


@pytest.mark.parametrize("path", KEPT)
def test_an_answer_of_one_part_is_kept(server, path):
    first = assert_first(server.post(path), 200)
    assert first.body == KEPT[path] and first.framing == "length"
    assert_replay_of(server.post(path), first)
    assert server.runs() == 1


@pytest.mark.parametrize("path", NOT_KEPT)
def test_a_stream_or_a_long_answer_goes_out_once_and_is_not_kept(server, path):
    first = assert_first(server.post(path), 200)
    assert first.body == NOT_KEPT[path]
    assert first.framing == ("chunked" if "stream" in path else "length")
    assert_problem(server.post(path), 409, "answer-not-kept", False)
    assert server.runs() == 1


def test_an_answer_is_kept_with_all_its_fields(server):
    first = assert_first(server.post("/whole"))
    assert first.all("Set-Cookie") == ["a=1"] and not first.all("Idempotent-Replayed")
    repeat = server.post("/whole")
    assert repeat.replayed and not repeat.all("Set-Cookie")
    for name in ("Content-Type", "Link", "X-Server"):
        assert repeat.all(name) == first.all(name) != []
    assert repeat.body == first.body == b"run 1"


def test_a_handler_gets_the_fields_of_the_lease_and_no_forged_ones(server):
    answer = server.post("/whole", fields=[("Onceguard-Attempt", "7"), ("onceguard-attempt", "8")])
    assert answer.all("X-Attempt") == ["1"]
    unguarded = server.post("/whole", key=None, fields=[("Onceguard-Attempt", "7")])
    assert unguarded.status == 201 and unguarded.all("X-Attempt") == ["none"]


def test_an_unguarded_request_runs_each_time(server):
    for run in (b"run 1", b"run 2"):
        answer = server.post("/whole", key=None)
        assert (answer.status, answer.body) == (201, run)
        assert answer.all("Link") and not answer.all("Idempotent-Replayed")
    assert server.post("/stream", key=None).body == b"run 3"


@pytest.mark.parametrize("path", ["/fails", "/answers-and-fails"])
def test_a_handler_that_throws_leaves_its_outcome_unknown(server, path):
    assert server.post(path).status == 500
    assert_problem(server.post(path), 409, "outcome-unknown", False)
    assert server.runs() == 1


def test_a_request_that_is_dropped_without_an_answer_leaves_its_outcome_unknown(server):
    with pytest.raises(ConnectionError):
        server.post("/dropped")
    wait_until(lambda: server.post("/dropped").problem == "outcome-unknown")
    assert server.runs() == 1


@pytest.mark.parametrize("path, status", [("/not-done", 500), ("/rejected", 501)])
def test_a_handler_that_did_nothing_frees_the_key(server, path, status):
    for runs in (1, 2):
        assert server.post(path).status == status
        assert server.runs() == runs


def test_a_handler_that_may_be_tried_later_is_backed_off(server):
    assert server.post("/try-later").status == 409
    assert_problem(server.post("/try-later"), 409, "backing-off", True)
    assert server.runs() == 1


def test_a_handler_may_upgrade_its_connection(server):
    fields = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
              ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
    answer = ask(server.address, "GET", "/websocket", fields)
    assert (answer.status, answer.get("Sec-WebSocket-Accept")) == \
        (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")


@pytest.mark.parametrize("keys", [('"k1"', '"k2"'), ('"k1"', '"k1"')])
def test_two_keys_are_refused(server, keys):
    answer = server.post("/whole", key=None, fields=[("Idempotency-Key", key) for key in keys])
    assert_problem(answer, 400, "key-malformed", False)
    assert server.runs() == 0
