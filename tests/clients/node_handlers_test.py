"""What handlers in Node's frameworks do: bodies that they parse, errors, answers of all kinds."""

import gzip
import itertools
import json
import pathlib

import pytest

from clients.node_programs import handlers
from clients.serving import Serve, Service
from support.client import Connection
from support.waiting import Stopwatch, wait_until

EXPRESS = ["express-4", "express-5"]
ALL = [*EXPRESS, "fastify", "nest"]
PAUSE = 0.3  # seconds between what is to be tried later and that try, in handlers.mjs
BOUNDARY = b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"


@pytest.fixture(scope="module")
def services(onceguard, tmp_path_factory):
    """Each framework's handlers, all beside one `onceguard serve`; fresh keys keep tests apart."""
    config = {"defaults": {"backoff": "300ms", "max_answer_body": "64KiB", "lease": "2s"}}
    serve = Serve(onceguard, tmp_path_factory.mktemp("serve"), config).start()
    started = {}

    def start(framework):
        if framework not in started:
            command = handlers(framework, tmp_path_factory.mktemp("project"))
            folder = tmp_path_factory.mktemp("service")
            started[framework] = Service(command, folder, serve.url).start()
        return started[framework]

    yield start
    for program in (*started.values(), serve):
        program.close()


def kind(content_type):
    return [("Content-Type", content_type)]


def post(service, key, path, body=b"", fields=(), **how):
    fields = [("Idempotency-Key", key), *fields]
    with Connection(service.address, timeout=60) as connection:
        connection.send_request("POST", path, fields, body, **how)
        return connection.read()


def once(service, key, path, body, fields=(), **how):
    """The first answer, whose repeat is the same, and the refusal of another body."""
    first = post(service, key, path, body, fields, **how)
    again = post(service, key, path, body, fields, **how)
    assert first.status // 100 == 2 and not first.replayed, first
    assert again.replayed and again.stored_part() == first.stored_part()
    other = post(service, key, path, body + b" ", fields, **how)
    assert (other.status, other.problem) == (422, "key-reused")
    assert service.effects()[key] == 1
    return first


# ---- bodies
@pytest.mark.parametrize("framework", ALL)
@pytest.mark.parametrize("chunked", [False, True])
def test_json(services, key, framework, chunked):
    body = json.dumps({"text": "\u00fc" * 10000}).encode()
    service = services(framework)
    answer = once(service, key, "/json", body, kind("application/json"), chunked=chunked)
    assert answer.json() == json.loads(body)


@pytest.mark.parametrize("framework", EXPRESS)
@pytest.mark.parametrize("path, content_type, body, got", [
    ("/form", "application/x-www-form-urlencoded", b"a=1&b=%20", b'{"a":"1","b":" "}'),
    ("/text", "text/plain; charset=latin1", b"caf\xe9", "caf\u00e9".encode()),
    ("/bytes", "application/octet-stream", bytes(range(256)), bytes(range(256))),
    ("/piped", "multipart/form-data; boundary=b", BOUNDARY, BOUNDARY),
    ("/piped", "application/octet-stream", b"x" * 60000, b"x" * 60000),
    ("/before", "application/json", b'{"a": 1}', b'{"a":1}'),
], ids=["form", "text", "bytes", "multipart", "long", "before"])
def test_parsers_of_express(services, key, framework, path, content_type, body, got):
    assert once(services(framework), key, path, body, kind(content_type)).body == got


@pytest.mark.parametrize("framework", ["express-4", "express-5", "nest"])
def test_a_packed_body(services, key, framework):
    fields = [*kind("application/json"), ("Content-Encoding", "gzip")]
    packed = gzip.compress(b'{"a":1}', mtime=0)
    answer = post(services(framework), key, "/json", packed, fields)
    assert answer.json() == {"a": 1}
    assert post(services(framework), key, "/json", packed, fields).replayed


@pytest.mark.parametrize("framework", ALL)
@pytest.mark.parametrize("how", [{}, {"chunked": True}])
def test_a_request_without_a_body(services, key, framework, how):
    service = services(framework)
    fields = kind("text/plain") if how else []  # without it Fastify takes no chunks
    answers = [post(service, key, "/stream/10", b"", fields, **how) for _ in range(2)]
    assert [(a.status // 100, len(a.body), a.replayed) for a in answers] == \
        [(2, 10, False), (2, 10, True)]


@pytest.mark.parametrize("framework", EXPRESS)
def test_a_parser_that_keeps_nothing_before_the_middleware_is_a_fault(services, key, framework):
    service = services(framework)
    answer = post(service, key, "/forgotten", b'{"a":1}', kind("application/json"))
    assert answer.status == 500 and b"before express.json()" in answer.body


# ---- errors
WAYS = [(framework, way) for framework in ALL for way in ("sync", "async", "next")
        if (framework, way) != ("nest", "next")]
ways = pytest.mark.parametrize("framework, way", WAYS)


@ways
@pytest.mark.parametrize("what, status", [("not-done", 500), ("refused", 404)])
def test_an_error_that_did_nothing_frees_the_key(services, key, framework, way, what, status):
    service = services(framework)
    for run in (1, 2):
        assert post(service, key, f"/{way}/{what}").status == status
        assert service.effects()[key] == run


@ways
def test_an_error_that_asks_for_a_later_try(services, key, framework, way):
    service = services(framework)
    keys = (f"{key}-{number}" for number in itertools.count())

    def held_back():
        each, clock = next(keys), Stopwatch()
        answers = [post(service, each, f"/{way}/try-later") for _ in range(2)]
        assert {(a.status, a.problem) for a in answers} == {(409, "backing-off")}
        within_pause = clock.seconds < PAUSE
        once = service.effects()[each] == 1
        assert once or not within_pause
        return each if once else None
    held = wait_until(held_back, what="a second request within the pause")

    def tried():
        assert post(service, held, f"/{way}/try-later").problem == "backing-off"
        return service.effects()[held] == 2
    wait_until(tried, what="another try")


@ways
def test_any_other_error_leaves_the_outcome_unknown(services, key, framework, way):
    service = services(framework)
    first = post(service, key, f"/{way}/broken")
    assert first.status == 500 and first.get("Onceguard-Retry") is not None
    again = post(service, key, f"/{way}/broken")
    assert (again.status, again.problem) == (409, "outcome-unknown")
    assert service.effects()[key] == 1


# ---- answers
@pytest.mark.parametrize("framework", ALL)
def test_a_streamed_answer_is_kept_up_to_the_limit(services, key, framework):
    service = services(framework)
    for size in (0, 1, 1000, 64 * 1024):
        answers = [post(service, f"{key}-{size}", f"/stream/{size}") for _ in range(2)]
        assert [(len(a.body), a.replayed) for a in answers] == [(size, False), (size, True)]
    for size in (64 * 1024 + 1, 3_000_000):
        first, again = (post(service, f"{key}-{size}", f"/stream/{size}") for _ in range(2))
        assert first.body == b"x" * size and not first.truncated
        assert (again.status, again.problem) == (409, "answer-not-kept")
        assert service.effects()[f"{key}-{size}"] == 1


@pytest.mark.parametrize("framework", EXPRESS)
def test_a_file(services, key, framework):
    service = services(framework)
    first, again = (post(service, key, "/file") for _ in range(2))
    assert b"sendFile" in first.body and again.stored_part() == first.stored_part()


@pytest.mark.parametrize("framework", [*EXPRESS, "fastify"])
def test_events_go_out_as_they_come(services, key, framework):
    service = services(framework)
    with Connection(service.address) as connection:
        connection.send_request("POST", "/events", [("Idempotency-Key", key)], b"")
        assert connection.read_part(8).body == b"data: 1\n\n"
        pathlib.Path(f"{service.effects_path}.{key}").touch()
        assert connection.read().body == b"data: 1\n\ndata: 2\n\n"
    assert post(service, key, "/events").problem == "answer-not-kept"


@pytest.mark.parametrize("framework", [*EXPRESS, "fastify"])
def test_the_first_of_two_answers_counts(services, key, framework):
    service = services(framework)
    first, again = (post(service, key, "/twice") for _ in range(2))
    assert (first.status, first.body) == (201, b'{"first":true}')
    assert again.stored_part() == first.stored_part()


@pytest.mark.parametrize("framework", EXPRESS)
def test_a_handler_that_never_answers_holds_its_key(services, key, framework):
    service = services(framework)
    client = Connection(service.address)
    client.send_request("POST", "/silent", [("Idempotency-Key", key)], b"")
    service.ran(key)
    client.reset()
    assert post(service, key, "/silent").problem == "in-progress"
    service.kill()
    service.start()
    wait_until(lambda: post(service, key, "/silent").problem == "outcome-unknown", 40, "its end")
    assert service.effects()[key] == 1
