"""What adapters keep for repeats: of answers in general, and of each way of answering that
cpp-httplib and Pistache have (those of RESTinio are in restinio_test.py)."""

import gzip

import pytest

from support.answering import AnsweringServer
from support.client import Connection
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

LONG = b"x" * 2000


def server_of(adapter, folder):
    (folder / "file").write_bytes(LONG)
    server = AnsweringServer(adapter, folder / "file" if adapter == "restinio" else folder)
    yield server
    server.close()


@pytest.fixture(params=["httplib", "pistache", "restinio"])
def server(request, tmp_path):
    yield from server_of(request.param, tmp_path)


@pytest.fixture
def httplib(tmp_path):
    yield from server_of("httplib", tmp_path)


@pytest.fixture
def pistache(tmp_path):
    yield from server_of("pistache", tmp_path)


def assert_kept(server, path, status, body):
    first = assert_first(server.post(path), status)
    assert first.body == body
    assert_replay_of(server.post(path), first)
    assert server.runs() == 1
    return first


def assert_not_kept(server, path, body):
    """The answer went out once; a repeat learns that the work is done."""
    first = assert_first(server.post(path), 200)
    assert first.body == body
    assert_problem(server.post(path), 409, "answer-not-kept", False)
    assert server.runs() == 1
    return first


def assert_unknown(server, path):
    assert server.post(path).status == 500
    assert_problem(server.post(path), 409, "outcome-unknown", False)
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


def test_an_unguarded_request_gets_the_same_answer_each_time(server):
    for run in (b"run 1", b"run 2"):
        answer = server.post("/whole", key=None)
        assert (answer.status, answer.body) == (201, run)
        assert not answer.all("Idempotent-Replayed")
        assert answer.all("Link")


def test_a_repeat_gets_what_it_can_read_and_no_right_of_another_origin(server):
    first = server.post("/packed", fields=asking("gzip, br", "https://a.test"))
    assert first.all("Access-Control-Allow-Origin") == ["https://a.test"]
    assert gzip.decompress(first.body) == b"hello"
    same = assert_replay_of(server.post("/packed", fields=asking("gzip", "https://a.test")), first)
    assert same.all("Content-Encoding") == ["gzip"]
    other = server.post("/packed", fields=asking("br", "https://b.test"))
    assert other.replayed and other.body == b"hello"
    assert not other.all("Content-Encoding") and not other.all("Access-Control-Allow-Origin")
    assert server.runs() == 1


def asking(coding, origin):
    # Without credentials, the origin would tell callers apart.
    return [("Accept-Encoding", coding), ("Origin", origin), ("Authorization", "Bearer of-ada")]


def test_a_stream_goes_out_once_and_is_not_kept(server):
    first = assert_not_kept(server, "/stream", b"run 1")
    assert first.framing == "chunked"


def test_a_handler_that_throws_leaves_its_outcome_unknown(server):
    assert_unknown(server, "/fails")


def test_a_handler_that_did_nothing_frees_the_key(server):
    for runs in (1, 2):
        assert server.post("/not-done").status == 500
        assert server.runs() == runs


def test_a_handler_that_may_be_tried_later_is_backed_off(server):
    # RESTinio has no answer of its own for an exception.
    assert server.post("/try-later").status == (409 if server.adapter == "restinio" else 500)
    assert_problem(server.post("/try-later"), 409, "backing-off", True)
    assert server.runs() == 1


@pytest.mark.parametrize("keys", [('"k1"', '"k2"'), ('"k1"', '"k1"')])
def test_two_keys_are_refused(server, keys):
    fields = [("Idempotency-Key", key) for key in keys]
    answer = server.post("/whole", key=None, fields=fields)
    assert_problem(answer, 400, "key-malformed", False)
    assert server.runs() == 0


def test_httplib_keeps_what_a_provider_of_a_known_length_gives(httplib):
    first = assert_kept(httplib, "/provided", 200, b"run 1")
    assert first.framing == "length"


def test_httplib_does_not_keep_a_longer_one(httplib):
    assert_not_kept(httplib, "/long-provided", b"run 1" + LONG)


def test_httplib_does_not_keep_a_body_that_ends_with_its_connection(httplib):
    assert_not_kept(httplib, "/until-end", b"run 1")


def test_httplib_leaves_the_outcome_unknown_if_the_body_breaks_off(httplib):
    assert_unknown(httplib, "/broken")


def test_httplib_keeps_an_answer_without_a_status_and_a_redirect(httplib):
    assert_kept(httplib, "/without-status", 200, b"run 1")
    first = assert_first(httplib.post("/redirect", key='"k2"'), 303)
    assert first.get("Location") == "/run 2"
    assert_replay_of(httplib.post("/redirect", key='"k2"'), first)


def multipart(boundary, what):
    body = (f'--{boundary}\r\nContent-Disposition: form-data; name="what"\r\n\r\n'
            f"{what}\r\n--{boundary}--\r\n").encode()
    return body, [("Content-Type", f"multipart/form-data; boundary={boundary}")]


def test_httplib_tells_multipart_bodies_apart(httplib):
    body, fields = multipart("b", "twenty")
    first = assert_first(httplib.post("/parts", body, fields), 200)
    assert first.body == b"run 1twenty"
    assert_replay_of(httplib.post("/parts", body, fields), first)
    body, fields = multipart("b", "thirty")
    assert_problem(httplib.post("/parts", body, fields), 422, "key-reused", False)


def test_httplib_reads_a_key_with_its_percent_signs_decoded(httplib):
    first = assert_first(httplib.post("/whole", key='"a%41"'))
    assert httplib.post("/whole", key='"aA"').body == first.body
    assert httplib.runs() == 1


def test_pistache_keeps_typed_fields_and_sets_a_cookie_once(pistache):
    first = assert_first(pistache.post("/typed"))
    assert first.all("Set-Cookie") == ["a=1"]
    repeat = pistache.post("/typed")
    assert repeat.replayed and not repeat.all("Set-Cookie")
    for name in ("Location", "Content-Type"):
        assert repeat.all(name) == first.all(name) != []


def test_pistache_keeps_a_file_within_the_limit(pistache):
    first = assert_kept(pistache, "/file", 200, b"run 1")
    assert first.get("Content-Type") == "text/plain"


def test_pistache_does_not_keep_a_longer_file(pistache):
    assert_not_kept(pistache, "/long-file", b"run 1" + LONG)


def test_pistache_leaves_the_outcome_unknown_if_the_file_is_missing(pistache):
    assert_unknown(pistache, "/missing-file")


def test_pistache_keeps_what_another_thread_answers(pistache):
    assert_kept(pistache, "/another-thread", 201, b"run 1")


def test_pistache_leaves_the_outcome_unknown_if_nothing_is_answered(pistache):
    with Connection(pistache.address) as client:
        client.send_request("POST", "/drop", [("Idempotency-Key", '"k1"')], b"")
        wait_until(lambda: pistache.runs() == 1, timeout=20, what="the run")
        answer = wait_until(lambda: no_longer_runs(pistache.post("/drop")), timeout=20,
                            what="the end of the run")
    assert_problem(answer, 409, "outcome-unknown", False)
    assert pistache.runs() == 1


def no_longer_runs(answer):
    return answer if answer.problem != "in-progress" else None


def test_pistache_takes_a_thrown_status_for_an_answer(pistache):
    for run in (b"run 1", b"run 2"):
        answer = pistache.post("/refuses")
        assert (answer.status, answer.body) == (400, run)
    assert pistache.post("/breaks", key='"k2"').status == 500
    assert_problem(pistache.post("/breaks", key='"k2"'), 409, "outcome-unknown", False)
    assert pistache.runs() == 3
