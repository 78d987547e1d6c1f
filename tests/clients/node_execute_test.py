"""`execute` of the client for Node: plain functions beside `onceguard serve`."""

import itertools
import json
import subprocess

import pytest

from clients.node_programs import handlers_folder
from support.gateway import clean_environment
from support.waiting import Stopwatch, wait_until

PAUSE = 2  # seconds between what is to be tried later and that try, in execute.mjs

CONFIG = {
    "serve": {"inline": ["retention", "on_busy", "wait", "exception"]},
    "defaults": {"backoff": "200ms"},
    "policy": [{"name": "patient", "on_busy": "wait", "wait": "20s"}],
}


class Calls:
    """A program that calls `execute`."""

    def __init__(self, folder, url):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", "node", "execute.mjs"], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**clean_environment(), "ONCEGUARD_URL": url})

    def make(self, *plans):
        """All at once: what came of each, and how often the work ran."""
        self.process.stdin.write(json.dumps(plans) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        return said["calls"], said["runs"]

    def ended(self):
        """Ends its input: it has nothing that keeps it alive."""
        self.process.stdin.close()
        return self.process.wait(60)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def calls(start_serve, tmp_path):
    running = Calls(handlers_folder(tmp_path), start_serve(CONFIG).url)
    yield running
    running.close()


def plan(key, fingerprint="charge 1000 EUR", policy=None, scope="customer-7", **more):
    operation = {"scope": scope, "key": key, "fingerprint": fingerprint}
    return {"operation": {**operation, **({"policy": policy} if policy else {})}, **more}


@pytest.mark.parametrize("result", [{"id": 17, "note": "gr\u00fc\u00dfe"}, "text", None, [1, 2], 0])
def test_a_repeat_gets_the_result(calls, key, result):
    for runs in (1, 0):
        assert calls.make(plan(key, result=result)) == ([{"result": result}], runs)
    assert calls.ended() == 0


def test_another_fingerprint_and_another_scope(calls, key):
    assert calls.make(plan(key, result=1)) == ([{"result": 1}], 1)
    (refused,), runs = calls.make(plan(key, "charge 1 EUR", result=2))
    assert (refused["kind"], refused["retryable"], runs) == ("mismatch", False, 0)
    assert calls.make(plan(key, scope="customer-8", result=2)) == ([{"result": 2}], 1)


def test_twins(calls, key):
    said, runs = calls.make(*[plan(key, result=1, delay=2000)] * 5)
    assert runs == 1 and said.count({"result": 1}) == 1
    refused = [one for one in said if "kind" in one]
    assert {(one["kind"], one["retryable"]) for one in refused} == {("busy", True)}
    assert all(one["retryAfter"] > 0 for one in refused)
    for policy in ("patient", {"on_busy": "wait", "wait": "20s"}):
        twins = [plan(f"{key}-{len(policy)}", result=1, delay=300, policy=policy)] * 5
        assert calls.make(*twins) == ([{"result": 1}] * 5, 1)


def test_work_that_throws(calls, key):
    for runs in (1, 1):
        thrown = calls.make(plan(f"{key}-1", fails="not-done"))
        assert thrown == ([{"error": "no card"}], runs)
    keys = (f"{key}-2-{number}" for number in itertools.count())

    def held_back():
        each, clock = next(keys), Stopwatch()
        assert calls.make(plan(each, fails="try-later")) == ([{"error": "busy"}], 1)
        (said,), runs = calls.make(plan(each, result=1))
        assert runs == 0 or clock.seconds >= PAUSE
        return (each, said) if runs == 0 else None
    held, refused = wait_until(held_back, what="a second call within the pause")
    assert (refused["kind"], refused["retryable"]) == ("backoff", True)
    wait_until(lambda: calls.make(plan(held, result=1)) == ([{"result": 1}], 1),
               what="another attempt")
    assert calls.make(plan(f"{key}-3", fails="broken")) == ([{"error": "broken"}], 1)
    (refused,), runs = calls.make(plan(f"{key}-3", result=1))
    assert (refused["kind"], runs) == ("unknown", 0)
    free = {"exception": "release"}
    for _ in range(2):
        assert calls.make(plan(f"{key}-4", fails="broken", policy=free))[1] == 1


def test_tokens_grow(calls, key):
    calls.make(plan(key, fails="not-done"))
    (first,), _ = calls.make(plan(key, result="token"))
    assert first["result"] > 1
