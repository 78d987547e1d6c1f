"""Completions, as bash, zsh and fish get them."""

import shlex
import subprocess

import pytest

from support.gateway import clean_environment


@pytest.fixture
def words(onceguard):
    """The words that the last one of a command line may become, without what is said of them."""
    def of(*given):
        done = subprocess.run([onceguard, "completions", "--", *given], capture_output=True,
                              text=True, timeout=60, check=False, env=clean_environment())
        assert (done.returncode, done.stderr) == (0, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]
    return of


def test_names_commands_options_and_values(words):
    assert words("ga") == ["gateway"]
    assert "exec" in words("")
    assert words("keys", "re") == ["release"]
    assert words("gateway", "--store-t") == ["--store-timeout"]
    # A row of the table of options, and an option of the command line alone.
    assert words("gateway", "--on-busy", "") == ["reject", "wait"]
    assert words("exec", "--on-unknown", "re") == ["rerun"]
    assert words("completions", "") == ["bash", "zsh", "fish"]


def test_a_value_is_no_command_and_behind_it_options_go_on(words):
    assert words("gateway", "--listen", "keys", "--upstream-t") == ["--upstream-timeout"]
    assert words("gateway", "--listen", "") == []


def test_the_value_may_stand_behind_an_equals_sign(words):
    assert words("gateway", "--on-busy=w") == ["--on-busy=wait"]
    assert words("gateway", "--on-busy", "=", "w") == ["wait"]  # as bash cuts it
    assert words("gateway", "--on-busy", "=") == ["reject", "wait"]


def test_files_are_left_to_the_shell(words):
    assert words("gateway", "--config", "") == [":file"]
    assert words("exec", "--output-dir", "") == [":directory"]
    assert words("exec", "--key", "k", "--", "rsy") == [":file"]


def test_a_shell_is_named(onceguard):
    for given, said in ((["completions"], "name a shell"), (["completions", "csh"], "csh")):
        done = subprocess.run([onceguard, *given], capture_output=True, text=True, timeout=60,
                              check=False, env=clean_environment())
        assert done.returncode == 2
        assert said in done.stderr


def in_shell(onceguard, *shell):
    """What a shell prints in which `onceguard` is the program under test."""
    path = f"{onceguard.parent}:{clean_environment()['PATH']}"
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False,
                          env={**clean_environment(), "PATH": path})
    assert done.stderr == ""
    return done.stdout.splitlines()


def bash(onceguard, *words):
    line = shlex.join(words)
    return in_shell(onceguard, "bash", "--norc", "-c", f"""
        source <(onceguard completions bash)
        complete -p onceguard >/dev/null
        compopt() {{ echo "compopt $*"; }}
        COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}
        _onceguard onceguard
        printf '%s\\n' "${{COMPREPLY[@]}}" """)


def zsh(onceguard, *words):
    return in_shell(onceguard, "zsh", "-f", "-c", f"""
        compdef() {{ registered="$*"; }}
        source <(onceguard completions zsh)
        [[ "$registered" == "_onceguard onceguard" ]] || exit 1
        _describe() {{ print -l -- "${{(@P)2}}"; }}
        _files() {{ print -- "files $*"; }}
        words=({shlex.join(words)}); CURRENT={len(words)}
        _onceguard""")


def fish(onceguard, line):
    return in_shell(onceguard, "fish", "--no-config", "-c",
                    f"onceguard completions fish | source; complete -C {shlex.quote(line)}")


def test_bash_completes(onceguard):
    assert bash(onceguard, "onceguard", "keys", "re") == ["release"]
    assert bash(onceguard, "onceguard", "gateway", "--on-busy", "=", "w") == ["wait"]
    assert bash(onceguard, "onceguard", "check", "--config", "") == ["compopt -o default", ""]


def test_zsh_completes(onceguard):
    [found] = zsh(onceguard, "onceguard", "keys", "rel")
    assert found.startswith("release:It did not happen")
    assert zsh(onceguard, "onceguard", "gateway", "--on-busy=w") == ["--on-busy=wait"]
    assert zsh(onceguard, "onceguard", "check", "--config", "") == ["files "]


def test_fish_completes(onceguard, tmp_path):
    [found] = fish(onceguard, "onceguard keys rel")
    assert found.startswith("release\tIt did not happen")
    assert fish(onceguard, "onceguard gateway --on-busy=w") == ["--on-busy=wait"]
    (tmp_path / "guard.toml").touch()
    assert fish(onceguard, f"onceguard check --config {tmp_path}/gu") == [f"{tmp_path}/guard.toml"]
