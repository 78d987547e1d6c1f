"""What counts is how old a success is, whatever the call that ran said of its age: on each store
that machines share, and on SQLite."""

import re

import pytest

from support.waiting import Stopwatch, wait_until

KINDS = ["sqlite", "postgresql", "redis", "dynamodb"]


@pytest.fixture(params=KINDS)
def executing(request, exec_on, tmp_path):
    kind = request.param
    if kind == "sqlite":
        return exec_on(f"sqlite:{tmp_path}/keys.db")
    if kind == "postgresql":
        server = request.getfixturevalue("postgres_server")
        return exec_on(server.url(server.create_store()))
    return exec_on(request.getfixturevalue(f"{kind}_server").create_store())


def age(executing, key):
    """Of the run's claim, in milliseconds."""
    shown = executing.ask("keys", "show", key, "--json").stdout
    return int(re.search(r'"age_ms": ?(\d+)', shown)[1])


@pytest.mark.parametrize("first, then", [([], ["--fresh-after", "1s"]),
                                         (["--fresh-after", "1h"], ["--fresh-after", "1s"]),
                                         (["--every", "1d"], ["--every", "1s"]),
                                         ([], ["--every", "1s"])])
def test_a_success_that_is_too_old_for_this_call_runs_anew(executing, key, first, then):
    clock = Stopwatch()
    assert executing.shell(key, "true", options=first).code == 0
    calls = []

    def runs_anew():
        calls.append(Stopwatch())
        done = executing.shell(key, "true", options=then)
        return done.code == 0 and executing.runs(key) == 2

    wait_until(runs_anew, what="a run of its own")
    assert clock.seconds >= 0.9
    # What ran anew is what counts from now on.
    assert executing.shell(key, "true").code == 0
    assert executing.runs(key) == 2 or calls[-1].seconds > 0.9  # a period is over by then


@pytest.mark.parametrize("then", [["--fresh-after", "1h"], ["--every", "1h"], []])
def test_a_success_that_is_young_enough_stays(executing, key, then):
    for _ in range(3):
        assert executing.shell(key, "true", options=then).code == 0
    assert executing.runs(key) == 1


def test_of_many_calls_at_once_one_runs_anew(executing, key):
    script = "echo done; sleep 0.3"
    assert executing.shell(key, script).code == 0
    wait_until(lambda: age(executing, key) > 1_500, what="an old success")
    options = ["--fresh-after", "1s", "--wait", "1m"]
    clock = Stopwatch()
    callers = [executing.begin_shell(key, script, options=options) for _ in range(8)]
    ends = [executing.end(caller) for caller in callers]
    assert {end.triple for end in ends} == {(0, b"done\n", b"")}
    assert executing.runs(key) == 2 or clock.seconds > 1


def test_another_command_is_refused_however_old_the_success_is(executing, key):
    assert executing.run(key, "echo", "a").code == 0
    wait_until(lambda: age(executing, key) > 50, what="an old success")
    assert executing.run(key, "echo", "b", options=["--fresh-after", "10ms"]).code == 120
    assert executing.run(key, "echo", "a").out == b"a\n"
