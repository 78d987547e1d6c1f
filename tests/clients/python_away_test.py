"""The examples of the Python client while `onceguard serve` is away, and when it comes back."""

from clients.python_examples import CONFIG, name, start_example  # noqa: F401 (fixtures)
from clients.serving import answered, final
from clients.upgrading import CONFIG as UPGRADED, answers_through_an_upgrade


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
    first = example.begin_work(key, {"delay": 200})
    serve.kill()
    serve.start()
    assert answered(first).status == 201
    assert (example.post(key).replayed, example.effects()[key]) == (True, 1)


def test_no_request_fails_while_the_service_is_upgraded(start_serve, start_example, name,
                                                        fresh_key):
    serve = start_serve(UPGRADED)
    answers_through_an_upgrade(serve, start_example(name, serve), fresh_key)


def test_an_end_that_is_not_recorded_is_no_answer(start_serve, start_example, fresh_key):
    serve = start_serve(CONFIG)
    example = start_example("flask", serve)
    key = fresh_key()
    first = example.begin_work(key, {"delay": 4000})
    serve.kill()
    refused = answered(first)
    assert (refused.status, refused.problem) == (503, "store-unreachable")
    serve.start()
    assert final(example, key).problem == "outcome-unknown"
    assert example.effects()[key] == 1
