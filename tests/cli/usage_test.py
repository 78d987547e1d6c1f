"""A command line that can't be understood: what was wrong, and what could have been meant."""

import re
import subprocess

import pytest

from support.gateway import clean_environment

COMMANDS = ("gateway, serve, consume, relay, exec, mcp, demo, send, health, top, tail, init, "
            "check, doctor, explain, advise, conformance, completions, keys, messages, outbox, "
            "stats, report, reconcile, sweep, migrate, backup, restore")
BELOW_KEYS = "list, show, release, complete, export, import, index"
LIMITED = [["keys", "list"], ["reconcile"]]


def run(onceguard, folder, *arguments):
    return subprocess.run([str(onceguard), *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=60, env=clean_environment(), check=False)


@pytest.fixture
def refused(onceguard, tmp_path):
    """The two or three lines that are said, and nothing else happens."""
    def run_it(*arguments):
        done = run(onceguard, tmp_path, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert list(tmp_path.iterdir()) == []
        return done.stderr.splitlines()
    return run_it


@pytest.mark.parametrize("command", LIMITED, ids=" ".join)
@pytest.mark.parametrize("limit", ["-1", "abc", "1.5", "", "+5", "0x10", " 5", "5 ",
                                   "18446744073709551616", "99999999999999999999"])
def test_a_limit_that_is_no_number(refused, command, limit):
    for given in (["--limit", limit], [f"--limit={limit}"]):
        if given == ["--limit="]:
            continue  # that there is none is said otherwise
        assert refused(*command, *given) == [
            "onceguard: --limit: expected a whole number from 0 to 18446744073709551615, got "
            f'"{limit}"', f"See: onceguard {' '.join(command)} --help"]


@pytest.mark.parametrize("limit, shown", [("0", 12), ("1", 1), ("010", 10),
                                          ("18446744073709551615", 12)])
def test_a_limit_is_decimal_and_none_is_all(gateway, limit, shown):
    for number in range(12):
        assert gateway.post(key=f"limited-{number}").status < 300
    done = gateway.command("keys", "list", "--limit", limit)
    assert (done.returncode, done.stdout.count("\n")) == (0, shown), done


@pytest.mark.parametrize("status", ["199", "600", "-200", "abc", "0xc8", "99999999999999999999"])
def test_a_status_that_is_none(refused, status):
    said = refused("keys", "complete", "k", "--status", status)
    assert said[0] == ("onceguard: --status: expected a whole number from 200 to 599, got "
                       f'"{status}"')


@pytest.mark.parametrize("arguments, said", [
    (["nonsense"], ['unknown command "nonsense"', f"The commands are: {COMMANDS}", ""]),
    (["chekc"], ['unknown command "chekc"; did you mean "check"?',
                 f"The commands are: {COMMANDS}", ""]),
    (["key", "list"], ['unknown command "key"; did you mean "keys"?',
                       f"The commands are: {COMMANDS}", ""]),
    (["keys", "lst"], ['unknown command "lst"; did you mean "list"?',
                       f"The commands are: {BELOW_KEYS}", "keys "]),
    (["--limit", "lst"], ['unknown command "lst"', f"The commands are: {COMMANDS}", ""]),
    ([], ["a command is missing", f"The commands are: {COMMANDS}", ""]),
    (["keys"], ["a command is missing", f"The commands are: {BELOW_KEYS}", "keys "]),
    (["--versio"], ['unknown option "--versio"; did you mean "--version"?', ""]),
    (["keys", "list", "--stat", "x"], ['unknown option "--stat"; did you mean "--state"?',
                                       "keys list "]),
    (["gateway", "--lisetn=127.0.0.1:1"], ['unknown option "--lisetn"; did you mean "--listen"?',
                                           "gateway "]),
    (["--stroe", "memory:", "stats"],
     ['unknown option "--stroe"; options of stats stand behind it; did you mean "--store"?',
      "stats "]),
    (["stats", "--frist", "--secnod"], ['unknown option "--frist"', "stats "]),
    (["stats", "-x"], ['unknown option "-x"', "stats "]),
    (["keys", "list", "extra", "more"], ['unexpected argument "extra"', "keys list "]),
    (["keys", "list", "a\x1b[31m"], ['unexpected argument "a\\u001b[31m"', "keys list "]),
    (["keys", "show"], ["KEY is required", "keys show "]),
    (["help", "nonsense"], ['unknown command "nonsense"', f"The commands are: {COMMANDS}", ""]),
    (["chekc", "--help"], ['unknown command "chekc"; did you mean "check"?',
                           f"The commands are: {COMMANDS}", ""]),
    (["help", "keys", "lst"], ['unknown command "lst"; did you mean "list"?',
                               f"The commands are: {BELOW_KEYS}", "keys "]),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_what_was_wrong_and_what_could_have_been_meant(refused, arguments, said):
    *lines, command = said
    assert refused(*arguments) == [f"onceguard: {lines[0]}", *lines[1:],
                                   f"See: onceguard {command}--help"]


@pytest.mark.parametrize("words, options", [
    (["version"], ["--version"]), (["help"], ["--help"]), (["help", "exec"], ["exec", "--help"]),
    (["help", "keys", "list"], ["keys", "list", "--help"])], ids=str)
def test_help_and_version_may_be_asked_for_in_words(onceguard, tmp_path, words, options):
    asked, said = (run(onceguard, tmp_path, *each) for each in (words, options))
    assert (asked.returncode, asked.stdout) == (0, said.stdout) and said.stdout


@pytest.mark.parametrize("option", ["--every", "--fresh-after", "--wait", "--timeout", "--grace"])
@pytest.mark.parametrize("period, meant", [
    ("1day", "1d"), ("2days", "2d"), ("1D", "1d"), ("24hours", "24h"), ("5min", "5m"),
    ("30sec", "30s"), ("1w", "7d"), ("daily", "1d"), ("hourly", "1h"), ("weekly", "7d"),
    ("1 d", "1d"), ("90", None), ("1.5h", None), ("often", None)])
def test_a_period_that_is_written_otherwise(refused, option, period, meant):
    said = refused("exec", "--key", "k", option, period, "--", "true")
    hint = f'; did you mean "{meant}"?' if meant else ""
    assert said[0] == (f'onceguard: {option}: expected a duration such as "250ms", "30s", "1m", '
                       f'"24h" or "7d", got "{period}"{hint}')


@pytest.mark.parametrize("arguments", [
    ["postgresql://me:secret@h/d"], ["keys", "postgresql://me:secret@h/d"],
    ["stats", "postgresql://me:secret@h/d"], ["stats", "--stroe=postgresql://me:secret@h/d"],
    ["stats", "--stroe", "postgresql://me:secret@h/d"],
], ids=" ".join)
def test_a_password_in_a_wrong_argument_is_not_repeated(refused, arguments):
    assert "secret" not in "\n".join(refused(*arguments))


@pytest.mark.parametrize("method, said", [
    ("FOO", "the gateway answers 501 to the method FOO"),
    ("CONNECT", "the gateway answers 501 to the method CONNECT"),
    ("SOURCE", "the gateway answers 501 to the method SOURCE"),
    ("post", "the gateway answers 501 to the method post; did you mean POST?"),
    ("P T", "a method such as POST was expected"),
    ("", "a method such as POST was expected"),
])
def test_explain_with_a_method_that_no_request_can_have(refused, method, said):
    assert refused("explain", method, "/x", "--upstream", "http://127.0.0.1:9") == [
        f"onceguard: METHOD: {said}", "See: onceguard explain --help"]


@pytest.mark.parametrize("method, taken", [
    ("FOO", False), ("QUERY", True), ("SOURCE", False), ("post", False), ("DESCRIBE", False),
    ("MKCOL", True), ("M-SEARCH", True), ("PURGE", True), ("PUT", True), ("TRACE", True)])
def test_explain_takes_the_methods_that_the_gateway_takes(gateway, method, taken):
    refused_by_the_gateway = gateway.ask(method, "/").problem is not None
    done = gateway.command("explain", method, "/", "--config", str(gateway.config_path))
    assert (refused_by_the_gateway, done.returncode) == ((False, 0) if taken else (True, 2)), done


@pytest.mark.parametrize("value", ["-1", "-5s", "abc", "1.5", "0x10", " 5", "9223372036854775808",
                                   "99999999999999999999", "106751991168d", "9007199254740992GiB"])
def test_every_number_and_duration_out_of_its_bounds_is_named(onceguard, tmp_path, value):
    said = run(onceguard, tmp_path, "check", "--help").stdout
    flags = re.findall(r"  (--[a-z-]+) (?:DURATION|SIZE|NUMBER)", said)
    assert len(flags) > 25
    done = run(onceguard, tmp_path, "check", "--upstream", "http://127.0.0.1:9",
               *(f"{flag}={value}" for flag in flags))
    assert done.returncode == 3, done
    faults = {line.split(":")[0] for line in done.stderr.splitlines() if value in line}
    assert faults == set(flags)
