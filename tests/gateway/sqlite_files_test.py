"""The files of a SQLite store: backed up, restored, mixed up, removed, seen by two machines."""

import contextlib
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import threading
import uuid

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import clean_environment
from support.processes import stopped_amid_its_work
from support.sqlite_files import backup, beside, config, refused, restore, run_some, \
    starts_without_its_store
from support.waiting import wait_until


# ---- a backup and a log that don't belong together ------------------------------------------
def mixed_up(gateway, how):
    """The gateway's old backup in the place of its newer file, and the newer log beside it."""
    old = run_some(gateway, 5)
    saved = backup(gateway)
    gateway.restart()
    middle = run_some(gateway, 5)
    gateway.restart()
    new = run_some(gateway, 5)
    how(gateway, saved)
    return old, {**middle, **new}


def move_over(gateway, saved):
    os.replace(saved, gateway.database)


def copy_over(gateway, saved):
    shutil.copy(saved, gateway.database)


@pytest.mark.parametrize("put", [move_over, copy_over])
def test_a_killed_gateways_log_is_not_replayed_into_a_backup(start_gateway, upstream, tmp_path,
                                                             put):
    settings = config(tmp_path)
    settings["defaults"]["upstream_timeout"] = "3s"  # the refusals last for it, and are waited for
    gateway = start_gateway(upstream, settings)

    def kill_and_put(killed, saved):
        killed.kill()
        put(killed, saved)

    old, lost = mixed_up(gateway, kill_and_put)
    before = {suffix: beside(gateway, suffix).read_bytes() for suffix in ("", "-wal")}
    starts_without_its_store(gateway, "the log beside it")
    listed = gateway.command("keys", "list")
    assert listed.returncode == 4
    assert "onceguard restore" in listed.stderr
    assert before == {suffix: beside(gateway, suffix).read_bytes() for suffix in before}
    # As the message says.
    for suffix in ("-wal", "-shm"):
        beside(gateway, suffix).unlink()
    gateway.start()
    for key in lost:
        assert refused(gateway, key)
    assert [upstream.runs(key) for key in lost] == [1] * len(lost)
    for key, first in old.items():
        wait_until(lambda k=key: not refused(gateway, k), what="the end of the refusal")
        assert_replay_of(gateway.post(key=key), first)
    gateway.stop()
    with contextlib.closing(sqlite3.connect(gateway.database)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_backup_moved_over_the_file_of_a_running_gateway_runs_nothing(start_gateway, upstream,
                                                                        tmp_path):
    settings = config(tmp_path)
    settings["defaults"] = {"lease": "30s", "upstream_timeout": "30s"}  # the refusals last for it
    gateway = start_gateway(upstream, settings)
    old, lost = mixed_up(gateway, move_over)
    for key in [*old, *lost] * 2:
        assert gateway.post(key=key).status in (201, 503)
    assert [upstream.runs(key) for key in [*old, *lost]] == [1] * 15
    gateway.says("the log beside it")
    gateway.stop()


@pytest.mark.parametrize("running", [True, False], ids=["running", "killed"])
def test_a_log_that_is_removed_is_lost_memory(start_gateway, upstream, tmp_path, running):
    settings = config(tmp_path)
    settings["defaults"] = {"lease": "30s", "upstream_timeout": "30s"}  # the refusals last for it
    gateway = start_gateway(upstream, settings)
    keys = run_some(gateway, 5)
    before = (tmp_path / "store.witness").read_bytes()
    wait_until(lambda: run_some(gateway, 1) and
               (tmp_path / "store.witness").read_bytes() != before, what="the witness")
    if not running:
        gateway.kill()
    for suffix in ("-wal", "-shm"):
        beside(gateway, suffix).unlink()
    if not running:
        gateway.start()
    for key in keys:
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    assert [upstream.runs(key) for key in keys] == [1] * 5


# ---- backup and restore ---------------------------------------------------------------------
def test_a_backup_beside_a_busy_gateway_is_consistent(start_gateway, upstream):
    gateway = start_gateway(upstream)
    stop = threading.Event()
    reported = []

    def work():
        while not stop.is_set():
            reported.extend(run_some(gateway, 1))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    try:
        wait_until(lambda: len(reported) > 20, what="some work")
        surely = list(reported)
        saved = backup(gateway)
        wait_until(lambda: len(reported) > len(surely) + 20, what="work after it")
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert sorted(p.name for p in gateway.folder.glob("saved*")) == ["saved"]
    with contextlib.closing(sqlite3.connect(f"file:{saved}?immutable=1", uri=True)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("SELECT count(*) FROM records").fetchone()[0] >= len(surely)
    gateway.stop()
    assert restore(gateway, saved).returncode == 0
    gateway.start()
    for key in surely:
        assert gateway.post(key=key).replayed


def test_a_backup_never_overwrites(gateway, fresh_key):
    assert_first(gateway.post(key=fresh_key()))
    saved = backup(gateway, "once")
    before = saved.read_bytes()
    again = gateway.command("backup", str(saved))
    assert again.returncode == 1
    assert "there is such a file already" in again.stderr
    assert saved.read_bytes() == before
    missing = gateway.command("backup", str(gateway.folder / "no" / "such"))
    assert missing.returncode == 4


def test_a_backup_keeps_a_file_that_came_meanwhile(start_gateway, upstream):
    gateway = start_gateway(upstream)
    for key in run_some(gateway, 3):
        assert gateway.post(key=key).replayed
    for _ in range(100):
        assert_first(gateway.post(key=f"large-{uuid.uuid4()}", plan={"size": 200_000}))
    saved = gateway.folder / "saved"
    command = [str(gateway.binary), "backup", str(saved), "--store", gateway.store_url()]
    process = stopped_amid_its_work(command, f"{saved}.onceguard-part", made=saved,
                                    cwd=gateway.folder)
    saved.write_text("somebody else's")
    process.send_signal(signal.SIGCONT)
    _, why = process.communicate(timeout=60)
    assert process.returncode == 1 and "there is such a file already" in why, why
    assert saved.read_text() == "somebody else's"
    assert [path.name for path in gateway.folder.glob("saved*")] == ["saved"]


def test_two_backups_into_one_file_do_not_mix(start_gateway, upstream):
    gateway = start_gateway(upstream)
    run_some(gateway, 20)
    both = [subprocess.Popen([str(gateway.binary), "backup", "saved", "--store",
                              gateway.store_url()], cwd=gateway.folder, text=True,
                             stderr=subprocess.PIPE, env=clean_environment()) for _ in range(6)]
    ends = [(one.communicate(timeout=60)[1], one.returncode) for one in both]
    assert sorted(code for _, code in ends)[0] == 0, ends
    assert all(code in (0, 1) for _, code in ends), ends
    with contextlib.closing(sqlite3.connect(gateway.folder / "saved")) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("SELECT count(*) FROM records").fetchone()[0] == 20


def test_a_restored_backup_is_a_loss_that_is_noticed(start_gateway, upstream, tmp_path):
    settings = config(tmp_path)
    settings["defaults"]["upstream_timeout"] = "3s"  # the refusals last for it, and are waited for
    gateway = start_gateway(upstream, settings)
    old = run_some(gateway, 3)
    saved = backup(gateway)
    lost = run_some(gateway, 3)
    gateway.kill()  # its log is left
    done = restore(gateway, saved)
    assert done.returncode == 0, done
    assert "replaced-1" in done.stdout
    assert not beside(gateway, "-wal").exists()
    gateway.start()
    for key in lost:
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    for key, first in old.items():
        wait_until(lambda k=key: not refused(gateway, k), what="the end of the refusal")
        assert_replay_of(gateway.post(key=key), first)
    for key in lost:
        assert_first(gateway.post_in_time(key=key))
        assert gateway.record(key)["maybe_repeated"] is True
    gateway.stop()
    # What was there before is a store as well, with its log.
    assert restore(gateway, beside(gateway, ".replaced-1")).returncode == 0
    gateway.start()
    for key in lost:
        wait_until(lambda k=key: not refused(gateway, k), what="the end of the refusal")
        assert gateway.post(key=key).replayed
    assert [upstream.runs(key) for key in lost] == [2] * 3


def test_restore_wants_the_store_for_itself(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post(key=fresh_key()))
    saved = backup(gateway)
    before = gateway.database.stat().st_ino
    done = restore(gateway, saved)
    assert done.returncode == 1
    assert "has it open" in done.stderr
    gateway.stop()
    # Nor beside a program that knows nothing of Onceguard's locks.
    with contextlib.closing(sqlite3.connect(gateway.database)) as other:
        other.execute("SELECT count(*) FROM records").fetchone()
        done = restore(gateway, saved)
        assert done.returncode == 1
        assert "has it open" in done.stderr
    assert gateway.database.stat().st_ino == before
    assert restore(gateway, saved).returncode == 0
    assert gateway.database.stat().st_ino != before
    assert stat.S_IMODE(gateway.database.stat().st_mode) == 0o600


def damaged(saved):
    with open(saved, "r+b") as file:
        file.seek(saved.stat().st_size // 2)
        file.write(b"\xff" * 4096)


def foreign(saved):
    saved.unlink()
    with contextlib.closing(sqlite3.connect(saved)) as file:
        file.execute("CREATE TABLE theirs (x)")
        file.commit()


def cut(saved):
    with open(saved, "r+b") as file:
        file.truncate(saved.stat().st_size // 2)


@pytest.mark.parametrize("spoil, code, word", [
    (damaged, 1, "damaged"), (cut, 1, ""), (foreign, 1, "another program"),
    (lambda saved: saved.write_bytes(b""), 1, "is empty"),
    (lambda saved: saved.write_bytes(b"nonsense" * 1024), 1, "can't be read"),
    (lambda saved: saved.unlink(), 5, "No such file")],
    ids=["damaged", "cut", "foreign", "empty", "no database", "missing"])
def test_what_is_no_sound_backup_is_not_restored(start_gateway, upstream, spoil, code, word):
    gateway = start_gateway(upstream)
    keys = run_some(gateway, 40)
    saved = backup(gateway)
    gateway.stop()
    before = gateway.database.read_bytes()
    spoil(saved)
    done = restore(gateway, saved)
    assert done.returncode == code, done
    assert word in done.stderr
    assert gateway.database.read_bytes() == before
    assert not list(gateway.folder.glob("*restoring*")) + list(gateway.folder.glob("*replaced*"))
    gateway.start()
    assert all(gateway.post(key=key).replayed for key in keys)


def test_a_store_is_restored_where_there_was_none(start_gateway, upstream):
    gateway = start_gateway(upstream)
    keys = run_some(gateway, 3)
    saved = backup(gateway)
    gateway.stop()
    for suffix in ("", "-lock"):
        beside(gateway, suffix).unlink()
    assert restore(gateway, saved).returncode == 0
    gateway.start()
    assert all(gateway.post(key=key).replayed for key in keys)


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_only_a_file_is_backed_up_and_restored(onceguard, tmp_path, command):
    done = subprocess.run([str(onceguard), command, "file", "--store", "memory:"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60, check=False,
                          env=clean_environment())
    assert done.returncode == 2
    assert "operations.md" in done.stderr


# ---- two boot clocks ------------------------------------------------------------------------
def with_another_boot_id(folder, *command):
    """Runs it where the kernel seems to tell another boot id, as it is in some containers."""
    other = folder / "boot_id"
    other.write_text(f"{uuid.uuid4()}\n")
    mount = f"mount --bind '{other}' /proc/sys/kernel/random/boot_id"
    return subprocess.run(["unshare", "--mount", "sh", "-c", mount + ' && exec "$@"', "sh",
                           *map(str, command)],
                          capture_output=True, text=True, timeout=60, check=False,
                          env=clean_environment())


def with_a_shifted_boot_clock(_folder, *command):
    """Runs it in a time namespace of its own: the same boot id, and a boot clock that is ahead."""
    return subprocess.run(["unshare", "--time", "--boottime", "100000", *map(str, command)],
                          capture_output=True, text=True, timeout=60, check=False,
                          env=clean_environment())


@pytest.mark.parametrize("elsewhere", [with_another_boot_id, with_a_shifted_boot_clock])
def test_processes_with_two_boot_clocks_keep_off_each_others_leases(start_gateway, upstream, key,
                                                                    tmp_path, elsewhere):
    gateway = start_gateway(upstream)
    with contextlib.closing(gateway.begin_post(key=key, plan={"gate": key})) as running:
        wait_until(lambda: upstream.runs(key) == 1, what="the work beginning")
        other = elsewhere(tmp_path, gateway.binary, "keys", "list", "--store",
                                     gateway.store_url())
        assert other.returncode == 4, other
        assert "another boot id" in other.stderr
        assert_problem(gateway.post(key=key), 409, "in-progress", True, retry_after=True)
        upstream.open(key)
        assert_first(running.read())
    gateway.stop()
    alone = elsewhere(tmp_path, gateway.binary, "keys", "list", "--store", gateway.store_url())
    assert alone.returncode == 0, alone


# ---- a small volume -------------------------------------------------------------------------
@pytest.fixture
def small_volume(tmp_path):
    at = tmp_path / "volume"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(at)], check=True)
    yield at
    subprocess.run(["umount", "--lazy", str(at)], check=True)


def fill(volume):
    filler = volume / "filler"
    with pytest.raises(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(b"f" * 65536)
    return filler


def test_a_full_volume_stops_new_claims_and_nothing_else(start_gateway, upstream, small_volume,
                                                         fresh_key):
    gateway = start_gateway(upstream, {"gateway": {"replay_cache": "0"}},
                            database=small_volume / "keys.db")
    done = run_some(gateway, 20)
    filler = fill(small_volume)
    try:
        wait_until(lambda: gateway.post(key=fresh_key()).status == 503, timeout=60,
                   what="the log using up the room that it has")
        for _ in range(2):
            for key, first in list(done.items())[:3]:
                assert_replay_of(gateway.post(key=key), first)
            for command in (["keys", "list"], ["keys", "show", next(iter(done))], ["stats"],
                            ["sweep"]):
                reported = gateway.command(*command)
                assert reported.returncode == 0, (command, reported)
            gateway.restart()
    finally:
        filler.unlink()
    wait_until(lambda: gateway.post(key=fresh_key()).status == 201, what="claims again")
    gateway.stop()
