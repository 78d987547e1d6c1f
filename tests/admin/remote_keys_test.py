"""`onceguard keys` and `stats` by the admin API: the same flags and the same output as with the
store."""

import json
import re
import subprocess

import pytest

from support.fixed_answer import fixed_answer
from support.gateway import clean_environment
from support.sqlite_files import overwrite_page_of

# What goes on from one command to the next one.
MOVING = re.compile(r'"(age|lease_left|retention_left)_ms":-?\d+|(?<=in )[\dhms]+')


@pytest.fixture
def running(begin_admin):
    return begin_admin()


@pytest.fixture
def remote(onceguard, running):
    """Runs a command with --admin."""
    _, admin = running

    def run(*arguments):
        return subprocess.run(
            [str(onceguard), *arguments, "--admin", admin.text], capture_output=True, text=True,
            timeout=60, check=False, env=clean_environment())
    return run


@pytest.fixture
def keys(running, fresh_key):
    """A completed, a binary and an unknown record."""
    gateway, _ = running
    paid, binary, failed = fresh_key(), fresh_key(), fresh_key()
    gateway.post(key=paid, plan={"headers": [["X-Twice", "a"], ["X-Twice", "b"]]})
    gateway.post(key=binary, plan={"body": "\x00\xff"})
    gateway.post("/refunds", key=failed, plan={"status": 500})
    return paid, binary, failed


def same(one, other):
    assert one.returncode == other.returncode, (one, other)
    assert MOVING.sub("", one.stdout) == MOVING.sub("", other.stdout)
    assert one.stderr == other.stderr
    return one


@pytest.mark.parametrize("flags", [
    [], ["--json"], ["--state", "unknown", "--json"], ["--attention"], ["--method", "PATCH"],
    ["--reason", "upstream_status"], ["--limit", "2"], ["--older", "1h"], ["--route", "/"],
    ["--state", "unreadable"], ["--scope", "0"]])
def test_list_prints_the_same(running, remote, keys, flags):
    gateway, _ = running
    done = same(remote("keys", "list", *flags), gateway.command("keys", "list", *flags))
    assert done.returncode == 0
    if not flags:
        assert all(key in done.stdout for key in keys)


@pytest.mark.parametrize("flags", [[], ["--json"], ["--body"]])
def test_show_prints_the_same(running, remote, keys, flags):
    gateway, _ = running
    paid, binary, failed = keys
    for key in (paid, failed) if flags == ["--body"] else (paid, binary, failed):
        done = same(remote("keys", "show", key, *flags),
                    gateway.command("keys", "show", key, *flags))
        assert done.returncode == 0 or flags == ["--body"]
    record = gateway.record(keys[0])
    for named in ([keys[0], "--scope", record["scope"]], [record["record"]],
                  [keys[0], "--scope", record["scope"][:6]], ["no-such-key"]):
        same(remote("keys", "show", *named, *flags),
             gateway.command("keys", "show", *named, *flags))


def test_show_writes_the_bytes_of_a_body(running, onceguard, keys):
    _, admin = running
    done = subprocess.run(
        [str(onceguard), "keys", "show", keys[1], "--body", "--admin", admin.text],
        capture_output=True, timeout=60, check=False, env=clean_environment())
    assert (done.returncode, done.stdout) == (0, b"\x00\xff")


def test_stats_print_the_same(running, remote, keys):
    gateway, _ = running
    same(remote("stats"), gateway.command("stats"))
    assert json.loads(remote("stats", "--json").stdout)["total"] == len(keys)


def test_a_key_is_completed_with_an_answer(running, remote, keys):
    gateway, _ = running
    done = remote("keys", "complete", keys[2], "--status", "201", "--header", "X-Paid: yes",
                  "--body", "paid", "--reason", "ticket 17")
    assert (done.returncode, done.stdout) == (0, "completed\n"), done
    replay = gateway.post("/refunds", key=keys[2])
    assert (replay.status, replay.body, replay.get("X-Paid")) == (201, b"paid", "yes")
    audit = gateway.logged("audit", 2)
    assert [(line["stage"], line["why"], line["means"]) for line in audit] == \
        [("intended", "ticket 17", "admin"), ("done", "ticket 17", "admin")]
    again = remote("keys", "complete", keys[2], "--reason", "x")
    assert again.returncode == 1 and "completed already" in again.stderr


def test_a_key_is_released_and_runs_again(running, remote, keys):
    gateway, _ = running
    done = remote("keys", "release", keys[2], "--reason", "ticket 17")
    assert done.returncode == 0 and "runs the operation again" in done.stdout
    assert gateway.post("/refunds", key=keys[2]).status == 201


def test_what_was_not_completed_is_released_and_not_deleted(running, remote, keys):
    gateway, _ = running
    assert remote("keys", "release", keys[2], "--reason", "x").returncode == 0
    assert {line["action"] for line in gateway.logged("audit", 2)} == {"release"}


def test_the_release_of_an_answer_returns_when_no_cache_has_it(running, remote, keys):
    gateway, _ = running
    done = remote("keys", "release", keys[0], "--reason", "ticket 17")
    assert done.returncode == 0 and "waiting 5s" in done.stderr
    assert not gateway.post(key=keys[0]).replayed


def test_a_selection_is_shown_first_and_changed_with_yes(running, remote, keys):
    gateway, _ = running
    shown = remote("keys", "release", "--attention")
    assert shown.returncode == 0 and "1 records; nothing was changed" in shown.stdout
    assert gateway.state(keys[2]) == "unknown"
    done = remote("keys", "release", "--attention", "--yes", "--reason", "ticket 17")
    assert done.returncode == 0 and "1 of 1 records were changed" in done.stdout
    assert gateway.state(keys[2]) in (None, "released")


def test_what_runs_is_left_alone(running, remote, own_upstream, fresh_key):
    gateway, _ = running
    key = fresh_key()
    with gateway.begin_post(key=key, plan={"gate": key}) as client:
        own_upstream.arrived(key=key)
        refused = remote("keys", "release", key, "--reason", "x")
        assert refused.returncode == 1 and "it may still be running" in refused.stderr
        own_upstream.open(key)
        assert client.read().status == 201


def test_a_record_that_can_not_be_read_is_shown_and_ended_by_force(running, remote, fresh_key):
    gateway, admin = running
    keys = [fresh_key() for _ in range(80)]
    for key in keys:
        gateway.post(key=key)
    before = gateway.record(keys[30])
    scope = before["scope"]
    gateway.stop()
    overwrite_page_of(gateway.database, keys[30])
    gateway.start()
    for command in (["list", "--json"], ["show", keys[30], "--scope", scope, "--json"],
                    ["show", keys[30], "--scope", scope]):
        done = same(remote("keys", *command), gateway.command("keys", *command))
        assert done.returncode == 0 and "unreadable" in done.stdout
    release = ["keys", "release", "--state", "completed"]
    many = same(remote(*release), gateway.command(*release))
    assert many.returncode == 0 and "unreadable" in many.stdout
    assert "records that can't be read: " in many.stderr
    complete = ["keys", "complete", keys[30], "--scope", scope, "--reason", "ticket 17"]
    refused = remote(*complete)
    assert refused.returncode == 1 and "can't be read" in refused.stderr
    # Nor is it replaced by a caller that leaves the looking to the gateway.
    path = f"/api/records/{before['record']}/complete"
    named = {"reason": "x", "key": keys[30], "scope": scope}
    refused = admin.post(path, named)
    assert (refused.status, refused.json()["outcome"]) == (409, "unreadable")
    refused = admin.post(path, {**named, "key": keys[31], "force": True})
    assert refused.status == 422 and "another record" in refused.json()["detail"]
    done = remote(*complete, "--force")
    assert done.returncode == 0, done
    record = gateway.record(keys[30])
    assert (record["state"], record["scope"]) == ("completed", scope)
    line = gateway.logged("audit", 2)[0]
    assert (line["from"], line["key"], line["about"]) == ("unreadable", keys[30], "by force")


@pytest.mark.parametrize("arguments, words", [
    (["list", "--store", "sqlite:x.db"], "--store"),
    (["release", "KEY"], "--reason"),
    (["list", "--token-file", "/no/such/file"], "--token-file"),
    (["release", "--route", "", "--older", "1ms", "--yes", "--reason", "x"], "--route"),
    (["complete", "--scope", "", "--older", "1ms", "--yes", "--reason", "x"], "--scope"),
    (["release", "", "--older", "1ms", "--yes", "--reason", "x"], "KEY"),
    (["list", "--text", ""], "--text"),
])
def test_a_wrong_use_is_refused(remote, arguments, words):
    done = remote("keys", *arguments)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr


def test_a_record_with_a_body_that_is_too_long_to_send_is_shown_and_released(
        begin_admin, onceguard, fresh_key):
    gateway, admin = begin_admin({"defaults": {"max_answer_body": "64MiB"}}, max_buffered="512MiB")
    key, size = fresh_key(), 52 << 20
    assert gateway.post(key=key, plan={"size": size}).status == 201

    def run(*arguments):
        return subprocess.run([str(onceguard), "keys", *arguments, "--admin", admin.text],
                              capture_output=True, text=True, timeout=60, check=False,
                              env=clean_environment())
    shown = run("show", key)
    assert shown.returncode == 0 and f"body of {size} bytes" in shown.stdout, shown
    assert "too long" in shown.stdout
    record = json.loads(run("show", key, "--json").stdout)
    assert record["body_size"] == size and "body_base64" not in record
    body = run("show", key, "--body")
    assert (body.returncode, body.stdout) == (1, "") and "too long" in body.stderr
    assert run("release", key, "--reason", "refunded").returncode == 0
    assert gateway.state(key) in (None, "released")


def test_a_token_without_an_address_is_refused(running):
    gateway, _ = running
    done = gateway.command("keys", "list", "--token-file", "token")
    assert (done.returncode, done.stdout) == (2, "") and "--admin" in done.stderr


def test_a_gateway_that_is_not_there_is_a_store_out_of_reach(running, remote):
    gateway, admin = running
    gateway.stop()
    for command in (["keys", "list"], ["keys", "show", "k"], ["stats"],
                    ["keys", "release", "k", "--reason", "x"]):
        done = remote(*command)
        assert (done.returncode, done.stdout) == (4, "") and admin.text in done.stderr


def test_the_token_decides_what_may_be_done(begin_admin, onceguard, tokens, fresh_key, tmp_path):
    path, operator, viewer = tokens
    gateway, admin = begin_admin(admin_token_file=path)
    key = fresh_key()
    gateway.post(key=key, plan={"status": 500})
    token = tmp_path / "token"

    def run(*arguments, word=None, command="keys"):
        token.write_text(f"{word}\n")
        given = ["--token-file", str(token)] if word else []
        return subprocess.run([str(onceguard), command, *arguments, "--admin", admin.text, *given],
                              capture_output=True, text=True, timeout=60, check=False,
                              env=clean_environment())

    def missing(done):
        """What is said of a right that is missing, with the exit code of one."""
        assert (done.returncode, done.stdout) == (4, ""), done
        return done.stderr.removeprefix(f"onceguard: {admin.text}: ")
    for word, said in ((None, "A token is needed\n"),
                       ("no-such-token-3", "The token is not known\n")):
        assert missing(run("list", word=word)) == said
        assert missing(run(word=word, command="report")) == f"answered 401: {said}"
    assert key in run("list", word=viewer).stdout
    assert missing(run("release", key, "--reason", "x", word=viewer)) == (
        "A viewer may read only; this needs an operator's token; nothing was changed\n")
    assert run("release", key, "--reason", "x", word=operator).returncode == 0
    assert gateway.logged("audit", 2)[0]["who"] == "alice"


@pytest.mark.parametrize("records", ["null", "7", '"text"', "{}", "[null]", "[7]"])
def test_a_list_that_is_none_is_no_empty_list(onceguard, records):
    with fixed_answer(f'{{"records":{records},"cursor":""}}') as address:
        done = subprocess.run([str(onceguard), "keys", "list", "--admin", address], timeout=120,
                              capture_output=True, text=True, check=False, env=clean_environment())
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "no answer of an admin API" in done.stderr


def test_a_name_whose_resolution_hangs_ends_with_the_timeout(onceguard, names):
    names.add("slow.test", hangs=True)
    done = subprocess.run([str(onceguard), "health", "--admin", "slow.test:8081"], timeout=60,
                          capture_output=True, text=True, check=False,
                          env={**clean_environment(), **names.environment})
    assert done.returncode == 1 and "slow.test:8081" in done.stderr
    assert names.look_ups("slow.test") == 1


def test_a_port_that_is_no_admin_listener_is_named_as_such(running, onceguard):
    gateway, _ = running
    address = f"127.0.0.1:{gateway.port.number}"
    done = subprocess.run(
        [str(onceguard), "keys", "list", "--admin", address], capture_output=True, text=True,
        timeout=60, check=False, env=clean_environment())
    assert done.returncode == 1
    assert address in done.stderr and "is it the admin listener?" in done.stderr
