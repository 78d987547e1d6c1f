"""The examples of the Python client with a real `onceguard serve`: replays, streams, ends. Each
server is started once for all tests; fresh keys keep them apart."""

import pytest

from clients.python_examples import CONFIG, SERVERS, Examples
from clients.serving import BODY, answered, final
from support.client import Connection, all_at_once, request_bytes
from support.waiting import wait_until

LIMIT = 64 << 10


@pytest.fixture(scope="module")
def examples(onceguard, tmp_path_factory):
    defaults = {**CONFIG["defaults"], "max_answer_body": "64KiB"}
    made = Examples(onceguard, tmp_path_factory, {"defaults": defaults})
    yield made
    made.close()


@pytest.fixture(params=SERVERS)
def example(request, examples):
    return examples.service(request.param)


@pytest.fixture(params=[each for each in SERVERS if each != "starlette"])
def shop(request, examples):
    """Those that have /report and /nothing, too."""
    return examples.service(request.param)


def test_a_repeat_is_the_first_answer_byte_by_byte(example, fresh_key):
    key = fresh_key()
    work = {"fields": [["Link", "<a>"], ["X-Odd", "caf\xe9"], ["Link", "<b>"]], "bytes": True}
    first = example.post(key, work)
    again = example.post(key, work)
    assert (first.status, first.body) == (201, bytes(range(256)))
    assert (again.stored_part(), again.replayed) == (first.stored_part(), True)
    assert example.post(key, work, body=b'{"amount":101}').problem == "key-reused"
    assert example.effects()[key] == 1


def test_of_many_at_once_one_runs(example, fresh_key):
    def met():
        """Not where all others come when the first has ended, or too late for a lease."""
        key = fresh_key()
        call = request_bytes("POST", "/conformance", example.fields(key, work={"delay": 1000}),
                             BODY)
        answers = all_at_once(example.address, [call] * 12)
        assert example.effects()[key] == 1
        seen = {answer.status for answer in answers if answer.problem != "overloaded"}
        assert seen <= {201, 409}
        assert final(example, key).replayed
        return seen == {201, 409}
    assert any(met() for _ in range(3))


def test_a_stream_is_kept_as_another_answer(shop, fresh_key):
    key = fresh_key()
    first, again = [shop.post(key, path="/report?size=3") for _ in range(2)]
    assert (first.status, first.body) == (200, b"".join(b"%d\n" % n * 100 for n in range(3)))
    assert (again.stored_part(), again.replayed) == (first.stored_part(), True)
    assert shop.effects()[key] == 1


def test_a_long_stream_is_a_fact_whose_answer_is_not_kept(shop, fresh_key):
    key = fresh_key()
    first = shop.post(key, path="/report?size=300")
    assert (first.status, first.body) == (200, b"".join(b"%d\n" % n * 100 for n in range(300)))
    assert len(first.body) > LIMIT
    assert shop.post(key, path="/report?size=300").problem == "answer-not-kept"
    assert shop.effects()[key] == 1


def test_an_answer_over_the_limit_goes_out_and_is_not_kept(example, fresh_key):
    for size, kept in ((LIMIT, True), (LIMIT + 1, False)):
        key = fresh_key()
        first = example.post(key, {"size": size})
        again = example.post(key, {"size": size})
        assert first.body == b"x" * size
        assert again.replayed if kept else again.problem == "answer-not-kept", again
        assert example.effects()[key] == 1


def test_a_long_request_passes_without_a_key_and_is_refused_with_one(example, fresh_key):
    body = b"x" * (2 << 20)
    counter, key = fresh_key(), fresh_key()
    assert example.post(body=body, counter=counter).status == 201
    assert example.post(key, body=body).problem == "request-too-large"
    assert (example.effects()[counter], example.effects()[key]) == (1, 0)


def test_what_did_nothing_may_run_again(shop, fresh_key):
    key = fresh_key()
    for runs in (1, 2):
        assert shop.post(key, path="/nothing").status >= 500
        wait_until(lambda runs=runs: shop.effects()[key] == runs, what=f"{runs} runs")


def test_work_that_breaks_off_is_unknown(example, fresh_key):
    key = fresh_key()
    connection = example.begin_post(key, {"break": True})
    assert answered(connection).status >= 500
    assert final(example, key, {"break": True}).problem == "outcome-unknown"
    assert example.effects()[key] == 1


def test_a_client_that_leaves_finds_its_answer(example, fresh_key):
    key = fresh_key()
    connection = example.begin_work(key, {"delay": 300})
    connection.close()
    last = final(example, key, {"delay": 300})
    assert (last.status, last.replayed, example.effects()[key]) == (201, True, 1)


def test_half_a_request_leaves_no_record(example, fresh_key):
    key = fresh_key()
    with Connection(example.address) as connection:
        connection.send(request_bytes("POST", "/conformance", example.fields(key), BODY)[:-5])
    assert (example.post(key).status, example.effects()[key]) == (201, 1)
