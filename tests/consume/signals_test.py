"""Signals of `onceguard consume`, and a queue that is not there yet."""

import itertools
import signal

import pytest

from support.admin import Admin
from support.consumer import Consumer, Stream, outcomes, settled
from support.toml import toml_text
from support.waiting import wait_until

COUNTER = itertools.count()


@pytest.fixture
def slow(tmp_path):
    """A command that says when it began and ended, and ends when the file `go` is there."""
    script = tmp_path / "slow"
    script.write_text("#!/bin/sh\ncat > /dev/null\necho $1 began >> said\n"
                      "while [ ! -e go ]; do sleep 0.02; done\necho $1 ended >> said\n")
    script.chmod(0o755)
    return script


def said(folder):
    path = folder / "said"
    return path.read_text().splitlines() if path.exists() else []


def rewrite(consumer, tables):
    consumer.config.write_text(toml_text({
        "store": {"url": f"sqlite:{consumer.folder / 'inbox.db'}"}, "log": {"level": "debug"},
        "consume": tables}))


def table_of(stream, **more):
    return {"subscriber": "billing", "from": stream.url, "dead_letter": stream.dead_url,
            "backoff": "100ms", **more}


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGTERM, signal.SIGINT])
def test_what_runs_is_finished(consume, stream, slow, tmp_path, how):
    consumer = consume(command=[str(slow), "one"])
    stream.add("x", "m1")
    wait_until(lambda: said(tmp_path) == ["one began"], 30, "the handler")
    consumer.process.send_signal(how)
    wait_until(lambda: consumer.events("draining"), 30, "the drain")
    assert consumer.events("draining")[0]["by"] == how.name
    (tmp_path / "go").touch()
    assert consumer.process.wait(60) == 0
    assert said(tmp_path) == ["one began", "one ended"]
    assert outcomes(consumer) == ["handled"]
    assert stream.pending() == 0


def test_sighup_finishes_what_runs_and_takes_the_new_tables(consume, stream, slow, tmp_path):
    consumer = consume(command=[str(slow), "old"])
    stream.add("x", "m1")
    wait_until(lambda: said(tmp_path) == ["old began"], 30, "the handler")
    rewrite(consumer, [table_of(stream, command=[str(slow), "new"])])
    consumer.process.send_signal(signal.SIGHUP)
    (tmp_path / "go").touch()
    wait_until(lambda: consumer.events("reloaded"), 30, "the reload")
    stream.add("y", "m2")
    settled(consumer, 2)
    assert outcomes(consumer) == ["handled", "handled"]
    assert said(tmp_path) == ["old began", "old ended", "new began", "new ended"]
    assert consumer.stop() == 0


def test_a_reload_of_nonsense_changes_nothing(consume, stream, own_upstream):
    consumer = consume(to=own_upstream.url)
    for number, text in enumerate(["[[consume", ""], 1):
        consumer.config.write_text(text)
        consumer.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(consumer.events("reload-refused")) == number, 30, "the refusal")
    # What only shows when it begins: no place for dead letters.
    rewrite(consumer, [table_of(stream, to=own_upstream.url, dead_letter="")])
    consumer.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(consumer.events("reload-refused")) == 3, 30, "the refusal")
    stream.add("x", "m1")
    settled(consumer, 1)
    assert consumer.stop() == 0


def test_a_queue_that_is_missing_holds_up_no_other(onceguard, tmp_path, stream, redis,
                                                   own_upstream):
    late = Stream(redis, f"late-{next(COUNTER)}")
    missing = f"{late.at}/{late.name}?group=consumers&hold=1s"
    consumer = Consumer(onceguard, tmp_path, [
        table_of(stream, to=own_upstream.url),
        table_of(late, to=own_upstream.url, subscriber="audit", **{"from": missing})])
    try:
        consumer.start()
        stream.add("x", "m1")
        settled(consumer, 1)
        wait_until(lambda: consumer.events("broker-away"), 30, "the line about the missing one")
        assert {event["subscriber"] for event in consumer.events("broker-away")} == {"audit"}
        late.command("XGROUP", "CREATE", late.name, "consumers", "0", "MKSTREAM")
        late.add("y", "m2")
        settled(consumer, 2)
        assert consumer.stop() == 0
    finally:
        consumer.stop(signal.SIGKILL)


@pytest.fixture
def watched(onceguard, tmp_path, stream, own_upstream):
    """A consumer whose name has a slash, without an audit log of its own; and its listener."""
    admin = Admin()
    consumer = Consumer(onceguard, tmp_path, [
        table_of(stream, to=own_upstream.url, subscriber="bill/ing")],
        gateway={"admin": admin.text})
    consumer.start()
    yield consumer, admin
    consumer.stop(signal.SIGKILL)
    admin.close()


def acts_of(admin):
    return [(one["action"], one["stage"], one["key"])
            for one in admin.get("/api/audit").json()["entries"]]


def test_a_name_with_a_slash_is_paused(watched):
    _, admin = watched
    (worker,) = admin.get("/api/workers").json()["workers"]
    assert worker["name"] == "bill/ing" and not worker["paused"]
    for path, status in (("bill/ing", 404), ("bill%252Fing", 404), ("bill%2Fing%2Fpause", 404),
                         ("bill%2Fing", 200)):
        answer = admin.post(f"/api/workers/{path}/pause", {"reason": "the bank is down"})
        assert answer.status == status, (path, answer.body)
    assert admin.get("/api/workers").json()["workers"][0]["paused"]
    assert admin.post("/api/workers/bill%2fing/resume", {"reason": "it is back"}).status == 200
    assert not admin.get("/api/workers").json()["workers"][0]["paused"]


def test_what_an_operator_did_outlives_a_reload(watched):
    consumer, admin = watched
    path = "/api/workers/bill%2Fing"
    assert admin.post(f"{path}/pause", {"reason": "the bank is down"}).status == 200
    done = acts_of(admin)
    assert sorted(done) == [("pause", "done", "bill/ing"), ("pause", "intended", "bill/ing")]
    for number in (1, 2):
        consumer.process.send_signal(signal.SIGHUP)
        wait_until(lambda count=number + 1: len(consumer.events("admin-listening")) == count, 30,
                   "the listener of the next round")
        assert acts_of(admin) == done
        assert admin.get("/api/workers").json()["workers"][0]["paused"]
    assert admin.post(f"{path}/resume", {"reason": "it is back"}).status == 200
    assert len(acts_of(admin)) == 4
    assert consumer.stop() == 0
