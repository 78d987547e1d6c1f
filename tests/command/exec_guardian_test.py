"""`onceguard exec` that is stopped or killed, alone or with its group: nothing of it runs on
beside the next attempt."""

import os
import signal
import subprocess

import pytest

from support.executing import Done, none_left, pause, processes_with
from support.waiting import stands_still, wait_until

# Leaves a mark for each step, with the number of its attempt.
STEPS = ("for i in $(seq 60); do echo $ONCEGUARD_ATTEMPT >>steps; sleep 0.1; "
         "[ $ONCEGUARD_ATTEMPT = 2 ] && [ $i = 10 ] && break; done; touch whole")


def steps(exec_):
    file = exec_.folder / "steps"
    return file.read_text().split() if file.exists() else []


@pytest.mark.parametrize("how", [["probe", "--probe", "test -e whole"], ["rerun"]])
def test_a_stopped_exec_has_no_command_beside_the_next_attempt(exec_, key, how):
    """A process that is stopped can't watch its lease; its guardian does."""
    options = ["--grace", "500ms", "--on-unknown", *how]

    def order_of_steps(key):
        first = exec_.begin_shell(key, STEPS, options=["--lease", "3s", *options])
        wait_until(lambda: steps(exec_), what="the first step")
        first.send_signal(signal.SIGSTOP)
        stands_still(first.pid)
        wait_until(lambda: exec_.state(key) == "unknown", what="the end of the lease")
        second = exec_.shell(key, STEPS, options=["--lease", "30s", *options])
        first.send_signal(signal.SIGCONT)
        exec_.end(first)
        assert second.code == 0
        order = steps(exec_)
        for name in ("steps", "whole"):
            (exec_.folder / name).unlink(missing_ok=True)
        assert order.count("2") == 10, order
        return order

    # On a busy machine, the guardian may be late itself.
    orders = (order_of_steps(f"{key}-{number}") for number in range(3))
    assert any(order == sorted(order) for order in orders)


def test_the_guardian_of_a_stopped_exec_kills_all_when_the_lease_is_over(exec_, key):
    """The lease is so long that the guardian is ahead of its end by as much as it ever is."""
    trees = ["trap '' TERM; (exec -a of-KEY sleep 300) & wait",
             "setsid bash -c 'trap \"\" TERM; exec -a of-KEY sleep 300' & wait",
             "(exec -a of-KEY sleep 300) & kill -STOP $$"]

    def are_killed_in_time(key):
        held, late = {}, []
        for number, tree in enumerate(trees):
            name = f"{key}-{number}"
            held[name] = exec_.begin(name, "bash", "-c", tree.replace("KEY", name),
                                     options=["--lease", "5s", "--grace", "300s"])
        for name, process in held.items():
            wait_until(lambda name=name: processes_with(f"of-{name}"), what="the sleeper")
            process.send_signal(signal.SIGSTOP)
            stands_still(process.pid)
        for name in held:
            wait_until(lambda name=name: exec_.state(name) == "unknown",
                       what="the end of the lease")
            late += processes_with(f"of-{name}")
        for name, process in held.items():
            none_left(f"of-{name}")
            process.send_signal(signal.SIGCONT)
            done = exec_.end(process)
            assert done.code >= 120 and b"lease" in done.err
        return not late

    # On a busy machine, the guardian may be late itself.
    assert any(are_killed_in_time(f"{key}-{number}") for number in range(3))


def test_a_renewed_lease_ends_nothing(exec_, key):
    """The deadline that the guardian holds moves with the lease."""
    runs = (exec_.shell(f"{key}-{number}", "sleep 7; echo whole",
                        options=["--lease", "3s", "--grace", "1s"]) for number in range(3))
    # On a busy machine, a renewal may be late.
    assert any(done.triple == (0, b"whole\n", b"") for done in runs)


TREES = ["(exec -a of-KEY sleep 300) & wait",
         "setsid bash -c 'exec -a of-KEY sleep 300' & wait",
         "(setsid bash -c '(exec -a of-KEY sleep 300) & wait' &); sleep 300"]


@pytest.mark.parametrize("tree", TREES)
def test_nothing_survives_a_kill_of_the_whole_group(exec_, key, tree):
    """As `kill -9 -PGID`, and a CI runner, have it."""
    process = exec_.begin(key, "bash", "-c", tree.replace("KEY", key), start_new_session=True)
    wait_until(lambda: processes_with(f"of-{key}"), what="the sleeper")
    os.killpg(process.pid, signal.SIGKILL)
    assert exec_.end(process).code == -signal.SIGKILL
    none_left(f"of-{key}")


@pytest.mark.parametrize("tree", TREES)
def test_nothing_survives_timeout_with_sigkill(exec_, key, tree):
    """timeout(1) is not from here; it kills the group that it has made, itself included."""
    script = tree.replace("KEY", key)
    words = ["timeout", "-s", "KILL", "2", *exec_.words(key, "bash", "-c", script)]
    done = subprocess.run(words, cwd=exec_.folder, env=exec_.environment(), capture_output=True,
                          timeout=60, check=False)
    assert Done(done.returncode, done.stdout, done.stderr).code in (-signal.SIGKILL, 137)
    none_left(f"of-{key}")


def ids_of(process):
    """Parent, process group and session."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
        return [int(word) for word in stat.read().rpartition(")")[2].split()[1:4]]


def test_the_guardian_is_in_no_group_and_session_of_another(exec_, key):
    process = exec_.begin(key, "bash", "-c", f"exec -a of-{key} sleep 300", start_new_session=True)
    [command] = wait_until(lambda: processes_with(f"of-{key}"), what="the command")
    guardian, group, session = ids_of(command)
    assert ids_of(guardian)[1:] == [guardian, guardian]
    assert process.pid not in (group, session) and group == command
    process.terminate()
    assert exec_.end(process).code == 128 + 15


def test_a_signal_at_any_moment_of_the_start_ends_it(exec_, key):
    """Before the command begins, while it begins, and when it runs: never is the signal lost."""
    for moment in range(40):
        process = exec_.begin(f"{key}-{moment}", "sleep", "300")
        pause(moment / 1000)
        process.terminate()
        assert exec_.end(process).code in (128 + 15, -15), moment


def test_a_signal_ends_a_probe_that_runs(exec_, key):
    exec_.shell(key, "kill -9 $$")
    process = exec_.begin_shell(key, "kill -9 $$", options=[
        "--on-unknown", "probe", "--probe", f"bash -c 'exec -a of-{key} sleep 300'"])
    wait_until(lambda: processes_with(f"of-{key}"), what="the probe")
    process.terminate()
    assert exec_.end(process).code == -15
    none_left(f"of-{key}")
    assert exec_.runs(key) == 1 and exec_.state(key) == "unknown"


def test_a_stopped_command_sees_the_end_of_its_time(exec_, key):
    """SIGTERM alone would wait until somebody makes the command go on."""
    script = ("trap 'echo ended; exit 1' TERM; echo begun; kill -STOP $$; "
              "while :; do sleep 0.05; done")
    done = exec_.shell(key, script, options=["--timeout", "3s", "--grace", "15s"])
    assert (done.code, done.out) == (1, b"begun\nended\n") and b"timeout" in done.err
