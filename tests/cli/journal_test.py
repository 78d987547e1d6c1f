"""Commands on a journal: backup and restore, check, export and import, doctor."""

import json
import shutil
import subprocess

import pytest

from support.doctor import examine
from support.expecting import assert_first, assert_replay_of


@pytest.fixture
def gateway(start_gateway, own_upstream, tmp_path):
    return start_gateway(own_upstream, {
        "store": {"url": f"journal:{tmp_path}/journal", "after_loss": "flag"},
        "gateway": {"state_dir": str(tmp_path)}})


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 4]))


def test_a_backup_beside_the_gateway_is_put_back(gateway, own_upstream, tmp_path, fresh_key):
    kept, late = fresh_key(), fresh_key()
    first = assert_first(gateway.post(key=kept))
    copy = tmp_path / "copy"
    done = gateway.command("backup", copy)
    assert (done.returncode, done.stdout) == (0, f"{copy}: written\n"), done
    assert_first(gateway.post(key=late))
    refused = gateway.command("restore", copy)
    assert refused.returncode == 4 and "has it open" in refused.stderr, refused
    gateway.stop()
    done = gateway.command("restore", copy)
    assert done.returncode == 0, done
    assert f"{tmp_path}/journal.replaced-1: what was there before" in done.stdout
    gateway.start()
    gateway.logged("store-lost-its-memory")
    assert_replay_of(gateway.post(key=kept), first)
    assert gateway.record(late) is None
    assert own_upstream.runs(kept) == 1


def test_a_copy_is_checked(gateway, tmp_path, fresh_key):
    keys = [fresh_key() for _ in range(10)]
    for key in keys:
        assert_first(gateway.post(key=key))
    copy = tmp_path / "copy"
    assert gateway.command("backup", copy).returncode == 0
    done = gateway.command("backup", "--check", copy)
    assert (done.returncode, done.stdout) == (0, f"{copy}: 10 keys, all readable\n"), done
    segment = copy / "segment-0000000001"
    body = segment.read_bytes().rindex(keys[3].encode())  # of the record as it was completed
    flip(segment, body)
    done = gateway.command("backup", "--check", copy)
    assert done.returncode == 1, done
    assert "of 10 keys 1 have a damaged record" in done.stderr
    flip(segment, body)
    flip(segment, 72 + 20)  # the header of the first frame
    done = gateway.command("backup", "--check", copy)
    assert done.returncode == 4, done
    assert "segment-0000000001 at byte 72" in done.stderr
    missing = gateway.command("backup", "--check", tmp_path / "nothing")
    assert missing.returncode == 4 and "No such file" in missing.stderr, missing


def test_a_copy_of_a_sqlite_store_is_checked(start_gateway, own_upstream, tmp_path, fresh_key):
    gateway = start_gateway(own_upstream)
    for _ in range(3):
        assert_first(gateway.post(key=fresh_key()))
    copy = tmp_path / "copy.db"
    assert gateway.command("backup", copy).returncode == 0
    done = gateway.command("backup", "--check", copy)
    assert (done.returncode, done.stdout) == (0, f"{copy}: 3 keys, whole\n"), done
    in_use = gateway.command("backup", "--check", gateway.database)
    assert in_use.returncode == 1 and "a store in use" in in_use.stderr, in_use
    with open(copy, "r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    damaged = gateway.command("backup", "--check", copy)
    assert damaged.returncode == 1 and "damaged" in damaged.stderr, damaged
    assert gateway.command("backup", "--check", tmp_path / "nothing").returncode == 5


def test_records_are_exported_from_a_copy_and_imported(gateway, own_upstream, tmp_path, fresh_key):
    keys = [fresh_key() for _ in range(5)]
    firsts = [assert_first(gateway.post(key=key)) for key in keys]
    copy, file = tmp_path / "copy", tmp_path / "records.jsonl"
    assert gateway.command("backup", copy).returncode == 0
    done = gateway.command("keys", "export", file, store=f"journal:{copy}")
    assert done.returncode == 0, done
    assert len(file.read_text().splitlines()) >= len(keys)
    gateway.stop()
    shutil.rmtree(tmp_path / "journal")
    done = gateway.command("keys", "import", file)
    assert done.returncode == 0, done
    again = tmp_path / "again.jsonl"
    assert gateway.command("keys", "export", again).returncode == 0

    def records(path):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return {line["key"]: (line.get("state"), line.get("answer")) for line in lines
                if "key" in line}
    assert records(again) == records(file)
    gateway.start()
    for key, first in zip(keys, firsts):
        assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.effects() == {key: 1 for key in keys}


def test_doctor_looks_at_it(gateway, onceguard, tmp_path, key):
    assert_first(gateway.post(key=key))
    owned = examine(onceguard, "--store", gateway.store_url()).one("store-reach")
    assert owned["level"] == "ok"
    assert f"a process {gateway.process.pid} has it open" in owned["text"]
    gateway.stop()
    report = examine(onceguard, "--store", gateway.store_url())
    assert "opened, 1 segment" in report.one("store-reach")["text"]
    for subject in ("store-reach", "store-writes", "store-rights"):
        assert report.level(subject) == "ok", subject
    assert report.one("store-room") and report.one("store-file-system")
    flip(tmp_path / "journal" / "segment-0000000001", 30)
    damaged = examine(onceguard, "--store", gateway.store_url()).one("store-reach")
    assert damaged["level"] == "fault" and "segment-0000000001" in damaged["text"]
    none = examine(onceguard, "--store", f"journal:{tmp_path}/none")
    assert "there is no store yet" in none.one("store-reach")["text"]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("size, level", [("100m", "fault"), ("160m", "warning"), ("400m", "ok")])
def test_doctor_says_before_the_first_start_what_room_it_needs(onceguard, tmp_path, size, level):
    volume = tmp_path / "volume"
    volume.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", volume], check=True)
    try:
        report = examine(onceguard, "--store", f"journal:{volume}/journal")
        assert not (volume / "journal").exists()
    finally:
        subprocess.run(["umount", "--lazy", volume], check=True)
    assert report.level("store-room") == level
    says = "a journal takes 128 MiB at its start" in report.one("store-room")["text"]
    assert says == (level == "fault")
