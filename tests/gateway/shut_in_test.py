"""A running gateway is shut in: it works as before, and the kernel refuses what it never does."""

import os
import pathlib
import select
import signal

import pytest

from support.admin import Admin
from support.expecting import assert_first, assert_replay_of
from support.shut_in import OPEN, SHUT_IN, status_of, without_calls
from support.upgrading import adopting_orphans, upgrade
from support.waiting import wait_until


@pytest.fixture
def admin():
    one = Admin()
    yield one
    one.close()


def works(gateway, upstream, key):
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_all_threads_are_shut_in_and_the_log_and_the_metrics_say_so(
        start_gateway, upstream, fresh_key, admin):
    gateway = start_gateway(upstream, {"gateway": {"admin": admin.text}})
    works(gateway, upstream, fresh_key())
    assert status_of(gateway.process.pid) == SHUT_IN
    line, = gateway.logged("shut-in")
    assert (line["files"], line["calls"]) == (True, True)
    assert '"not-shut-in"' not in gateway.log()
    metrics = admin.get("/metrics").body.decode()
    for part in "files", "calls":
        assert f'onceguard_sandbox{{part="{part}"}} 1\n' in metrics


def test_it_is_not_where_that_is_off(start_gateway, upstream, fresh_key, admin):
    gateway = start_gateway(upstream, {"gateway": {"admin": admin.text, "sandbox": "off"}})
    works(gateway, upstream, fresh_key())
    assert status_of(gateway.process.pid) == OPEN
    assert 'shut-in"' not in gateway.log()
    assert 'onceguard_sandbox{part="files"} 0\n' in admin.get("/metrics").body.decode()


@pytest.mark.parametrize("refused, left", [("landlock_create_ruleset", "files"),
                                           ("seccomp", "calls")])
def test_what_the_kernel_does_not_allow_is_left_out_and_logged(
        start_gateway, upstream, key, refused, left):
    gateway = start_gateway(upstream, started=False)
    gateway.launcher = without_calls(refused)
    gateway.start()
    works(gateway, upstream, key)
    line, = gateway.logged("not-shut-in")
    assert line["part"] == left
    line, = gateway.logged("shut-in")
    assert line[left] is False and line[{"files": "calls", "calls": "files"}[left]] is True


def test_without_the_library_calls_are_left_out(start_gateway, upstream, key, tmp_path):
    (tmp_path / "libseccomp.so.2").write_bytes(b"")
    gateway = start_gateway(upstream, started=False)
    gateway.environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    gateway.start()
    works(gateway, upstream, key)
    line, = gateway.logged("not-shut-in")
    assert line["part"] == "calls" and "libseccomp.so.2" in line["why"]


def test_a_configuration_with_files_elsewhere_is_taken_over(
        start_gateway, upstream, own_upstream, fresh_key, tmp_path):
    """What is read may lie anywhere; only writing and running programs are limited."""
    gateway = start_gateway(upstream)
    works(gateway, upstream, fresh_key())
    elsewhere = tmp_path / "elsewhere.toml"
    text = gateway.config_path.read_text()
    elsewhere.write_text(text.replace(upstream.url, own_upstream.url))
    gateway.config_path.unlink()
    gateway.config_path.symlink_to(elsewhere)
    gateway.signal(signal.SIGHUP)
    wait_until(lambda: gateway.logged("reloaded"), what="the reload")
    works(gateway, own_upstream, fresh_key())


def test_files_are_rotated_and_removed_where_the_configuration_names_them(
        start_gateway, upstream, key, tmp_path, admin):
    logs, state, sockets = (tmp_path / name for name in ("logs", "state", "sockets"))
    for folder in logs, state, sockets:
        folder.mkdir()
    log, audit, socket = logs / "gateway.log", logs / "audit.jsonl", sockets / "admin"
    gateway = start_gateway(upstream, {"gateway": {
        "log_file": str(log), "audit_log": str(audit), "state_dir": str(state),
        "admin": f"unix:{socket}"}})
    works(gateway, upstream, key)
    log.rename(logs / "gateway.log.1")
    gateway.signal(signal.SIGUSR1)
    wait_until(lambda: log.exists() and "log-file-reopened" in log.read_text(), what="the file")
    assert list(state.iterdir()), "the witness"
    assert gateway.stop() == 0
    assert not socket.exists()


def test_a_link_to_a_store_that_is_not_there_yet(start_gateway, upstream, key, tmp_path):
    names, data, other = tmp_path / "names", tmp_path / "data", tmp_path / "other"
    for folder in names, data, other:
        folder.mkdir()
    (names / "store").symlink_to(data / "store.db")
    gateway = start_gateway(upstream, {"store": {"url": f"sqlite:{names}/store"}}, started=False)
    gateway.environment = {"TMPDIR": str(other)}  # as these lie in the usual one
    gateway.start()
    works(gateway, upstream, key)
    assert (data / "store.db").exists()


def test_a_named_pipe_that_is_made_anew(start_gateway, upstream, key, tmp_path):
    """As a collector of logs does that is started again."""
    pipe, other = tmp_path / "log", tmp_path / "other"
    other.mkdir()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    gateway = start_gateway(upstream, {"gateway": {"log_file": str(pipe)}}, started=False)
    gateway.environment = {"TMPDIR": str(other)}
    gateway.start()
    pipe.unlink()
    os.mkfifo(pipe)
    renewed = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    gateway.signal(signal.SIGUSR1)
    wait_until(lambda: select.select([renewed], [], [], 0)[0], what="a line in the new pipe")
    assert b'"log-file-reopened"' in os.read(renewed, 1 << 16)
    works(gateway, upstream, key)
    os.close(reader)
    os.close(renewed)


def test_a_file_that_leads_out_is_not_written(start_gateway, upstream, tmp_path, key):
    """As somebody would try who has the process write where others read."""
    logs, outside = tmp_path / "logs", tmp_path / "outside"
    logs.mkdir()
    outside.mkdir()
    log = logs / "gateway.log"
    gateway = start_gateway(upstream, {"gateway": {"log_file": str(log)}}, started=False)
    gateway.environment = {"TMPDIR": str(logs)}  # as `outside` lies in the usual one
    gateway.start()
    log.rename(logs / "former")
    log.symlink_to(outside / "made")
    gateway.signal(signal.SIGUSR1)
    wait_until(lambda: "log-file-not-reopened" in (logs / "former").read_text(), what="a refusal")
    assert not (outside / "made").exists()
    works(gateway, upstream, key)


def test_its_successor_is_started_from_outside_and_is_shut_in_itself(
        start_gateway, upstream, fresh_key):
    with adopting_orphans():
        gateway = start_gateway(upstream, {"gateway": {"drain": "100s"}})
        for _ in range(2):
            works(gateway, upstream, fresh_key())
            former = upgrade(gateway)
            assert former.wait(60) == 0
            works(gateway, upstream, fresh_key())
            assert status_of(gateway.process.pid) == SHUT_IN
        assert gateway.stop() == 0


def test_without_the_process_that_starts_it_there_is_no_successor_and_no_harm(
        start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    starter, = children_of(gateway.process.pid)
    os.kill(int(starter), signal.SIGKILL)
    gateway.signal(signal.SIGUSR2)
    refused = wait_until(lambda: gateway.logged("upgrade-refused"), what="the refusal")
    assert "the starter" in refused[0]["why"]
    works(gateway, upstream, fresh_key())
