"""`onceguard exec`: a command runs once per key, and a repeat gets its output and exit code."""

import os
import re
import signal
import subprocess

import pytest

from support.executing import (FAILED_ITSELF, OTHER_COMMAND, TRY_LATER, UNKNOWN, none_left, pause)
from support.waiting import Stopwatch, wait_until

TALKS = "printf 'one\\n'; printf 'two\\n' >&2; printf 'thr\\000e\\n'"


# ---- a repeat


@pytest.mark.parametrize("code", [0, 2, 255])
def test_a_repeat_gets_output_and_exit_code_of_the_first_run(exec_, key, code):
    options = ["--success", "0,2,255"]
    first = exec_.shell(key, f"{TALKS}; exit {code}", options=options)
    assert first.triple == (code, b"one\nthr\0e\n", b"two\n")
    assert exec_.shell(key, f"{TALKS}; exit {code}", options=options).triple == first.triple
    assert exec_.runs(key) == 1
    assert exec_.state(key) == "completed"


def test_the_streams_come_in_the_order_in_which_they_were_written(exec_, key, tmp_path):
    """Into one file, as `>log 2>&1` has it."""
    script = "for i in 1 2 3 4 5; do echo out$i; sleep 0.1; echo err$i >&2; sleep 0.1; done"
    written = []
    for name in ("first", "repeat"):
        with open(tmp_path / name, "wb") as log:
            process = exec_.begin_shell(key, script, stdout=log, stderr=log)
            assert process.wait(60) == 0
        written.append((tmp_path / name).read_text())
    assert written[0].split() == [f"{s}{i}" for i in range(1, 6) for s in ("out", "err")]
    assert written[1] == written[0]


@pytest.mark.parametrize("pipe", [False, True])
def test_what_goes_to_one_file_keeps_its_order(exec_, key, tmp_path, pipe):
    """`2>&1`: a command that writes without a pause, and its repeat."""
    program = ("import os\nfor i in range(3000):\n"
               "    os.write(1, b'out%d\\n' % i)\n    os.write(2, b'err%d\\n' % i)")
    wanted = "".join(f"out{i}\nerr{i}\n" for i in range(3000))
    for name in ("first", "repeat"):
        if pipe:
            process = exec_.begin(key, "python3", "-c", program, stderr=subprocess.STDOUT)
            got = exec_.end(process).out.decode()
        else:
            with open(tmp_path / name, "wb") as log:
                process = exec_.begin(key, "python3", "-c", program, stdout=log, stderr=log)
                assert process.wait(60) == 0
            got = (tmp_path / name).read_text()
        assert got == wanted, name


def test_output_is_seen_while_the_command_runs(exec_, key):
    script = "echo early; while [ ! -e go ]; do sleep 0.05; done; echo late"
    process = exec_.begin_shell(key, script)
    assert process.stdout.readline() == b"early\n"
    (exec_.folder / "go").touch()
    assert exec_.end(process).triple == (0, b"late\n", b"")


def test_another_command_under_the_key_is_refused_and_shows_nothing(exec_, key):
    assert exec_.shell(key, "echo secret").code == 0
    other = exec_.run(key, "echo", "secret")
    assert (other.code, other.out) == (OTHER_COMMAND, b"")
    assert b"another command" in other.err
    # Unless the caller says what makes two calls the same.
    for text in ("a", "b"):
        assert exec_.run(f"{key}-2", "echo", text, options=["--fingerprint", "x"]).out == b"a\n"


def test_a_scope_has_its_own_keys(exec_, key):
    for scope in ("a", "b"):
        exec_.shell(key, "true", options=["--scope", scope])
        exec_.shell(key, "true", options=["--scope", scope])
    assert exec_.runs(key) == 2


def test_the_command_gets_its_words_its_input_and_what_it_is_an_attempt_of(exec_, key):
    done = exec_.run(key, "sh", "-c", 'cat; printf "%s|" "$@"; env', "x", "--", "-v", "a b",
                     stdin=b"typed\n", environment={"OWN": "1"})
    assert done.out.startswith(b"typed\n--|-v|a b|")
    env = dict(line.split("=", 1) for line in done.out.decode().split("|")[-1].splitlines())
    assert env["ONCEGUARD_IDEMPOTENCY_KEY"] == key and env["ONCEGUARD_ATTEMPT"] == "1"
    assert int(env["ONCEGUARD_TOKEN"]) > 0 and env["OWN"] == "1"
    lease = env["ONCEGUARD_RECORD_LEASE"]
    assert re.fullmatch(r"OG1-[0-9a-f]{64}-[0-9a-f]{16}-[0-9a-f]{32}", lease)


# ---- what is not kept


def test_a_failure_may_run_again_after_the_back_off(exec_, key):
    script = f"{TALKS}; [ -e ok ]"
    for name, backoff in ((key, "1m"), (f"{key}-soon", "1s")):
        assert exec_.shell(name, script, options=["--backoff", backoff]).triple == (
            1, b"one\nthr\0e\n", b"two\n")
    (exec_.folder / "ok").touch()
    early = exec_.shell(key, script)
    assert (early.code, early.out) == (TRY_LATER, b"")
    assert exec_.runs(key) == 1
    key = f"{key}-soon"
    wait_until(lambda: exec_.shell(key, script).code == 0, what="the end of the back-off")
    assert exec_.shell(key, script).code == 0
    assert exec_.runs(key) == 2


def test_retry_goes_on_until_it_succeeds(exec_, key):
    script = 'echo $ONCEGUARD_ATTEMPT; [ $(wc -l <"$EFFECTS") = 3 ]'
    done = exec_.shell(key, script, options=["--retry", "5", "--backoff", "100ms"])
    assert (done.code, done.out) == (0, b"1\n2\n3\n")
    assert exec_.shell(key, script).out == b"3\n"
    assert exec_.runs(key) == 3


def test_retry_gives_up_with_the_last_exit_code(exec_, key):
    clock = Stopwatch()
    done = exec_.shell(key, "exit 9", options=["--retry", "2", "--backoff", "200ms"])
    assert done.code == 9 and exec_.runs(key) == 3
    assert clock.seconds >= 0.6  # 200 ms, then 400


@pytest.mark.parametrize("failure, state", [("fail", "failed"), ("release", "released"),
                                            ("complete", "completed"), ("unknown", "unknown")])
def test_what_a_failure_means_can_be_said(exec_, key, failure, state):
    assert exec_.shell(key, "exit 4", options=["--failure", failure]).code == 4
    assert exec_.state(key) == state


@pytest.mark.parametrize("success", ["0", "any"])
def test_75_frees_the_key_at_once(exec_, key, success):
    for run in (1, 2):
        assert exec_.shell(key, "exit 75", options=["--success", success]).code == 75
        assert exec_.runs(key) == run


@pytest.mark.parametrize("report, state", [("release", "released"), ("fail", "failed"),
                                           ("unknown", "unknown"), ("complete", "completed"),
                                           ("nonsense", "unknown")])
@pytest.mark.parametrize("code", [0, 7])
def test_the_command_says_by_a_descriptor_how_it_ended(exec_, key, report, state, code):
    script = f"(echo fail; echo {report}) >&$ONCEGUARD_CONTROL_FD; exit {code}"
    assert exec_.shell(key, script).code == code
    assert exec_.state(key) == state


def test_what_can_not_be_started_was_not_run(exec_, key):
    missing = exec_.run(key, "./no-such-command")
    assert missing.code == 127 and b"no-such-command" in missing.err
    (exec_.folder / "no-such-command").write_text("#!/bin/sh\necho now\n")
    assert exec_.run(key, "./no-such-command").code == 126  # it may not be executed
    (exec_.folder / "no-such-command").chmod(0o755)
    assert exec_.run(key, "./no-such-command").triple == (0, b"now\n", b"")


def test_a_store_out_of_reach_means_that_nothing_runs(exec_on, key):
    away = exec_on("redis://127.0.0.1:1/0")
    done = away.shell(key, "true", options=["--store-timeout", "300ms"])
    assert done.code == TRY_LATER and b"nothing was run" in done.err
    assert away.runs() == 0


def test_a_key_of_another_kind_of_work_is_an_error(exec_, key):
    exec_.shell(key, "true")
    exec_.ask("keys", "release", key, "--force")
    exec_.run(key, "sleep", "0", options=["--success", "1"])  # failed: no answer
    assert exec_.ask("keys", "complete", key).returncode == 0
    done = exec_.run(key, "sleep", "0")
    assert done.code == 0 and b"not known" in done.err


def test_what_an_operator_says_is_the_output(exec_, key):
    exec_.shell(key, "kill -9 $$")
    done = exec_.ask("keys", "complete", key, "--status", "200", "--body", "as the log says")
    assert done.returncode == 0, done
    assert exec_.shell(key, "kill -9 $$").triple == (0, b"as the log says", b"")
    assert exec_.runs(key) == 1


# ---- unknown


def test_a_command_that_a_signal_ends_has_an_unknown_outcome(exec_, key):
    killed = exec_.shell(key, "echo begun; kill -SEGV $$")
    assert (killed.code, killed.out) == (128 + 11, b"begun\n")
    held = exec_.shell(key, "echo begun; kill -SEGV $$")
    assert (held.code, held.out) == (UNKNOWN, b"") and key.encode() in held.err
    assert exec_.runs(key) == 1
    assert key in exec_.ask("keys", "list", "--state", "unknown").stdout


def test_rerun_runs_again_what_is_unknown(exec_, key):
    script = "[ -e ok ] || kill -9 $$"
    assert exec_.shell(key, script).code == 137
    (exec_.folder / "ok").touch()
    assert exec_.shell(key, script, options=["--on-unknown", "rerun"]).code == 0
    assert exec_.runs(key) == 2


@pytest.mark.parametrize("answer, code, out, runs", [
    ("echo probed; exit 0", 0, b"probed\n", 1), ("exit 1", 0, b"second\n", 2),
    ("exit 2", UNKNOWN, b"", 1), ("kill -9 $$", UNKNOWN, b"", 1)])
def test_a_probe_finds_out(exec_, key, answer, code, out, runs):
    script = '[ $(wc -l <"$EFFECTS") = 2 ] || kill -9 $$; echo second'
    assert exec_.shell(key, script).code == 137
    probe = f'echo "$ONCEGUARD_IDEMPOTENCY_KEY $ONCEGUARD_TOKEN" >>asked; {answer}'
    done = exec_.shell(key, script, options=["--on-unknown", "probe", "--probe", probe])
    assert (done.code, done.out) == (code, out)
    assert exec_.runs(key) == runs
    asked = (exec_.folder / "asked").read_text().split()
    assert asked[0] == key and int(asked[1]) > 0 and len(asked) == 2


def test_timeout_ends_the_command_and_all_that_it_started(exec_, key):
    """Also what is in a session of its own."""
    begun = f"(exec -a of-{key} sleep 300) & setsid bash -c 'exec -a of-{key} sleep 300' & "
    done = exec_.run(key, "bash", "-c", f"{begun} sleep 300",
                     options=["--timeout", "500ms", "--grace", "20s"])
    assert done.code == 128 + 15 and b"timeout" in done.err
    assert exec_.state(key) == "unknown"
    none_left(f"of-{key}")


def ignore_termination():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(exec_, key):
    """It does so from its beginning, however late that is: `exec` passes on what is ignored."""
    script = f"(exec -a of-{key} sleep 300) & while :; do sleep 0.1; done"
    process = exec_.begin(key, "bash", "-c", script, preexec_fn=ignore_termination,
                          options=["--timeout", "300ms", "--grace", "300ms"])
    assert exec_.end(process).code == 128 + 9
    none_left(f"of-{key}")


# ---- twins


def test_a_twin_comes_later_or_waits(exec_, key):
    script = "while [ ! -e go ]; do sleep 0.05; done; echo done"
    first = exec_.begin_shell(key, script)
    exec_.ran(1, key)
    busy = exec_.shell(key, script)
    assert (busy.code, busy.out) == (TRY_LATER, b"") and b"running" in busy.err
    impatient = exec_.shell(key, script, options=["--wait", "200ms"])
    assert impatient.code == TRY_LATER
    waiting = exec_.begin_shell(key, script, options=["--wait", "1m"])
    pause(0.3)
    assert waiting.poll() is None
    (exec_.folder / "go").touch()
    assert exec_.end(waiting).triple == exec_.end(first).triple == (0, b"done\n", b"")
    assert exec_.runs(key) == 1


def test_one_that_waits_runs_when_the_first_is_released(exec_, key):
    script = "while [ ! -e go ]; do sleep 0.05; done; [ $ONCEGUARD_ATTEMPT = 2 ] || exit 75"
    first = exec_.begin_shell(key, script)
    exec_.ran(1, key)
    waiting = exec_.begin_shell(key, script, options=["--wait", "1m"])
    pause(0.2)
    (exec_.folder / "go").touch()
    assert exec_.end(first).code == 75
    assert exec_.end(waiting).code == 0
    assert exec_.runs(key) == 2


@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_ends_a_wait_and_harms_nobody(exec_, key, number):
    first = exec_.begin_shell(key, "while [ ! -e go ]; do sleep 0.05; done")
    exec_.ran(1, key)
    waiting = exec_.begin_shell(key, "while [ ! -e go ]; do sleep 0.05; done",
                                options=["--wait", "5m"])
    pause(0.3)
    waiting.send_signal(number)
    assert exec_.end(waiting).code == -number
    (exec_.folder / "go").touch()
    assert exec_.end(first).code == 0
    assert exec_.state(key) == "completed"


# ---- time


def test_fresh_after_runs_anew_when_the_success_is_older(exec_, key):
    options = ["--fresh-after", "1s"]
    clock = Stopwatch()
    assert exec_.shell(key, "true", options=options).code == 0
    assert exec_.shell(key, "true", options=options).code == 0
    assert exec_.runs(key) == 1 or clock.seconds > 1
    wait_until(lambda: exec_.shell(key, "true", options=options).code == 0
               and exec_.runs(key) >= 2, what="a fresh run")
    assert clock.seconds >= 1


def test_without_it_a_success_lasts_for_decades(exec_, key):
    exec_.shell(key, "true")
    shown = exec_.ask("keys", "show", key).stdout
    left = re.search(r"^forgotten +in (\d+)ms", shown, re.MULTILINE)
    assert int(left[1]) > 50 * 365 * 86_400_000, shown


def test_every_runs_once_in_a_period_and_says_nothing_otherwise(exec_, key):
    options = ["--every", "2s"]
    clock = Stopwatch()
    assert exec_.shell(key, "echo ran; sleep 1", options=options).triple == (0, b"ran\n", b"")
    again = exec_.shell(key, "echo ran; sleep 1", options=options)
    late = clock.seconds > 1.8
    assert again.triple == (0, b"", b"") or late
    # The period counts from the beginning, not from the end.
    wait_until(lambda: exec_.shell(key, "echo ran; sleep 1", options=options).out == b"ran\n",
               what="the next period")
    assert 1.7 < clock.seconds
    assert exec_.runs(key) == 2 or late


def test_a_period_counts_from_the_beginning_of_the_command(exec_, key):
    assert exec_.shell(key, "sleep 1", options=["--every", "1h"]).code == 0
    shown = exec_.ask("keys", "show", key).stdout
    left = re.search(r"^forgotten +in (\d+)ms", shown, re.MULTILINE)
    assert int(left[1]) <= 0.9 * 3_600_000 - 1_000, shown


def test_every_says_nothing_while_another_machine_runs(exec_, key):
    first = exec_.begin_shell(key, "while [ ! -e go ]; do sleep 0.05; done")
    exec_.ran(1, key)
    assert exec_.shell(key, "while [ ! -e go ]; do sleep 0.05; done",
                       options=["--every", "1h"]).triple == (0, b"", b"")
    (exec_.folder / "go").touch()
    assert exec_.end(first).code == 0


def test_a_run_that_takes_longer_than_the_period_is_followed_by_another(exec_, key):
    options = ["--every", "500ms"]
    for run in (1, 2):
        assert exec_.shell(key, "sleep 0.7", options=options).code == 0
        assert exec_.runs(key) == run


# ---- usage


@pytest.mark.parametrize("options, why", [
    (["--every", "1h", "--fresh-after", "1h"], "--fresh-after"), (["--every", "0s"], "more than 0"),
    (["--success", "0,256"], "0 to 255"), (["--success", ""], "0 to 255"),
    (["--on-unknown", "probe"], "--probe"), (["--probe", "true"], "--on-unknown"),
    (["--on-unknown", "guess"], "guess"), (["--retry", "-1"], "--retry"),
    (["--key", "a"], "--key")])
def test_wrong_usage_is_named_and_runs_nothing(exec_, key, options, why):
    done = exec_.shell(key, "true", options=options)
    assert done.code == 2 and why in done.err.decode(), done
    assert exec_.runs() == 0


def test_a_wrong_key_is_named(exec_):
    for wrong in ("", "x" * 256):
        done = exec_.shell(wrong, "true")
        assert done.code == 2 and b"--key" in done.err
    assert exec_.shell("x" * 255, "true").code == 0


def test_a_store_that_refuses_is_no_success(exec_on, key, tmp_path):
    (tmp_path / "folder").mkdir()
    done = exec_on(f"sqlite:{tmp_path}/folder").shell(key, "true")
    assert done.code in (TRY_LATER, FAILED_ITSELF) and b"folder" in done.err


def test_operators_see_the_program_and_not_its_arguments(exec_, key):
    exec_.run(key, "sh", "-c", "true", "--password=secret")
    shown = exec_.ask("keys", "show", key).stdout
    assert "exec sh\n" in shown and "secret" not in shown


def test_without_environment_and_folder_of_its_own_it_still_runs(exec_, key):
    """As cron has it."""
    environment = {"HOME": "", "PATH": "/usr/bin:/bin"}
    assert exec_.shell(key, "pwd", environment=environment).out.decode() == f"{exec_.folder}\n"
    assert os.path.exists(exec_.folder / "keys.db")
