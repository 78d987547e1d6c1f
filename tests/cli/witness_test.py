"""A clean end leaves a witness of the last settle: an older copy of the store is seen."""

import shutil
import signal
import subprocess

import pytest

from support.consumer import Consumer, Stream, settled
from support.gateway import PATIENT, clean_environment
from support.redis import Redis
from support.waiting import wait_until

NAMES = ("", "-wal", "-shm")


def copy(source, target):
    """While no process has it open."""
    for end in NAMES:
        target.with_name(target.name + end).unlink(missing_ok=True)
        if source.with_name(source.name + end).exists():
            shutil.copy(source.with_name(source.name + end), target.with_name(target.name + end))


def test_exec_does_not_run_again_on_an_older_copy(onceguard, tmp_path):
    database, runs = tmp_path / "once.db", tmp_path / "runs"
    state = tmp_path / "state"
    state.mkdir()

    def run(key):
        return subprocess.run(
            [onceguard, "exec", "--key", key, "--store", f"sqlite:{database}", "--state-dir",
             state, "--", "sh", "-c", f"echo {key} >> {runs}"],
            env={**clean_environment(), **PATIENT}, capture_output=True, text=True, timeout=60,
            check=False)

    assert run("early").returncode == 0
    copy(database, tmp_path / "saved.db")
    assert run("late").returncode == 0
    copy(tmp_path / "saved.db", database)
    again = run("late")
    assert again.returncode == 75, again
    assert runs.read_text() == "early\nlate\n"


@pytest.fixture
def stream():
    running = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    yield Stream(running, "orders")
    running.close()


def test_consume_sees_an_older_copy_after_a_stop_right_behind_a_message(onceguard, tmp_path,
                                                                        stream, own_upstream):
    state = tmp_path / "state"
    state.mkdir()
    database = tmp_path / "inbox.db"
    consumer = Consumer(onceguard, tmp_path, [{
        "subscriber": "billing", "from": stream.url, "dead_letter": stream.dead_url,
        "to": own_upstream.url, "backoff": "100ms"}], gateway={"state_dir": str(state)})
    try:
        consumer.start()
        stream.add("early", "m1")
        settled(consumer, 1)
        assert consumer.stop() == 0
        copy(database, tmp_path / "saved.db")
        consumer.start()
        stream.add("late", "m2")
        settled(consumer, 2)
        assert consumer.stop() == 0
        copy(tmp_path / "saved.db", database)
        stream.add("late", "m2")
        consumer.start()
        wait_until(lambda: consumer.events("store-lost-its-memory"), 30, "the loss")
        assert own_upstream.runs("m2") == 1
    finally:
        consumer.stop(signal.SIGKILL)
