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


def test_a_stream_of_an_unguarded_request_runs_each_time(server):
    for run in (b"run 1", b"run 2"):
        assert server.post("/stream", key=None).body == run


def test_a_handler_that_answers_and_throws_leaves_its_outcome_unknown(server):
    assert server.post("/answers-and-fails").status == 500
    assert_problem(server.post("/answers-and-fails"), 409, "outcome-unknown", False)
    assert server.runs() == 1


def test_a_request_that_is_dropped_without_an_answer_leaves_its_outcome_unknown(server):
    with pytest.raises(ConnectionError):
        server.post("/dropped")
    wait_until(lambda: server.post("/dropped").problem == "outcome-unknown")
    assert server.runs() == 1


def test_a_handler_that_rejects_its_request_frees_the_key(server):
    for runs in (1, 2):
        assert server.post("/rejected").status == 501
        assert server.runs() == runs


def test_a_handler_may_upgrade_its_connection(server):
    fields = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
              ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
    answer = ask(server.address, "GET", "/websocket", fields)
    assert (answer.status, answer.get("Sec-WebSocket-Accept")) == \
        (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
