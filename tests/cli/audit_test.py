"""The audit log of commands that change records, and changes of many records at once."""

import json
import os
import pty
import stat
import time

import pytest

from support.gateway import PATIENT, clean_environment


@pytest.fixture
def unknown_keys(gateway, fresh_key):
    """Keys whose outcome is unknown, on two routes."""
    prefix = fresh_key()
    keys = [f"{prefix}-{number}" for number in range(4)]
    for number, key in enumerate(keys):
        path = "/charges" if number < 3 else "/refunds"
        assert gateway.post(path, key=key, plan={"status": 500}).status == 500
    return prefix, keys


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_release_and_a_completion_are_written_before_and_after(gateway, unknown_keys, tmp_path):
    _, keys = unknown_keys
    audit = tmp_path / "audit.jsonl"
    record = gateway.record(keys[0])["record"]
    done = gateway.command("keys", "release", keys[0], "--reason", "no payment at the bank",
                           "--audit-log", str(audit))
    assert done.returncode == 0, done
    done = gateway.command("keys", "complete", keys[1], "--audit-log", str(audit))
    assert done.returncode == 0, done
    intended, made, *completion = lines_of(audit)
    assert [intended["stage"], made["stage"]] == ["intended", "done"]
    assert [line["stage"] for line in completion] == ["intended", "done"]
    for line in (intended, made):
        assert line["action"] == "release"
        assert line["means"] == "keys release"
        assert line["why"] == "no payment at the bank"
        assert line["key"] == keys[0]
        assert line["record"] == record[:12]
        assert (line["from"], line["to"]) == ("unknown", "released")
        assert line["who"] and line["at"].endswith("Z")
    assert (completion[0]["action"], completion[0]["to"]) == ("complete", "completed")
    assert stat.S_IMODE(os.stat(audit).st_mode) == 0o600


def on_a_terminal(words):
    """The exit code, and what a person sees."""
    process, master = pty.fork()
    if process == 0:
        os.execve(words[0], words, {**clean_environment(), **PATIENT, "TERM": "dumb"})
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            break
        seen += piece
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), seen.decode()


def test_a_person_at_a_terminal_sees_no_lines_for_machines(gateway, unknown_keys, tmp_path):
    """They are in the audit log where there is one, and in a log that is piped to a program."""
    _, keys = unknown_keys
    audit = tmp_path / "audit.jsonl"
    words = [str(gateway.binary), "keys", "release", "--store", gateway.store_url()]
    released = "released: the next request with this key runs the operation again\r\n"
    assert on_a_terminal([*words, keys[0]]) == (0, released)
    assert on_a_terminal([*words, keys[1], "--audit-log", str(audit)]) == (0, released)
    assert [line["stage"] for line in lines_of(audit)] == ["intended", "done"]
    piped = gateway.command("keys", "release", keys[2])
    assert piped.returncode == 0 and piped.stderr.count('"event":"audit"') == 2, piped


def test_what_was_refused_is_written_as_not_done(gateway, upstream, key, tmp_path):
    audit = tmp_path / "audit.jsonl"
    with gateway.begin_post(key=key, plan={"gate": key}):
        upstream.arrived(key=key)
        done = gateway.command("keys", "release", key, "--audit-log", str(audit))
    assert done.returncode == 1
    assert [line["stage"] for line in lines_of(audit)] == ["intended", "not done: running"]


@pytest.mark.parametrize("place", ["/dev/full", "no/such/folder/audit.jsonl"])
def test_without_a_line_in_the_audit_log_nothing_is_changed(gateway, unknown_keys, place):
    prefix, keys = unknown_keys
    for arguments in (["release", keys[0]], ["complete", keys[0]],
                      ["release", "--text", prefix, "--yes"]):
        done = gateway.command("keys", *arguments, "--audit-log", place)
        assert done.returncode == 1, done
        assert "audit log" in done.stderr and "nothing was changed" in done.stderr
    assert {gateway.state(key) for key in keys} == {"unknown"}


def test_without_a_file_the_audit_log_is_a_line_of_the_log(gateway, unknown_keys):
    _, keys = unknown_keys
    done = gateway.command("keys", "release", keys[0], "--reason", "no payment")
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    audited = [event for event in events if event["event"] == "audit"]
    assert [event["stage"] for event in audited] == ["intended", "done"]
    assert {event["why"] for event in audited} == {"no payment"}


def test_a_selection_is_shown_first_and_changed_with_yes(gateway, unknown_keys, tmp_path):
    prefix, keys = unknown_keys
    route = gateway.record(keys[0])["route"]
    chosen = ["--text", prefix, "--route", route, "--method", "POST"]
    shown = gateway.command("keys", "release", *chosen)
    assert shown.returncode == 0, shown
    assert all(key in shown.stdout for key in keys)
    assert "4 records; nothing was changed" in shown.stdout
    assert {gateway.state(key) for key in keys} == {"unknown"}
    audit = tmp_path / "audit.jsonl"
    done = gateway.command("keys", "complete", "--text", f"{prefix}-1", "--status", "201", "--yes",
                           "--audit-log", str(audit))
    assert done.returncode == 0, done
    assert "1 of 1 records were changed" in done.stdout
    assert gateway.state(keys[1]) == "completed"
    done = gateway.command("keys", "release", *chosen, "--yes", "--audit-log", str(audit))
    assert done.returncode == 0, done
    assert "3 of 3 records were changed" in done.stdout
    # Only unknown records are chosen: the completed one stays.
    assert gateway.state(keys[1]) == "completed"
    assert all(gateway.state(key) in (None, "released") for key in keys if key != keys[1])
    assert [line["stage"] for line in lines_of(audit)] == ["intended", "done"] * 4


def test_the_release_of_many_answers_returns_when_no_cache_has_them(gateway, fresh_key):
    prefix = fresh_key()
    keys = [f"{prefix}-{number}" for number in range(2)]
    for key in keys:
        gateway.post(key=key)
    began = time.monotonic()
    done = gateway.command("keys", "release", "--text", prefix, "--state", "completed", "--yes")
    assert done.returncode == 0, done
    assert time.monotonic() - began >= 5
    assert not any(gateway.post(key=key).replayed for key in keys)


def test_a_selection_that_chooses_nothing_is_not_found(gateway, key):
    done = gateway.command("keys", "release", "--text", key, "--yes")
    assert done.returncode == 5
    assert "no record is chosen" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["KEY", "--route", "/charges"], ["--yes"]])
def test_a_change_needs_either_a_key_or_a_filter(gateway, arguments):
    done = gateway.command("keys", "release", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "KEY" in done.stderr


def test_an_import_is_written_with_its_file_and_its_sum(gateway, unknown_keys, tmp_path):
    exported, audit = tmp_path / "records.jsonl", tmp_path / "audit.jsonl"
    assert gateway.command("keys", "export", "--force", str(exported)).returncode == 0
    done = gateway.command("keys", "import", str(exported), "--audit-log", str(audit),
                           "--reason", "a trial")
    intended, made = lines_of(audit)
    assert (intended["stage"], intended["action"]) == ("intended", "import")
    assert str(exported) in intended["about"]
    assert made["stage"] == done.stdout.strip()
    assert made["why"] == "a trial"
