"""A store that has lost its memory is noticed, and what it does then is configured."""

import contextlib
import os
import shutil
import sqlite3
import threading

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.redis import FIRST_POLL, Redis
from support.tcp_gate import TcpGate
from support.waiting import Stopwatch, wait_until


BRIEF = 2  # seconds of refusal


def config(folder, rule, brief=False):
    """Old work must be over after a lease and the upstream's time: a minute, unless `brief`."""
    each = f"{BRIEF // 2}s" if brief else "30s"
    return {"gateway": {"state_dir": str(folder)}, "store": {"after_loss": rule},
            "defaults": {"lease": each, "upstream_timeout": each}}


def await_end_of_refusal(gateway, key):
    """It runs, and on a busy machine the upstream may answer that too late: 504."""
    wait_until(lambda: gateway.post(key=key).status != 503, what="the end of the refusal")


def copy_database(gateway, target):
    """While no process has it open, the file alone is the whole store."""
    shutil.copy(gateway.database, target)


def witness(folder):
    """What stands there; while one is written, the next lies beside it for a moment."""
    seen = {}
    for file in folder.glob("*"):
        if ".next." not in file.name:
            seen[file.name] = file.read_bytes()
    return seen


def forget(gateway):
    for file in gateway.folder.glob(gateway.database.name + "*"):
        file.unlink()


@pytest.fixture(params=["an older copy", "a new file"])
def lost(request, start_gateway, upstream, fresh_key, tmp_path):
    """A gateway, not running, whose store forgot the last of two keys."""
    def make(rule, brief=False):
        early, late = fresh_key(), fresh_key()
        folder = tmp_path / early
        folder.mkdir()
        gateway = start_gateway(upstream, config(folder, rule))
        first = assert_first(gateway.post(key=early))
        gateway.stop()
        saved = gateway.folder / "saved"
        copy_database(gateway, saved)
        gateway.start()
        seen = witness(folder)
        assert_first(gateway.post(key=late))
        wait_until(lambda: witness(folder) != seen, what="the witness taking note")
        gateway.stop()
        gateway.write_config(config(folder, rule, brief))
        forget(gateway)
        if request.param == "an older copy":
            shutil.copy(saved, gateway.database)
            return gateway, late, early, first
        return gateway, late, None, None
    return make


def test_refuse_takes_no_new_claims_until_old_work_must_be_over(lost, upstream):
    def refuses():
        """Not where a busy machine asks when that is over."""
        gateway, key, early, first = lost("refuse", brief=True)
        clock = Stopwatch()
        gateway.start()
        answer, runs = gateway.post(key=key), upstream.runs(key)
        if clock.seconds > BRIEF - 0.1:
            return False
        assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
        assert runs == 1
        assert gateway.get("/").status == 201
        await_end_of_refusal(gateway, key)
        if early:
            assert_replay_of(gateway.post(key=early), first)
        assert clock.seconds > 1.5
        assert upstream.runs(key) == 2
        assert gateway.record(key)["maybe_repeated"] is True
        return True
    assert any(refuses() for _ in range(5))


def test_another_start_makes_nothing_safe_again(lost, upstream):
    gateway, key, _, _ = lost("refuse")
    gateway.start()
    assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    gateway.stop()
    gateway.start()
    assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    gateway.kill()
    # The refusal is never longer than the rules of now say.
    gateway.write_config(config(gateway.config["gateway"]["state_dir"], "refuse", brief=True))
    gateway.start()
    await_end_of_refusal(gateway, key)
    assert gateway.record(key)["maybe_repeated"] is True


def test_flag_runs_and_says_so(lost, upstream):
    gateway, key, _, _ = lost("flag")
    gateway.start()
    assert_first(gateway.post(key=key))
    assert upstream.runs(key) == 2
    assert gateway.record(key)["maybe_repeated"] is True
    wait_until(lambda: any(line["level"] in ("warning", "error") for line in gateway.log_lines()),
               what="a line about it")


def test_runs_are_flagged_no_longer_than_the_longest_retention(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {"store": {"after_loss": "flag"},
                                       "defaults": {"retention": "1s"}})
    assert_first(gateway.post(key=fresh_key()))
    for file in gateway.folder.glob(gateway.database.name + "*"):
        file.unlink()
    wait_until(lambda: gateway.post(key=fresh_key()).status < 300, what="the next run")

    def flagged():
        key = fresh_key()  # unknown, so that its record outlives that second
        assert gateway.post(key=key, plan={"status": 500}).status == 500
        return gateway.record(key)["maybe_repeated"]
    wait_until(lambda: not flagged(), what="the end of the longest retention")


def test_a_store_that_remembers_is_not_suspected(start_gateway, upstream, fresh_key, tmp_path):
    settings = config(tmp_path, "refuse")
    settings["defaults"] = {"lease": "30s"}  # nothing here waits for its end
    gateway = start_gateway(upstream, settings)
    for end in (gateway.stop, gateway.kill, gateway.kill):
        key = fresh_key()
        assert_first(gateway.post(key=key))
        end()
        gateway.start()
        assert_first(gateway.post(key=fresh_key()))
        assert gateway.record(key)["maybe_repeated"] is False


def test_a_store_that_is_back_is_polled_before_it_is_used(start_gateway, upstream, key, tmp_path):
    """It was away at the first look, and comes back without its memory."""
    with contextlib.closing(Redis()) as server, contextlib.closing(
            TcpGate(server.port.number)) as gate:
        server.start()
        settings = config(tmp_path, "refuse")
        settings["store"]["url"] = f"redis://127.0.0.1:{gate.port}"
        gateway = start_gateway(upstream, settings)
        assert_first(gateway.post(key=key))
        gateway.stop()
        server.crash()
        server.start()
        assert gateway.keys() == []  # its scripts are there again
        gate.hold_at(FIRST_POLL)  # it is opened, and hangs when it is looked at
        gateway.start()
        gateway.says("store-away")
        gate.pass_on()
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
        assert upstream.runs(key) == 1
        gateway.stop()
        brief = config(tmp_path, "refuse", brief=True)
        brief["store"]["url"] = settings["store"]["url"]
        gateway.write_config(brief)  # the refusal is never longer than the rules of now say
        gateway.start()
        await_end_of_refusal(gateway, key)
        assert gateway.record(key)["maybe_repeated"] is True


def test_without_a_witness_a_new_file_is_a_new_beginning(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post(key=fresh_key()))
    gateway.stop()
    forget(gateway)
    gateway.start()
    assert_first(gateway.post(key=fresh_key()))


def test_a_state_dir_that_can_not_be_written_is_an_error_at_the_start(start_gateway, upstream,
                                                                      tmp_path):
    gateway = start_gateway(upstream, config(tmp_path, "refuse"))
    gateway.stop()
    for place in ("/proc", str(tmp_path / "missing")):
        gateway.write_config(config(place, "refuse"))
        gateway.start(wait=False)
        assert gateway.wait() == 1
        gateway.says(f"state_dir {place}: nothing can be written there")


def older_copy(gateway, target):
    """The store as it is now, taken while the gateway runs."""
    with contextlib.closing(sqlite3.connect(gateway.database)) as source, \
            contextlib.closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


@pytest.mark.parametrize("how", ["deleted", "another moved in"])
def test_nothing_is_granted_on_a_file_that_replaced_another(
        start_gateway, upstream, fresh_key, tmp_path, how):
    """While a request runs: the writer knows at once, who looks each second does not."""
    settings = config(tmp_path, "refuse")
    settings["defaults"] = {"lease": "30s", "upstream_timeout": "30s"}
    gateway = start_gateway(upstream, settings)
    key, done = fresh_key(), fresh_key()
    copy = gateway.folder / "copy.db"
    older_copy(gateway, copy)
    assert_first(gateway.post(key=done))
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        if how == "another moved in":
            os.replace(copy, gateway.database)
            for side in ("-wal", "-shm"):
                gateway.database.with_name(gateway.database.name + side).unlink()
        else:
            forget(gateway)
        # Many in a row, so that some come between the writer and the look, and some together.
        answers = []

        def retry():
            answers.extend(gateway.post(key=key) for _ in range(10))
        crowd = [threading.Thread(target=retry) for _ in range(4)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        assert len(answers) == 40
        for answer in answers:
            assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
        assert_problem(gateway.post(key=fresh_key()), 503, "store-unreachable", True,
                       retry_after=True)
        assert upstream.runs(key) == 1
        upstream.open(key)
        assert_first(running.read())
    assert gateway.state(key) == "completed", "its holder knew, and says so in the new file"


def test_nothing_is_granted_on_a_redis_that_was_emptied(start_gateway, upstream, fresh_key,
                                                        tmp_path):
    with contextlib.closing(Redis()) as server:
        server.start()
        settings = config(tmp_path, "refuse")
        settings["store"]["url"] = f"redis://127.0.0.1:{server.port.number}"
        settings["defaults"] = {"lease": "30s", "upstream_timeout": "30s"}
        gateway = start_gateway(upstream, settings)
        for _ in range(5):
            assert_first(gateway.post(key=fresh_key()))
        key = fresh_key()
        with gateway.begin_post(key=key, plan={"gate": key}) as running:
            upstream.arrived(1, key)
            server.run("FLUSHALL")
            for answer in [gateway.post(key=key) for _ in range(20)]:
                assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
            assert upstream.runs(key) == 1
            upstream.open(key)
            # The claim by which the loss was noticed may stand in its place until it is released.
            assert running.read().status in (201, 409)
        assert upstream.runs(key) == 1
