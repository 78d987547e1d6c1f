"""A page of the SQLite file is overwritten: what stands on it is refused, shown to the operator and
ended by force, and nobody else notices."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.sqlite_files import overwrite_page_of
from support.waiting import wait_until

CACHELESS = {"gateway": {"replay_cache": "0"}}


@pytest.fixture
def damaged(start_gateway, own_upstream, fresh_key):
    """A gateway, and keys of which the first cannot be read."""
    gateway = start_gateway(own_upstream, CACHELESS)
    keys = [fresh_key() for _ in range(80)]
    for key in keys:
        assert_first(gateway.post(key=key))
    gateway.stop()
    overwrite_page_of(gateway.database, keys[30])
    gateway.start()
    return gateway, [keys[30], *keys[:10], *keys[-10:]]


def test_everybody_else_is_served_while_one_damaged_key_is_repeated(damaged, own_upstream,
                                                                    fresh_key):
    gateway, (bad, *good) = damaged
    others = [fresh_key() for _ in range(300)]
    with ThreadPoolExecutor(20) as clients:
        wanted = [key for other in others for key in (bad, other)]
        answers = list(clients.map(lambda key: (key, gateway.post(key=key)), wanted))
    for key, answer in answers:
        if key == bad:
            assert_problem(answer, 500, "record-unreadable", False)
        else:
            assert_first(answer)
    for key in others + good:
        assert_replay_of(gateway.post(key=key), gateway.post(key=key))
        assert own_upstream.runs(key) == 1
    assert own_upstream.runs(bad) == 1


def logged(gateway, event):
    """The ids of the records that the log names with this event."""
    return [line["record"] for line in gateway.log_lines() if line["event"] == event]


def unreadable(gateway):
    listed = gateway.command("keys", "list", "--json", "--state", "unreadable").stdout
    return [json.loads(line) for line in listed.splitlines()]


def test_a_gateway_logs_each_record_that_it_finds_unreadable(damaged):
    """When it starts, before anybody asks for one of them."""
    gateway, _ = damaged
    expected = {each["record"][:12] for each in unreadable(gateway)}
    assert expected
    wait_until(lambda: set(logged(gateway, "stored-record-unreadable")) == expected,
               what="a line for each record")


def test_the_operator_sees_and_ends_a_damaged_record_by_its_id(damaged, own_upstream):
    gateway, (bad, *_) = damaged
    assert_problem(gateway.post(key=bad), 500, "record-unreadable", False)
    record = wait_until(lambda: logged(gateway, "record-unreadable"))[0]
    listed = unreadable(gateway)
    assert len(record) == 12
    whole = next(each["record"] for each in listed if each["record"].startswith(record))
    assert {each["state"] for each in listed} == {"unreadable"}
    assert record in gateway.command("keys", "list").stdout
    stats = json.loads(gateway.command("stats", "--json").stdout)
    assert stats["unreadable"] == len(listed)
    assert stats["completed"] == 80 - len(listed)
    assert stats["total"] == 80

    shown = gateway.command("keys", "show", record)
    assert shown.returncode == 0, shown
    assert "unreadable" in shown.stdout
    by_key = gateway.command("keys", "show", bad)
    assert by_key.returncode == 1
    assert record in by_key.stderr
    for command in ("release", "complete"):
        refused = gateway.command("keys", command, record)
        assert refused.returncode == 1
        assert "can't be read" in refused.stderr
    exported = gateway.command("keys", "export", str(gateway.folder / "all.jsonl"))
    assert exported.returncode == 1
    assert "can't be read" in exported.stderr

    done = gateway.command("keys", "complete", record, "--force", "--status", "201", "--body", "ok")
    assert done.returncode == 0, done
    again = gateway.post(key=bad)
    assert (again.status, again.body) == (201, b"ok")
    assert own_upstream.runs(bad) == 1
    done = gateway.command("keys", "release", whole, "--force")
    assert done.returncode == 0, done
    first = assert_first(gateway.post(key=bad))
    assert own_upstream.runs(bad) == 2
    assert_replay_of(gateway.post(key=bad), first)


def test_a_damaged_record_is_found_by_its_key_and_scope(damaged, own_upstream):
    gateway, (bad, good, *_) = damaged
    scope = gateway.record(good)["scope"]
    shown = gateway.command("keys", "show", bad, "--scope", scope, "--json")
    assert json.loads(shown.stdout)["state"] == "unreadable"
    done = gateway.command("keys", "complete", bad, "--scope", scope, "--force")
    assert done.returncode == 0, done
    record = gateway.record(bad)
    assert record["state"] == "completed"
    assert record["scope"] == scope
    assert_problem(gateway.post(key=bad), 409, "answer-not-kept", False)
    assert own_upstream.runs(bad) == 1
