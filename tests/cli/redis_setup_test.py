"""Redis's set-up as the documentation has it: the user that it makes is enough, and no more."""

import shlex
import subprocess

import pytest

from support.documented import blocks
from support.expecting import assert_first, assert_replay_of
from support.gateway import clean_environment
from support.redis import Redis


@pytest.fixture
def server():
    """Users belong to a whole server."""
    running = Redis()
    try:
        yield running.start()
    finally:
        running.close()


def typed(server, commands):
    for command in commands.splitlines():
        assert server.run(command) == b"+OK\r\n", command


def test_the_documented_setup_works_as_typed(server, start_gateway, own_upstream, key, fresh_key):
    (_, user), (_, serving), *_ = blocks("redis.md", "Setting it up")
    typed(server, user)
    program, command, *words = shlex.split(serving)
    assert (program, command, words[::2]) == ("onceguard", "gateway", ["--store", "--upstream"])
    url = words[1].replace("cache.internal:6379", f"127.0.0.1:{server.port.number}")
    assert url != words[1]
    gateway = start_gateway(own_upstream, {"store": {"url": url}})
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    left, free = fresh_key(), fresh_key()
    assert gateway.post(key=left, plan={"status": 500}).status == 500
    assert gateway.post(key=free, plan={"status": 404}).status == 404
    assert own_upstream.runs(key) == 1

    assert {r["key"]: r["state"] for r in gateway.keys()} == {
        key: "completed", left: "unknown", free: "released"}
    export = gateway.folder / "records.jsonl"
    for words in (["keys", "show", key], ["stats"], ["keys", "complete", left, "--status", "201"],
                  ["keys", "release", key], ["keys", "export", str(export)],
                  ["keys", "import", str(export)], ["sweep"]):
        done = gateway.command(*words)
        assert done.returncode == 0, done
    assert_first(gateway.post(key=key))
    # Nothing was missed, not even what it can do without.
    assert server.run("ACL LOG") == b"*0\r\n"
    warned = [line for line in gateway.log_lines() if line["level"] in ("warning", "error")]
    assert {line["event"] for line in warned} <= OF_THIS_PLACE | {"outcome-unknown"}


# What this server and this machine are like.
OF_THIS_PLACE = {"anonymous-scope", "restart-loss",
                 "too-few-descriptors"}


@pytest.mark.parametrize("command", ["FLUSHALL", "CONFIG SET maxmemory-policy allkeys-lru",
                                     "DEL onceguard:store", "GET another", "ACL LIST"])
def test_the_documented_user_can_do_no_harm(server, command):
    (_, user), *_ = blocks("redis.md", "Setting it up")
    typed(server, user)
    assert server.run("ACL DRYRUN gateway GET onceguard:store") == b"+OK\r\n"
    assert b"no permissions" in server.run(f"ACL DRYRUN gateway {command}")


@pytest.mark.parametrize("right, said", [
    ("+select", "NOPERM"), ("+evalsha", "NOPERM"), ("+time", "can't run this command"),
    ("+hmget", "can't run this command"), ("~onceguard:*", "NOPERM")])
def test_a_right_that_is_missing(server, onceguard, right, said):
    (_, user), *_ = blocks("redis.md", "Setting it up")
    assert user.count(f"{right} ") == 1
    typed(server, user.replace(f"{right} ", "", 1))
    url = f"redis://gateway:secret@127.0.0.1:{server.port.number}/0"

    def stats():
        return subprocess.run([str(onceguard), "stats", "--store", url], capture_output=True,
                              text=True, timeout=60, env=clean_environment(), check=False)
    done = stats()
    assert (done.returncode, done.stdout) == (4, ""), done
    assert said in done.stderr
    assert done.stderr.endswith("lacks a right: type the ACL SETUSER of docs/redis.md\n")
    typed(server, user)
    assert stats().returncode == 0
