"""FastAPI under uvicorn, and its `onceguard serve`, killed amid requests: nothing runs twice."""

import pytest

from clients.python_examples import start_example, survives_kills  # noqa: F401


@pytest.mark.parametrize("victim", ["serve", "service"])
def test_nothing_runs_twice_amid_kills(start_serve, start_example, victim, fresh_key):
    survives_kills("fastapi", victim, start_serve, start_example, fresh_key)
