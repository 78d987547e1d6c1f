"""The Python client and its examples with a real `onceguard serve`: kit, replays, streams."""

import json
import subprocess
import sys

import pytest

from clients.python_examples import (CLIENT, CONFIG, EXAMPLES, LEASE, PYTHON, QUICK, SERVERS, name,
                                     start_example)  # noqa: F401 (fixtures, too)
from clients.serving import BODY, answered, final
from support.client import Connection, all_at_once, request_bytes
from support.gateway import clean_environment
from support.waiting import wait_until


@pytest.fixture(params=SERVERS)
def example(request, start_serve, start_example):
    return start_example(request.param, start_serve(CONFIG))


def test_every_example_keeps_the_whole_contract(example, kit):
    assert kit(example.url).failed(*QUICK) == {}


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
    key = fresh_key()
    call = request_bytes("POST", "/conformance", example.fields(key, work={"delay": 100}), BODY)
    answers = all_at_once(example.address, [call] * 12)
    assert example.effects()[key] == 1
    assert {answer.status for answer in answers} == {201, 409}
    assert final(example, key).replayed


def test_a_stream_is_a_fact_whose_answer_is_not_kept(start_serve, start_example, name, fresh_key):
    example = start_example(name, start_serve(CONFIG))
    key = fresh_key()
    first = example.post(key, path="/report?size=3")
    assert (first.status, first.body) == (200, b"".join(b"%d\n" % n * 100 for n in range(3)))
    assert example.post(key, path="/report?size=3").problem == "answer-not-kept"
    assert example.effects()[key] == 1


def test_an_answer_over_the_limit_goes_out_and_is_not_kept(start_serve, start_example, name,
                                                           fresh_key):
    example = start_example(name, start_serve(
        {"defaults": {"lease": "2s", "max_answer_body": "64KiB"}}))
    for size, kept in ((65536, True), (65537, False)):
        key = fresh_key()
        first = example.post(key, {"size": size})
        again = example.post(key, {"size": size})
        assert first.body == b"x" * size
        assert again.replayed if kept else again.problem == "answer-not-kept", again
        assert example.effects()[key] == 1


def test_a_long_request_passes_without_a_key_and_is_refused_with_one(start_serve, start_example,
                                                                     name, fresh_key):
    example = start_example(name, start_serve(CONFIG))
    body = b"x" * (2 << 20)
    assert example.post(body=body, counter="unguarded").status == 201
    key = fresh_key()
    assert example.post(key, body=body).problem == "request-too-large"
    assert (example.effects()["unguarded"], example.effects()[key]) == (1, 0)


def test_what_did_nothing_may_run_again(start_serve, start_example, name, fresh_key):
    example = start_example(name, start_serve(CONFIG))
    key = fresh_key()
    for runs in (1, 2):
        assert example.post(key, path="/nothing").status >= 500
        wait_until(lambda runs=runs: example.effects()[key] == runs, what=f"{runs} runs")


def test_work_that_breaks_off_is_unknown(example, fresh_key):
    key = fresh_key()
    connection = example.begin_post(key, {"break": True})
    assert answered(connection).status >= 500
    assert final(example, key, {"break": True}).problem == "outcome-unknown"
    assert example.effects()[key] == 1


def test_a_client_that_leaves_finds_its_answer(example, fresh_key):
    key = fresh_key()
    connection = example.begin_post(key, {"delay": 300})
    example.ran(key)
    connection.close()
    last = final(example, key, {"delay": 300})
    assert (last.status, last.replayed, example.effects()[key]) == (201, True, 1)


def test_half_a_request_leaves_no_record(example, fresh_key):
    key = fresh_key()
    with Connection(example.address) as connection:
        connection.send(request_bytes("POST", "/conformance", example.fields(key), BODY)[:-5])
    assert (example.post(key).status, example.effects()[key]) == (201, 1)


def test_work_outlives_its_lease_while_its_process_lives(example, fresh_key):
    key = fresh_key()
    slow = {"delay": LEASE * 2500}
    first = example.begin_post(key, slow)
    example.ran(key)
    pause = example.begin_post(fresh_key(), {"delay": LEASE * 1500})
    assert answered(pause).status == 201  # so long, the lease was over if nobody renewed it
    assert example.post(key, slow).problem == "in-progress"
    assert answered(first).status == 201
    assert (example.post(key, slow).replayed, example.effects()[key]) == (True, 1)


def test_a_lease_outlives_a_restart_of_its_service(start_serve, start_example, name, fresh_key):
    serve = start_serve(CONFIG)
    example = start_example(name, serve)
    key = fresh_key()
    slow = {"delay": LEASE * 3000}
    first = example.begin_post(key, slow)
    example.ran(key)
    serve.kill()
    serve.start()
    pause = example.begin_post(fresh_key(), {"delay": LEASE * 1500})
    assert answered(pause).status == 201
    assert example.post(key, slow).problem == "in-progress"
    assert answered(first).status == 201
    assert (example.post(key, slow).replayed, example.effects()[key]) == (True, 1)


# ---- the service that decides is away

def test_nothing_runs_while_the_service_is_away(start_example, name, fresh_key):
    away = start_example(name, "unix:/nonexistent/onceguard")
    key = fresh_key()
    refused = away.post(key)
    assert (refused.status, refused.problem, refused.get("Retry-After")) == (
        503, "store-unreachable", "1")
    assert away.effects()[key] == 0


def test_a_client_that_is_open_runs_unguarded(start_example, name, fresh_key):
    example = start_example(name, "unix:/nonexistent/onceguard", {"ONCEGUARD_OPEN": "1"})
    key = fresh_key()
    assert [example.post(key).status for _ in range(2)] == [201, 201]
    assert example.effects()[key] == 2


def test_a_service_that_comes_back_is_used_again(start_serve, start_example, name, fresh_key):
    serve = start_serve(CONFIG)
    example = start_example(name, serve)
    assert example.post(fresh_key()).status == 201
    serve.stop()
    key = fresh_key()
    assert example.post(key).problem == "store-unreachable"
    serve.start()
    assert (final(example, key).status, example.effects()[key]) == (201, 1)


def test_a_settle_waits_for_a_service_that_comes_back(start_serve, start_example, name, fresh_key):
    serve = start_serve(CONFIG)
    example = start_example(name, serve)
    key = fresh_key()
    first = example.begin_post(key, {"delay": 200})
    example.ran(key)
    serve.kill()
    serve.start()
    assert answered(first).status == 201
    assert (example.post(key).replayed, example.effects()[key]) == (True, 1)


def test_an_end_that_is_not_recorded_is_no_answer(start_serve, start_example, fresh_key):
    serve = start_serve(CONFIG)
    example = start_example("flask", serve)
    key = fresh_key()
    first = example.begin_post(key, {"delay": 200})
    example.ran(key)
    serve.kill()
    refused = answered(first)
    assert (refused.status, refused.problem) == (503, "store-unreachable")
    serve.start()
    assert final(example, key).problem == "outcome-unknown"
    assert example.effects()[key] == 1


# ---- tasks

@pytest.fixture
def charge(start_serve, tmp_path):
    serve = start_serve(CONFIG)

    def run(order, amount):
        return subprocess.run(
            [PYTHON, EXAMPLES / "charge_task.py", order, str(amount)], capture_output=True,
            text=True, timeout=60, check=False, env={
                **clean_environment(), "PYTHONPATH": str(CLIENT), "ONCEGUARD_URL": serve.url,
                "EFFECTS": str(tmp_path / "effects"), "PYTHONDONTWRITEBYTECODE": "1"})
    run.effects = tmp_path / "effects"
    return run


def test_a_task_that_is_delivered_again_charges_once(charge, fresh_key):
    order = fresh_key()
    first, again = charge(order, 1000), charge(order, 1000)
    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout and "'charged': 1000" in first.stdout
    assert "Mismatch" in charge(order, 1001).stderr
    assert charge.effects.read_text().split() == [order]


BLOCKED_LOOP = """
import asyncio, onceguard, signal, sys
client = onceguard.Client(sys.argv[1])

async def work():
    with open(sys.argv[2], "a") as effects:
        effects.write("ran\\n")
    signal.sigtimedwait([], %d)  # the event loop stands still, longer than the lease
    return "done"

async def main():
    for _ in range(2):
        print(await client.execute_async(scope="s", key="k", fingerprint="f", work=work))

asyncio.run(main())
"""


def test_an_event_loop_that_stands_still_keeps_its_lease(start_serve, tmp_path):
    serve = start_serve(CONFIG)
    effects = tmp_path / "effects"
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED_LOOP % (LEASE * 2), serve.url, effects], timeout=60,
        capture_output=True, text=True, env={**clean_environment(), "PYTHONPATH": str(CLIENT)},
        check=False)
    assert (done.returncode, done.stdout) == (0, "done\ndone\n"), done.stderr
    assert effects.read_text() == "ran\n"


def test_over_tcp_too(start_serve, start_example, fresh_key):
    serve = start_serve(CONFIG, tcp=True)
    for name in ("fastapi", "flask-gunicorn"):
        example = start_example(name, serve)
        key = fresh_key()
        first, again = example.post(key), example.post(key)
        assert json.loads(first.body) == {"run": 1}
        assert (again.stored_part(), again.replayed) == (first.stored_part(), True)
