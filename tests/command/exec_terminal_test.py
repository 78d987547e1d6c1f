"""`onceguard exec` on a terminal: its command has its own, and job control works. The programs
are those that people use: less, more, git, vim, tmux, bash."""

import os
import shlex
import signal
import subprocess
import termios

import pytest

from support.executing import COUNTS
from support.terminal import Terminal
from support.waiting import wait_until

LINES = "".join(f"line {i}\n" for i in range(1, 201))


@pytest.fixture
def environment(exec_):
    return {**exec_.environment(), "TERM": "xterm", "HOME": str(exec_.folder), "LANG": "C.UTF-8",
            "PS1": "$ ", "LESSHISTFILE": "-", "GIT_PAGER": "less", "LESS": "", "PAGER": "less"}


@pytest.fixture
def terminal(exec_, environment):
    """`exec` as the foreground process of a terminal."""
    return lambda key, *command, **how: Terminal(exec_.words(key, *command, **how), environment,
                                                 exec_.folder)


@pytest.fixture
def shell(exec_, environment):
    """An interactive bash with job control, which `exec` is typed into."""
    def begin():
        made = Terminal(["bash", "--norc", "--noediting", "-i"], environment, exec_.folder)
        made.until(b"$ ")
        return made
    return begin


def line(exec_, key, *command, behind=""):
    return (shlex.join(exec_.words(key, *command)) + behind + "\n").encode()


# ---- what is shown and typed


def test_a_terminal_stays_one(exec_, terminal, key):
    script = ("for i in 0 1 2; do [ -t $i ] && echo tty$i; done; stty size; read -r line; "
              "echo \"got $line\"; tty >/dev/tty")
    shown = terminal(key, "sh", "-c", script)
    text = shown.until(b"24 80\r\n")
    shown.type(b"typed\n")
    for each in (b"tty0\r\n", b"tty1\r\n", b"tty2\r\n"):
        assert each in text, text
    shown.until(b"got typed\r\n")
    assert shown.end() == 0
    # A repeat that has none gets the same bytes.
    again = exec_.run(key, "sh", "-c", script)
    assert b"tty0\ntty1\ntty2\n24 80\n" in again.out and b"got typed\n" in again.out


def test_the_command_knows_the_size_of_the_terminal(exec_, terminal, key):
    script = ("import os, select, signal\n"
              "def show(*_): print(*os.get_terminal_size(1), flush=True)\n"
              "signal.signal(signal.SIGWINCH, show)\n"
              "print('ready', flush=True)\n"
              "while not os.path.exists('go'): select.select([], [], [], 0.02)\n")
    shown = terminal(key, "python3", "-c", script)
    shown.until(b"ready")
    shown.resize(40, 123)
    shown.until(b"123 40")
    (exec_.folder / "go").touch()
    assert shown.end() == 0


def test_the_terminal_has_its_settings_again(exec_, shell, key):
    inside = shell()
    before = inside.settings()
    inside.type(line(exec_, key, "sh", "-c", "stty raw -echo; exit 3", behind="; echo code $?"))
    inside.until(b"code 3")
    wait_until(lambda: inside.settings() == before, what="the settings of before")
    inside.type(b"exit\n")
    assert inside.end() == 0


def test_a_killed_exec_leaves_a_usable_terminal(exec_, terminal, key):
    shown = terminal(key, "sh", "-c", "echo ready; exec sleep 300")
    before = shown.settings()
    shown.until(b"ready")
    wait_until(lambda: shown.settings() != before, what="its keys")
    os.kill(shown.process, signal.SIGKILL)
    wait_until(lambda: shown.settings() == before, what="the settings of before")
    assert shown.end() == -signal.SIGKILL


def test_a_question_on_the_terminal_is_asked_though_the_output_goes_elsewhere(exec_, shell, key):
    inside = shell()
    script = "printf 'sure? ' >/dev/tty; read -r x </dev/tty; echo \"said $x\""
    inside.type(line(exec_, key, "sh", "-c", script, behind=" >out; echo code $?"))
    inside.until(b"\nsure? ")
    inside.type(b"yes\n")
    inside.until(b"code 0")
    assert (exec_.folder / "out").read_text() == "said yes\n"
    inside.type(b"exit\n")
    assert inside.end() == 0


# ---- programs that nobody here wrote


@pytest.mark.parametrize("pager", ["less", "more"])
def test_a_pager_takes_its_keys(exec_, terminal, key, pager):
    (exec_.folder / "text").write_text(LINES)
    shown = terminal(key, pager, "text")
    shown.until(b"line 20")
    shown.type(b" ")
    shown.until(b"line 40")
    shown.type(b"q")
    assert shown.end() == 0
    assert exec_.state(key) == "completed"


def page_through(inside):
    """Reads two pages in `less`, and leaves the pager and the shell."""
    inside.until(b"line 20")
    inside.type(b" ")
    inside.until(b"line 40")
    inside.type(b"q")
    inside.until(b"code 0")
    inside.type(b"exit\n")
    assert inside.end() == 0


def test_a_pager_takes_its_keys_though_its_text_comes_from_a_pipe(exec_, shell, key):
    (exec_.folder / "text").write_text(LINES)
    inside = shell()
    inside.type(b"cat text | " + line(exec_, key, "less", behind="; echo code $?"))
    page_through(inside)


def test_a_pager_behind_exec_has_the_keys(exec_, shell, key):
    """`onceguard exec … | less`: the terminal is another program's."""
    (exec_.folder / "text").write_text(LINES)
    inside = shell()
    inside.type(line(exec_, key, "cat", "text", behind=" | less; echo code $?"))
    page_through(inside)


def test_git_log_with_its_pager(exec_, terminal, environment, key):
    subprocess.run("git init -q . && for i in $(seq 40); do git -c user.name=x -c user.email=x@y "
                   "commit -q --allow-empty -m \"commit number $i\"; done", shell=True,
                   cwd=exec_.folder, env=environment, check=True)
    shown = terminal(key, "git", "log", "--format=%s", "--reverse")
    shown.until(b"commit number 20")
    shown.type(b" ")
    shown.until(b"commit number 40")
    shown.type(b"q")
    assert shown.end() == 0


def test_vim_edits_a_file(exec_, terminal, key):
    (exec_.folder / "text").write_text("old\n")
    shown = terminal(key, "vim", "-u", "NONE", "-N", "text")
    shown.until(b"old")
    shown.type(b"inew and \x1b")
    shown.until(b"new and")
    shown.type(b":wq\r")
    assert shown.end() == 0
    assert (exec_.folder / "text").read_text() == "new and old\n"


def test_vim_is_stopped_and_goes_on(exec_, shell, key):
    """Ctrl-Z and `fg`, with bash: `exec` stops with its command, and the shell has its terminal."""
    (exec_.folder / "text").write_text("old\n")
    inside = shell()
    inside.type(line(exec_, key, "vim", "-u", "NONE", "-N", "text", behind="; echo code $?"))
    inside.until(b"old")
    inside.type(b"inew and \x1b")
    inside.until(b"new and")
    inside.type(b"\x1a")
    inside.until(b"Stopped")
    inside.type(b"echo in$((1 + 1))between\n")
    inside.until(b"in2between")
    inside.type(b"fg\n")
    inside.until(b"old")
    inside.type(b":wq\r")
    inside.until(b"$ ")
    wait_until(lambda: exec_.state(key) == "completed", what="the end of vim")
    inside.type(b"exit\n")
    assert inside.end() == 0
    assert (exec_.folder / "text").read_text() == "new and old\n"


def test_exec_in_tmux(exec_, environment, key):
    """A real tmux: what is shown is what its window has; the window is made smaller meanwhile."""
    (exec_.folder / "text").write_text(LINES)

    def tmux(*words):
        return subprocess.run(["tmux", "-S", str(exec_.folder / "tmux"), "-f", "/dev/null", *words],
                              env=environment, cwd=exec_.folder, capture_output=True, text=True,
                              timeout=60, check=True).stdout

    def shows(text):
        wait_until(lambda: text in tmux("capture-pane", "-p", "-t", "w"), what=text)

    tmux("new-session", "-d", "-s", "w", "-x", "80", "-y", "20", "sh")
    try:
        tmux("send-keys", "-t", "w", line(exec_, key, "less", "text").decode().strip(), "Enter")
        shows("line 15")
        tmux("resize-window", "-t", "w", "-x", "60", "-y", "10")
        shows("line 9\n:")  # less drops what is typed while it learns of the size
        tmux("send-keys", "-t", "w", "G")
        shows("line 200")
        tmux("send-keys", "-t", "w", "q")
        wait_until(lambda: exec_.state(key) == "completed", what="the end of less")
        tmux("send-keys", "-t", "w", "echo b$((1))ack", "Enter")
        shows("b1ack")
    finally:
        tmux("kill-server")


# ---- signals and jobs


def test_control_c_reaches_the_command_once(exec_, terminal, key):
    """Terraform counts them: "Two interrupts received. Exiting immediately"."""
    shown = terminal(key, "python3", "-c", COUNTS, "SIGINT", "SIGUSR2")
    shown.until(b"ready")
    shown.type(b"\x03")
    wait_until(exec_.signals, what="the signal")
    os.kill(shown.process, signal.SIGUSR2)
    wait_until(lambda: signal.SIGUSR2 in exec_.signals(), what="the signal behind it")
    (exec_.folder / "go").touch()
    assert shown.end() == 0
    assert exec_.signals() == [signal.SIGINT, signal.SIGUSR2]


def test_control_c_in_a_pipeline_reaches_the_command_once(exec_, shell, key):
    inside = shell()
    inside.type(line(exec_, key, "python3", "-c", COUNTS, "SIGINT", behind=" | (trap '' INT; cat)"))
    inside.until(b"ready\r\n")
    inside.type(b"\x03")
    wait_until(exec_.signals, what="the signal")
    (exec_.folder / "go").touch()
    wait_until(lambda: exec_.state(key) == "completed", what="the end")
    assert exec_.signals() == [signal.SIGINT]
    inside.type(b"exit\n")
    inside.end()


def test_a_command_that_control_c_ends_is_unknown(exec_, terminal, key):
    shown = terminal(key, "sh", "-c", "echo ready; exec sleep 300")
    shown.until(b"ready")
    shown.type(b"\x03")
    assert shown.end() == -signal.SIGINT  # 130 to a shell, which then ends a script
    assert exec_.state(key) == "unknown"


def test_control_c_ends_the_script_around_it_as_well(exec_, shell, key):
    (exec_.folder / "script").write_text("echo begun\n" +
                                        line(exec_, key, "sleep", "300").decode() +
                                         "touch went-on\n")
    inside = shell()
    inside.type(b"bash script; echo code $?\n")
    inside.until(b"\nbegun")
    wait_until(lambda: exec_.state(key) == "in_progress", what="the command")
    inside.type(b"\x03")
    inside.until(b"$ ")
    assert not (exec_.folder / "went-on").exists()
    inside.type(b"exit\n")
    inside.end()


def test_one_in_the_background_stops_when_it_asks_for_keys(exec_, shell, key):
    inside = shell()
    inside.type(line(exec_, key, "sh", "-c", "read -r x; echo \"got $x\"", behind=" &"))
    # The shell tells of it before a prompt.
    wait_until(lambda: inside.type(b"\n") or b"Stopped" in inside.until(b"$ "), what="its stop")
    inside.type(b"fg\n")
    inside.type(b"typed\n")
    inside.until(b"got typed")
    wait_until(lambda: exec_.state(key) == "completed", what="the end")
    inside.type(b"exit\n")
    assert inside.end() == 0


def test_one_that_goes_to_the_foreground_has_the_settings_of_the_shell(exec_, environment, key):
    """While it reads a line, bash has the terminal without echo and lines."""
    inside = Terminal(["bash", "--norc", "-i"], environment, exec_.folder)
    inside.until(b"$ ")
    script = "touch begun; until [ -e go ]; do sleep 0.02; done; exec cat"
    inside.type(line(exec_, key, "sh", "-c", script, behind=" &"))
    wait_until(lambda: (exec_.folder / "begun").exists() and
               not inside.settings()[3] & termios.ICANON, what="the line editor")
    (exec_.folder / "go").touch()
    wait_until(lambda: inside.type(b"\n") or b"Stopped" in inside.until(b"$ "), what="its stop")
    inside.type(b"fg\n")
    inside.until(b"-- sh")
    wait_until(lambda: exec_.state(key) == "in_progress", what="the command")
    inside.type(b"typed\n")
    inside.until(b"typed\r\n")  # the echo
    inside.until(b"typed\r\n")  # the copy
    inside.type(b"\x04")
    wait_until(lambda: exec_.state(key) == "completed", what="the end")
    inside.type(b"exit\n")
    assert inside.end() == 0


def test_a_terminal_that_goes_away_is_the_end_of_input(exec_, environment, key):
    script = "echo ready; cat; cat; echo \"end\" >ended"
    words = shlex.join(exec_.words(key, "sh", "-c", script))
    inside = Terminal(["sh", "-c", f"trap '' HUP; exec {words}"], environment, exec_.folder)
    inside.until(b"ready")
    inside.type(b"begun")
    inside.until(b"begun")
    os.close(inside.master)
    wait_until(lambda: (exec_.folder / "ended").exists(), what="the end of the input")
    os.waitpid(inside.process, 0)
    assert exec_.state(key) == "completed"
