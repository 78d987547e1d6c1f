"""Functions and tasks with the Python client: delivered again, amid a blocked loop, over TCP."""

import json
import subprocess
import sys

import pytest

from clients.python_examples import (CLIENT, CONFIG, EXAMPLES, LEASE, PYTHON,
                                     start_example)  # noqa: F401
from support.gateway import clean_environment


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
