"""Flask under gunicorn, and its `onceguard serve`, killed amid requests: nothing runs twice."""

import os
import signal

import pytest

from clients.python_examples import (CONFIG, start_example, survives_kills,  # noqa: F401
                                     workers)
from clients.serving import answered, final
from support.waiting import scaled, wait_until


@pytest.mark.parametrize("victim", ["serve", "service"])
def test_nothing_runs_twice_amid_kills(start_serve, start_example, victim, fresh_key):
    survives_kills("flask-gunicorn", victim, start_serve, start_example, fresh_key)


def test_a_killed_worker_takes_no_siblings_lease_along(start_serve, start_example, fresh_key):
    """gunicorn forks its workers: each holds its own connections, and no other's."""
    serve = start_serve(CONFIG)
    example = start_example("flask-gunicorn", serve)
    for _ in range(scaled(20, 4)):
        lost, safe = fresh_key(), fresh_key()
        requests = {key: example.begin_work(key, {"delay": 700}) for key in (lost, safe)}
        wait_until(lambda: len(workers(example)) == 2, what="both workers")
        os.kill(int(workers(example)[0]), signal.SIGKILL)
        ends = {key: answered(connection) for key, connection in requests.items()}
        for key, first in ends.items():
            last = final(example, key, {"delay": 700})
            assert last.replayed if first else last.problem == "outcome-unknown", (first, last)
            assert example.effects()[key] == 1
