"""`onceguard exec`: signals, terminals, and what becomes of a command whose `exec` is gone."""

import fcntl
import os
import pty
import signal
import struct
import termios

import pytest

from support.executing import UNKNOWN, none_left, pause, processes_with
from support.waiting import wait_until

# Counts the signals that it gets, and ends when the file `go` is there.
COUNTS = """import os, select, signal, sys
got = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame: got.append(number))
print("ready", flush=True)
while not os.path.exists("go"):
    select.select([], [], [], 0.02)
print(*got, flush=True)
"""


def begin_counter(exec_, key, *names, **how):
    return exec_.begin(key, "python3", "-c", COUNTS, *names, **how)


# ---- signals


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2",
                                  "SIGWINCH"])
def test_a_signal_is_passed_on_once(exec_, key, name):
    process = begin_counter(exec_, key, name)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(getattr(signal, name))
    pause(0.3)
    (exec_.folder / "go").touch()
    done = exec_.end(process)
    assert (done.code, done.out) == (0, f"{int(getattr(signal, name))}\n".encode())
    assert exec_.state(key) == "completed"


def test_a_command_that_a_signal_of_the_caller_ends_is_unknown(exec_, key):
    process = exec_.begin_shell(key, "echo begun; sleep 300")
    assert process.stdout.readline() == b"begun\n"
    process.terminate()
    assert exec_.end(process).code == 128 + 15
    assert exec_.state(key) == "unknown"


def test_ignored_signals_stay_ignored(exec_, key):
    """As nohup has it."""
    process = begin_counter(exec_, key, preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                                        signal.SIG_IGN))
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGHUP)
    pause(0.2)
    (exec_.folder / "go").touch()
    assert exec_.end(process).code == 0


def test_the_command_has_the_usual_signals(exec_, key):
    """None is blocked or ignored, but SIGCHLD and the like."""
    done = exec_.run(key, "sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status")
    masks = dict(line.split(":\t") for line in done.out.decode().splitlines())
    assert int(masks["SigBlk"], 16) == 0, masks
    assert int(masks["SigIgn"], 16) == 0, masks


# ---- the end of exec, and of leases


@pytest.mark.parametrize("tree", ["(exec -a of-KEY sleep 300)", "(exec -a of-KEY sleep 300) & wait",
                                  "setsid bash -c 'exec -a of-KEY sleep 300' & wait",
                                  "(setsid bash -c '(exec -a of-KEY sleep 300) & sleep 0.1' &); "
                                  "sleep 300", "trap '' TERM; (exec -a of-KEY sleep 300) & wait"])
def test_nothing_of_a_killed_exec_runs_on(exec_, key, tree):
    process = exec_.begin(key, "bash", "-c", tree.replace("KEY", key),
                          options=["--lease", "1s"])
    wait_until(lambda: processes_with(f"of-{key}"), what="the sleeper")
    process.kill()
    process.communicate()
    exec_.running.remove(process)
    none_left(f"of-{key}")
    wait_until(lambda: exec_.state(key) == "unknown", what="the end of the lease")
    assert key in exec_.ask("keys", "list", "--state", "unknown").stdout
    assert exec_.run(key, "bash", "-c", tree.replace("KEY", key)).code == UNKNOWN


def test_what_a_command_leaves_behind_runs_on(exec_, key):
    """As `service start` has it; exec does not wait for it for ever."""
    done = exec_.shell(key, "(exec >/dev/null 2>&1; while [ ! -e go ]; do sleep 0.05; done; "
                            "echo left >>after) & echo started")
    assert done.triple == (0, b"started\n", b"")
    (exec_.folder / "go").touch()
    wait_until(lambda: (exec_.folder / "after").exists(), what="what was left behind")


def test_output_held_open_by_a_daemon_holds_up_nothing(exec_, key):
    done = exec_.shell(key, f"bash -c 'exec -a of-{key} sleep 300' & echo started")
    assert done.triple == (0, b"started\n", b"")
    assert exec_.shell(key, f"bash -c 'exec -a of-{key} sleep 300' & echo started").code == 0
    for process in processes_with(f"of-{key}"):
        os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("run_on", [False, True])
def test_a_lost_lease_ends_the_command(exec_, key, run_on):
    """The operator frees the key of a command that runs."""
    options = ["--lease", "1s", "--grace", "5s"] + (["--run-on"] if run_on else [])
    script = "trap 'echo ended; exit 1' TERM; while [ ! -e go ]; do sleep 0.05; done; echo whole"
    process = exec_.begin_shell(key, script, options=options)
    exec_.ran(1, key)
    assert exec_.ask("keys", "release", key, "--force").returncode == 0
    other = exec_.begin_shell(key, script)
    exec_.ran(2, key)
    if run_on:
        pause(1.5)
        assert process.poll() is None
        (exec_.folder / "go").touch()
    done = exec_.end(process)
    (exec_.folder / "go").touch()
    assert exec_.end(other).triple == (0, b"whole\n", b"")
    # Its own exit code would say what nobody counts.
    assert done.out.startswith(b"whole\n" if run_on else b"ended\n"), done
    assert exec_.run(key, *["sh", "-c", f'echo "{key}" >>"$EFFECTS"\n{script}']).out == b"whole\n"


def test_a_frozen_exec_finds_its_lease_lost(exec_, key):
    process = exec_.begin_shell(key, "while [ ! -e go ]; do sleep 0.05; done",
                                options=["--lease", "1s", "--grace", "1s"])
    exec_.ran(1, key)
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: exec_.state(key) == "unknown", what="the end of the lease")
    process.send_signal(signal.SIGCONT)
    done = exec_.end(process)
    assert done.code == 128 + 15 and b"unknown" in done.err


# ---- terminals


class Terminal:
    """`onceguard exec` as the foreground process of a terminal."""

    def __init__(self, words, environment, folder, rows=24, columns=80):
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(words[0], words, environment)
        self.resize(rows, columns)
        self.text = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        try:
            got = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += got
        return bool(got)

    def until(self, text):
        while text not in self.text:
            assert self.read(), self.text

    def type(self, text):
        os.write(self.master, text)

    def end(self):
        while self.read():
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture
def terminal(exec_):
    return lambda key, *command, **how: Terminal(exec_.words(key, *command, **how),
                                                 exec_.environment(), exec_.folder)


def test_a_terminal_stays_one(exec_, terminal, key):
    script = ("for i in 0 1 2; do [ -t $i ] && echo tty$i; done; stty size; read -r line; "
              "echo \"got $line\"; tty >/dev/tty")
    shown = terminal(key, "sh", "-c", script)
    shown.resize(33, 101)
    shown.until(b"tty2\r\n")
    shown.type(b"typed\n")
    assert shown.end() == 0
    for text in (b"tty0\r\n", b"tty1\r\n", b"tty2\r\n", b"got typed\r\n"):
        assert text in shown.text, shown.text
    # A repeat that has none gets the same bytes.
    again = exec_.run(key, "sh", "-c", script)
    assert b"tty0\ntty1\ntty2\n" in again.out and b"got typed\n" in again.out


def test_the_command_knows_the_size_of_the_terminal(exec_, terminal, key):
    script = ("import os, select, signal\n"
              "def show(*_): print(*os.get_terminal_size(1), flush=True)\n"
              "signal.signal(signal.SIGWINCH, show)\n"
              "print('ready', flush=True)\n"
              "while not os.path.exists('go'): select.select([], [], [], 0.02)\n"
              "print(*os.get_terminal_size(1))")
    shown = terminal(key, "python3", "-c", script)
    shown.until(b"ready")
    shown.resize(40, 123)
    shown.until(b"123 40")
    (exec_.folder / "go").touch()
    assert shown.end() == 0


def test_control_c_reaches_the_command_once(exec_, terminal, key):
    shown = terminal(key, "python3", "-c", COUNTS, "SIGINT")
    shown.until(b"ready")
    shown.type(b"\x03")
    pause(0.3)
    (exec_.folder / "go").touch()
    assert shown.end() == 0
    assert shown.text.replace(b"^C", b"").endswith(b"ready\r\n2\r\n"), shown.text


def test_a_command_that_control_c_ends_is_unknown(exec_, terminal, key):
    shown = terminal(key, "sh", "-c", "echo ready; exec sleep 300")
    shown.until(b"ready")
    shown.type(b"\x03")
    # Where the command ends before `exec` reads its own signal, `exec` ends by the signal: to a
    # shell both are 130.
    assert shown.end() in (128 + 2, -signal.SIGINT)
    assert exec_.state(key) == "unknown"
