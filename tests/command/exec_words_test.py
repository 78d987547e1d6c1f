"""The words of a command arrive as they were given, and what is not behind -- is never taken for
the command or for options of ours."""

import json
import subprocess
import sys

import pytest

from support.gateway import clean_environment

WORDS = ['["pay",100]', "[]", "[a,b]", "[", "]", "[[x],[y]]", "{}", "{a}", "", " ", "++", "--", "-",
         "-x", "--key", "--key=other", "--help", "list", "exec", "%%", "a,b", "'", '"', "\\", "*",
         "$HOME", "/x:y", "=", "line\nline", "\u00e9"]
SHOW = [sys.executable, "-c", "import json, sys; json.dump(sys.argv[1:], sys.stdout)"]


@pytest.mark.parametrize("word", WORDS)
def test_each_word_arrives_as_it_is(exec_, key, word):
    for number, words in enumerate(([word], ["a", word, "b"], [word, word])):
        done = exec_.run(f"{key}-{number}", *SHOW, *words)
        assert done.code == 0 and json.loads(done.out) == words, done


def test_words_that_differ_in_a_list_only_are_other_commands(exec_, key):
    assert exec_.run(key, "echo", "[a,b]").out == b"[a,b]\n"
    assert exec_.run(key, "echo", "a", "b").code == 120


@pytest.mark.parametrize("option", ["--key", "--scope", "--fingerprint"])
@pytest.mark.parametrize("text", ["[a,b]", "[]", "{}", "++"])
def test_an_option_takes_a_text_as_it_is(exec_, key, option, text):
    options = [] if option == "--key" else [f"{option}={text}"]
    named = text if option == "--key" else key
    assert exec_.run(named, "printenv", "ONCEGUARD_IDEMPOTENCY_KEY", options=options).out == (
        named.encode() + b"\n")
    [record] = map(json.loads, exec_.ask("keys", "list", "--json").stdout.splitlines())
    assert record["key"] == named


@pytest.mark.parametrize("text", ["[0,1]", "[]"])
def test_a_list_is_written_with_commas_alone(exec_, key, text):
    done = exec_.run(key, "true", options=["--success", text])
    assert done.code == 2 and b"--success" in done.err


@pytest.mark.parametrize("words", [
    ["rsync", "--timeout", "5"], ["rsync", "--timeout=1m"], ["tar", "-x"], ["true"], ["[true]"],
    ["sh", "--", "-c", "true"], ["list", "--verbose"]], ids=" ".join)
def test_a_command_that_is_not_behind_the_mark_is_refused(exec_, key, words):
    """Its options would be taken for ours."""
    for command, options in (("exec", ["--key", key]), ("mcp", [])):
        done = subprocess.run([str(exec_.onceguard), command, "--store", exec_.store, *options,
                               *words], cwd=exec_.folder, env=exec_.environment(),
                              capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert "stand behind --" in done.stderr or words == ["[true]"], done
    assert list(exec_.folder.iterdir()) == []


@pytest.mark.parametrize("end, why", [([], "a command is missing"),
                                      (["--"], "a command is missing"),
                                      (["--", ""], "the command is empty"),
                                      (["--", "", "a"], "the command is empty")])
def test_a_missing_command_is_said(exec_, key, end, why):
    words = [str(exec_.onceguard), "exec", "--store", exec_.store, "--key", key, *end]
    done = subprocess.run(words, cwd=exec_.folder, env=clean_environment(), capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 2 and why in done.stderr
    assert list(exec_.folder.iterdir()) == []


def test_a_server_of_tools_gets_its_words_too(exec_):
    file = exec_.folder / "words"
    script = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
    done = subprocess.run([str(exec_.onceguard), "mcp", "--store", exec_.store, "--",
                           sys.executable, "-c", script, str(file), *WORDS], cwd=exec_.folder,
                          env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, check=False)
    assert json.loads(file.read_text()) == WORDS, done


def test_a_key_over_the_limit_is_reported_by_its_length(exec_):
    done = exec_.run("k" * 3_000, "true")
    assert done.code == 2 and b"255 bytes at most, and this one has 3000" in done.err
    assert b"kkkk" not in done.err
    shown = exec_.ask("keys", "show", "k" * 3_000)
    assert shown.returncode != 0 and len(shown.stderr) < 300
