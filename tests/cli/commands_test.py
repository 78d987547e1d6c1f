"""The program's face: versions, help, exit codes and what is said about a wrong configuration."""

import json
import os
import re
import sqlite3
import subprocess

import pytest

COMMANDS = [["gateway"], ["demo"], ["check"], ["explain"], ["keys"], ["keys", "list"],
            ["keys", "show"], ["keys", "release"], ["keys", "complete"], ["stats"], ["sweep"],
            ["migrate"], ["backup"], ["restore"]]
# With nothing else in the environment but which bug is planted.
PLANTED = {name: os.environ[name] for name in ("PLANTED_BUG",) if name in os.environ}
UPSTREAM = ["--upstream", "http://127.0.0.1:9"]


def run(onceguard, *arguments, **environment):
    return subprocess.run([str(onceguard), *arguments], capture_output=True, text=True,
                          timeout=60, check=False, env=PLANTED | environment)


def test_the_version(onceguard):
    done = run(onceguard, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("onceguard 0.")
    assert f"(SQLite {sqlite3.sqlite_version})" in done.stdout


@pytest.mark.parametrize("command", [[]] + COMMANDS, ids=" ".join)
def test_help_has_an_example(onceguard, command):
    done = run(onceguard, *command, "--help")
    assert done.returncode == 0
    assert f"Example:\n  onceguard {' '.join(command)}".rstrip() in done.stdout


@pytest.mark.parametrize("arguments", [
    [], ["nonsense"], ["keys"], ["keys", "show"], ["stats", "--nonsense"], ["explain", "POST"],
    ["explain", "P T", "/"], ["explain", "POST", "ftp://a"], ["keys", "list", "--state", "lost"],
    ["keys", "show", "k", "--scope", "xyz"], ["keys", "complete", "k", "--status", "99"],
    ["keys", "complete", "k", "--header", "nonsense"],
    ["keys", "complete", "k", "--header", "Content-Length: 3"],
    ["gateway", "--lease", "1s", "--lease", "2s"],
], ids=" ".join)
def test_wrong_usage(onceguard, arguments):
    done = run(onceguard, *arguments)
    assert done.returncode == 2
    assert done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["gateway", "check"])
def test_every_fault_of_a_file_is_reported_with_its_position(onceguard, tmp_path, command):
    file = tmp_path / "onceguard.toml"
    file.write_text('[gateway]\nlistn = "127.0.0.1:0"\nthreads = -1\n\n'
                    '[defaults]\nscope = "jwt:sub"\n')
    done = run(onceguard, command, "--config", str(file), *UPSTREAM)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert lines[0] == (f'{file}:2:1: [gateway] unknown option "listn"; did you mean "listen"?')
    assert lines[1].startswith(f"{file}:3:11: [gateway] threads: expected a whole number")
    assert lines[2].startswith(f"{file}:6:9: [defaults] scope: \"jwt:sub\" needs keys_file of ")


@pytest.mark.parametrize("arguments, said", [
    (["--accelerator", "redis://r"], "--accelerator: [store] accelerator: needs \"postgresql:"),
    (["--accelerator", "memory:"], "--accelerator: accelerator: expected \"redis://HOST\""),
    (["--store", "postgresql:u:secret@h/d"], "--store: url: expected \"postgresql://HOST"),
    (["--store", "redis+sentinel://u:secret@h"],
     "--store: url: redis store: the name of the master is missing"),
    (["--store", "mysql://r/t"], "--store: url: expected \"sqlite:PATH\", "),
    (["--effect", "transactional"], "needs \"postgresql://HOST/DATABASE\""),
    (["--scope", "jwt:sub"], "--scope: [defaults] scope: \"jwt:sub\" needs keys_file of [jwt]"),
    (["--lease", "soon"], "--lease: lease: expected a duration"),
    (["--methods", "GET"], "--methods: methods: GET can't be guarded"),
])
def test_what_is_not_in_this_version_or_wrong_is_refused(onceguard, arguments, said):
    done = run(onceguard, "gateway", *UPSTREAM, *arguments)
    assert done.returncode == 3
    assert said in done.stderr
    assert "secret" not in done.stderr


def test_a_gateway_needs_an_upstream(onceguard):
    done = run(onceguard, "gateway")
    assert done.returncode == 3
    assert "no upstream: give one with --upstream URL" in done.stderr


@pytest.mark.parametrize("given, said", [
    (["--upstream", "ftp://x"], '--upstream: upstream: expected a URL such as '),
    ([], "is written as the table [[upstream]]")])
def test_an_upstream_that_can_not_be_read_is_none_that_is_missing(onceguard, tmp_path, given, said):
    file = tmp_path / "onceguard.toml"
    file.write_text("" if given else '[upstream]\nname = "a"\nurl = "http://127.0.0.1:9"\n')
    done = run(onceguard, "gateway", "--config", str(file), "--store", "memory:", *given)
    [line] = done.stderr.splitlines()
    assert done.returncode == 3 and said in line


@pytest.mark.parametrize("command", ["backup", "restore", "keys export", "keys import"])
def test_a_file_that_is_a_word_of_its_own_is_shown_as_such(onceguard, command):
    shown = run(onceguard, *command.split(), "--help").stdout
    assert re.search(r"^Usage: onceguard .* FILE$", shown, re.MULTILINE)
    assert re.search(r"^  FILE REQUIRED +[A-Z]", shown, re.MULTILINE)


@pytest.mark.parametrize("words", [
    ["gateway", "--store", "memory:"], ["gateway", "--store-file", "/secret"],
    ["stats", "--store-timeout", "1s"], ["exec", "--every", "1d"], ["keys", "list", "--limit", "1"],
    ["report", "--admin", "127.0.0.1:9"], ["exec", "--key", "a"]], ids=" ".join)
def test_a_single_value_that_is_given_twice_is_refused(onceguard, words):
    done = run(onceguard, *words, *words[-2:])
    assert (done.returncode, done.stdout) == (2, "")
    assert words[-2] in done.stderr


def test_a_list_that_is_given_twice_adds_up(onceguard):
    twice, once, first_alone, last_alone = (
        run(onceguard, "explain", method, "/x", *UPSTREAM, *given).stdout
        for method, given in (("PATCH", ["--methods", "PUT", "--methods", "PATCH"]),
                              ("PATCH", ["--methods", "PUT,PATCH"]),
                              ("PATCH", ["--methods", "PUT"]), ("PUT", ["--methods", "PATCH"])))
    assert twice == once != ""
    assert twice not in (first_alone, last_alone)
    assert run(onceguard, "explain", "PUT", "/x", *UPSTREAM, "--methods", "PUT", "--methods",
               "PATCH").stdout != last_alone


def test_check_takes_a_file_of_messages_alone(onceguard, tmp_path):
    (tmp_path / "consume.toml").write_text("""
[[consume]]
subscriber = "billing"
from = "nats://127.0.0.1/orders/billing"
dead_letter = "drop"
to = "http://127.0.0.1:9000/events"
""")
    for command, code in (("check", 0), ("gateway", 3)):
        done = subprocess.run([onceguard, command, "--config", "consume.toml"], cwd=tmp_path,
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done


def test_check_gives_hints(onceguard, tmp_path):
    file = tmp_path / "onceguard.toml"
    file.write_text('[defaults]\nunknown_retention = "30d"\n')
    done = run(onceguard, "check", "--config", str(file), *UPSTREAM)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "a refreshed access token is another credential" in done.stdout
    assert f"{file}:2:21: warning: [defaults] unknown_retention: a rule to run again" in done.stdout
    assert f"{file}: ok\nonceguard doctor examines " in done.stdout


def test_the_environment_is_read(onceguard, tmp_path):
    file = tmp_path / "onceguard.toml"
    file.write_text('[defaults]\nlease = "bad"\n')
    done = run(onceguard, "check", ONCEGUARD_CONFIG=str(file), ONCEGUARD_UPSTREAM="http://a")
    assert done.returncode == 3 and done.stderr.startswith(f"{file}:2:9: [defaults] lease: ")
    done = run(onceguard, "check", *UPSTREAM, ONCEGUARD_LEASE="x")
    assert done.returncode == 3
    assert done.stderr.startswith("ONCEGUARD_LEASE: lease: expected a duration")
    done = run(onceguard, "check", ONCEGUARD_LEASE="9s", ONCEGUARD_UPSTREAM="http://a")
    assert done.returncode == 0


def test_the_events_are_those_of_the_documentation(onceguard, request):
    done = run(onceguard, "check", "--events")
    page = (request.config.rootpath.parent / "docs/events.md").read_text()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == page, "run: onceguard check --events > docs/events.md"


def test_the_reference_is_the_one_in_the_documentation(onceguard, request):
    done = run(onceguard, "check", "--reference")
    page = (request.config.rootpath.parent / "docs/reference.md").read_text()
    assert done.returncode == 0
    assert done.stdout == page


def test_store_commands_say_when_there_is_no_store(onceguard, tmp_path):
    missing = tmp_path / "missing.db"
    for command in (["stats"], ["sweep"], ["keys", "list"], ["keys", "show", "k"]):
        done = run(onceguard, *command, "--store", f"sqlite:{missing}")
        assert done.returncode == 4
        assert "there is no such file" in done.stderr
        assert not missing.exists()
    done = run(onceguard, "stats", "--store", "memory:")
    assert done.returncode == 4


def test_a_file_that_is_no_store_is_refused(onceguard, tmp_path):
    wrong = tmp_path / "wrong.db"
    wrong.write_text("this is no database at all, whatever its name may say\n" * 100)
    before = wrong.read_bytes()
    done = run(onceguard, "stats", "--store", f"sqlite:{wrong}")
    assert done.returncode == 4
    assert done.stderr
    assert wrong.read_bytes() == before
    assert not wrong.with_name("wrong.db-shm").exists()
    done = run(onceguard, "gateway", "--listen", "127.0.0.1:0", *UPSTREAM, "--store",
               f"sqlite:{wrong}")
    assert done.returncode == 3
    assert json.loads(done.stderr.splitlines()[-1])["event"] == "store-not-opened"
