"""The audit log of acts by the admin API: where its lines go, and what happens if they can't."""

import contextlib
import fcntl
import json
import os
import resource
import signal

import pytest

from support.waiting import wait_until


def make_unknown(gateway, key):
    assert gateway.post(key=key, plan={"status": 500}).status == 500


def release(admin, key, **more):
    record = admin.records(f"key={key}")[0]["record"]
    return admin.post(f"/api/records/{record}/release", {"reason": "a test", **more})


def lines_of(path):
    return [json.loads(line) for line in path.read_text().strip("\0").splitlines()]


def test_a_reader_that_stalls_stops_neither_health_nor_the_end(begin_admin, fresh_key, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        gateway, admin = begin_admin(audit_log=str(fifo))
        key = fresh_key()
        make_unknown(gateway, key)
        # 64 KiB fit into a pipe.
        refused = None
        for _ in range(200):
            answer = release(admin, key, force=True, reason="x" * 1000)
            if answer.status != 200:
                refused = answer
                break
            make_unknown(gateway, key)
        assert refused is not None and refused.status >= 500
        assert "does not keep up" in refused.json()["detail"]
        assert admin.get("/healthz").status == 200
        assert gateway.logged("audit-not-written")
        assert gateway.stop() == 0
    finally:
        os.close(reader)


def test_a_fifo_that_nobody_reads_ends_the_start(begin_admin, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    gateway, _ = begin_admin(audit_log=str(tmp_path / "fifo"), wait=False)
    assert gateway.wait() == 1
    gateway.says("nobody reads it")


@pytest.mark.parametrize("level", ["warning", "error"])
def test_an_act_leaves_a_trace_whatever_the_level_of_the_log_is(begin_admin, fresh_key, level):
    gateway, admin = begin_admin({"log": {"level": level}})
    key = fresh_key()
    make_unknown(gateway, key)
    assert release(admin, key).status == 200
    assert [line["stage"] for line in gateway.logged("audit", 2)] == ["intended", "done"]


def test_a_full_disk_tears_no_line_and_a_missing_one_is_reported(begin_admin, fresh_key, tmp_path):
    """The limit of the file's size is a full disk for this file alone: it begins with a hole that
    is larger than the store."""
    audit = tmp_path / "audit.jsonl"
    audit.touch()
    begin = 64 << 20
    os.truncate(audit, begin)
    gateway, admin = begin_admin(audit_log=str(audit))
    keys = [fresh_key() for _ in range(3)]
    for key in keys:
        make_unknown(gateway, key)
    assert release(admin, keys[0]).status == 200
    size = (audit.stat().st_size - begin) // 2
    pid, room = gateway.process.pid, audit.stat().st_size + size * 3 // 2
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    assert release(admin, keys[1]).status == 200
    unwritten = gateway.logged("audit-not-written")[0]
    assert "only a part of the line fitted" in unwritten["why"]
    assert len(unwritten["record"]) == 12
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    assert release(admin, keys[2]).status == 200
    assert [(line["key"], line["stage"]) for line in lines_of(audit)] == [
        (keys[0], "intended"), (keys[0], "done"), (keys[1], "intended"),
        (keys[2], "intended"), (keys[2], "done")]


def test_a_renamed_audit_log_is_opened_anew(begin_admin, fresh_key, tmp_path):
    audit = tmp_path / "audit.jsonl"
    gateway, admin = begin_admin(audit_log=str(audit))
    keys = [fresh_key(), fresh_key()]
    for key in keys:
        make_unknown(gateway, key)
    audit.rename(tmp_path / "audit.1")
    gateway.signal(signal.SIGUSR1)
    assert gateway.logged("log-file-reopened")[0]["path"] == str(audit)
    wait_until(lambda: gateway.open_files("audit") == [str(audit)], what="the former file closed")
    audit.rename(tmp_path / "audit.2")
    assert release(admin, keys[0]).status == 200
    assert [line["key"] for line in lines_of(audit)] == [keys[0]] * 2
    audit.unlink()
    assert release(admin, keys[1]).status == 200
    assert [line["key"] for line in lines_of(audit)] == [keys[1]] * 2


@pytest.mark.parametrize("reader", ["asleep", "gone"])
def test_without_a_file_no_act_is_made_whose_line_the_log_did_not_take(
        begin_admin, fresh_key, reader):
    """A pipe that nobody empties: a crash would lose what waits for it."""
    keys = [fresh_key() for _ in range(3)]
    gateway, admin = begin_admin()
    for key in keys:
        make_unknown(gateway, key)
    gateway.stop()
    ends = os.pipe()
    try:
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(ends[1], False)
        gateway.start(log=ends[1])
        wait_until(admin.is_ready, what="readiness")
        first = release(admin, keys[0])
        assert first.status == 200, first
        lines = os.read(ends[0], 65_536).decode()
        assert '"stage":"intended"' in lines and '"stage":"done"' in lines
        if reader == "gone":
            os.close(ends[0])
            ends = (None, ends[1])
        else:
            with contextlib.suppress(BlockingIOError):
                while os.write(ends[1], b"x" * 64):
                    pass
        for key in keys[1:]:
            refused = release(admin, key)
            assert refused.status >= 500, refused
            assert "audit log can't be written" in refused.json()["detail"], refused
        assert {gateway.state(key) for key in keys[1:]} == {"unknown"}
        assert gateway.state(keys[0]) == "released"
    finally:
        gateway.kill()
        for end in filter(None, ends):
            os.close(end)
