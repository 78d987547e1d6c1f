"""`onceguard exec`, many at once and killed at any moment: no command runs twice."""

import random
import re
import subprocess
import sys
import threading

from support.executing import UNKNOWN, Executing, marking
from support.waiting import scaled, wait_until

# One of the two processes that call: so many threads, each with calls of its own.
CALLER = """import subprocess, sys, threading
onceguard, store, effects, first, last, keys, threads = sys.argv[1:8]
numbers = iter(range(int(first), int(last)))
lock, bad = threading.Lock(), []
def call():
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        key = f"key{number % int(keys)}"
        words = [onceguard, "exec", "--store", store, "--key", key, "--wait", "2m", "--"]
        script = f"echo {key} >>{effects}; echo output of {key}"
        done = subprocess.run([*words, "sh", "-c", script], capture_output=True, timeout=300)
        if (done.returncode, done.stdout) != (0, f"output of {key}\\n".encode()):
            bad.append(done)
all = [threading.Thread(target=call) for _ in range(int(threads))]
for each in all: each.start()
for each in all: each.join()
print(*bad, sep="\\n")
"""


def call_from_two_processes(executing, calls, keys):
    callers = [subprocess.Popen(
        [sys.executable, "-c", CALLER, str(executing.onceguard), executing.store,
         str(executing.effects), str(half * calls // 2), str((half + 1) * calls // 2), str(keys),
         "8"], cwd=executing.folder, env=executing.environment(), stdout=subprocess.PIPE, text=True)
        for half in (0, 1)]
    for caller in callers:
        assert caller.communicate(timeout=500)[0].strip() == ""
    for number in range(keys):
        assert executing.runs(f"key{number}") == 1
    assert executing.runs() == keys


def test_a_thousand_calls_run_a_hundred_commands_on_sqlite(exec_):
    call_from_two_processes(exec_, scaled(1_000, least=100), scaled(100, least=10))


def test_a_thousand_calls_run_a_hundred_commands_on_postgresql(exec_on, postgres_server):
    call_from_two_processes(exec_on(postgres_server.url(postgres_server.create_store())),
                            scaled(1_000, least=100), scaled(100, least=10))


def kill_at_random(executing, kills):
    """Kills calls at any moment of their lives, each fifth one amid its work, and calls again until
    all is settled or held."""
    chance = random.Random(7)
    works = [f"sleep {0.03 if number % 5 else 0.5}; echo done" for number in range(kills)]
    for number, work in enumerate(works):
        key = f"key{number}"
        process = executing.begin_shell(key, work, options=["--lease", "1s"])
        if number % 5 == 0:
            executing.ran(1, key)
        else:
            threading.Event().wait(chance.random() * 0.12)
        process.kill()
        process.communicate()
        executing.running.remove(process)
    for number, work in enumerate(works):
        key = f"key{number}"
        wait_until(lambda k=key: executing.state(k) not in ("started", "in_progress"),
                   what="the end of the lease")
        done = executing.shell(key, work)
        assert done.code in (0, UNKNOWN), done
        assert executing.runs(key) <= 1, key
        if done.code == 0:
            assert (done.out, executing.runs(key)) == (b"done\n", 1)
    held = [key for key in (f"key{number}" for number in range(kills))
            if executing.state(key) == "unknown"]
    listed = executing.ask("keys", "list", "--state", "unknown", "--limit", 10_000).stdout
    assert sorted(held) == sorted(re.findall(r"\bkey\d+\b", listed))
    return held


def test_a_hundred_kills_run_nothing_twice(exec_):
    held = kill_at_random(exec_, scaled(100, least=15))
    assert held, "no call was killed amid its work"
    for key in held:
        assert exec_.ask("keys", "release", key, "--force").returncode == 0
        assert exec_.shell(key, "sleep 0.03; echo done").code == 0


def test_kills_on_postgresql_run_nothing_twice(exec_on, postgres_server):
    kill_at_random(exec_on(postgres_server.url(postgres_server.create_store())),
                   scaled(40, least=10))


def test_a_killed_caller_is_followed_by_a_rerun_where_that_is_asked_for(onceguard, tmp_path):
    executing = Executing(onceguard, tmp_path)
    process = executing.begin_shell("key", "sleep 300", options=["--lease", "1s"])
    executing.ran(1, "key")
    process.kill()
    executing.end(process)
    command = marking("key", "sleep 300")[:2] + [f'echo "key" >>"$EFFECTS"\nsleep 300']
    again = executing.begin("key", *command, options=["--on-unknown", "rerun", "--wait", "1m"])
    executing.ran(2, "key")
    again.kill()
    executing.end(again)
