"""`onceguard exec`: large outputs, and readers that are gone or full."""

import os
import subprocess

import pytest

from support.executing import FAILED_ITSELF
from support.waiting import wait_until

MIB = 1 << 20


def bytes_of(size):
    """What `numbers` prints: no two lines are the same."""
    text = b"".join(b"%015d\n" % i for i in range(size // 16 + 1))
    return text[:size]


def numbers(size, more=""):
    return ["python3", "-c", "import sys\n"
            f"data = b''.join(b'%015d\\n' % i for i in range({size} // 16 + 1))[:{size}]\n"
            f"sys.stdout.buffer.write(data)\n{more}"]


def files(exec_):
    folder = exec_.folder / "keys.db.output"
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("size", [0, 1, 262_143, 262_144, 262_145, 8 * MIB])
def test_output_of_any_size_is_replayed(exec_, key, size):
    first = exec_.run(key, *numbers(size))
    assert (first.code, first.out) == (0, bytes_of(size))
    assert exec_.run(key, *numbers(size)).triple == first.triple
    assert len(files(exec_)) == (size > 262_144)


def test_both_streams_of_a_large_output_are_kept_apart(exec_, key):
    more = "sys.stdout.flush()\nsys.stderr.write('e' * 300000)\nsys.stderr.flush()\nprint('end')\n"
    first = exec_.run(key, *numbers(MIB, more))
    assert first.triple == (0, bytes_of(MIB) + b"end\n", b"e" * 300_000)
    assert exec_.run(key, *numbers(MIB, more)).triple == first.triple


def test_files_are_private_and_go_where_they_are_wanted(exec_, key, tmp_path):
    folder = tmp_path / "some" / "where"
    exec_.run(key, *numbers(MIB), options=["--output-dir", folder])
    [kept] = list(folder.iterdir())
    assert kept.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    # A repeat finds them by the record.
    assert exec_.run(key, *numbers(MIB)).out == bytes_of(MIB)


def test_a_repeat_in_another_directory_finds_the_file(exec_, key):
    store, exec_.store = exec_.store, "sqlite:keys.db"  # beside the directory of the first call
    exec_.run(key, *numbers(MIB))
    exec_.store, exec_.folder = store, exec_.folder / "elsewhere"
    exec_.folder.mkdir()
    assert exec_.run(key, *numbers(MIB)).out == bytes_of(MIB)


def test_what_is_missing_is_said_and_the_beginning_is_shown(exec_, key):
    exec_.run(key, *numbers(MIB))
    for file in files(exec_):
        file.unlink()
    again = exec_.run(key, *numbers(MIB))
    assert again.code == 0 and b"not all" in again.err
    assert again.out == bytes_of(MIB)[:len(again.out)] and len(again.out) > 200_000


def test_damaged_files_are_no_output(exec_, key):
    exec_.run(key, *numbers(MIB))
    [file] = files(exec_)
    file.write_bytes(b"\xff" * 1000)
    again = exec_.run(key, *numbers(MIB))
    assert again.code == 0 and b"not all" in again.err and bytes_of(MIB).startswith(again.out)


def test_output_beyond_all_bounds_is_seen_and_not_kept(exec_, key):
    size = 65 * MIB
    process = exec_.begin(key, *numbers(size))
    seen = 0
    while block := process.stdout.read(MIB):
        seen += len(block)
    assert exec_.end(process).code == 0 and seen == size
    again = exec_.run(key, *numbers(size))
    assert again.code == 0 and b"not all" in again.err
    assert len(again.out) == 64 * MIB and again.out == bytes_of(64 * MIB)


def test_a_failed_run_leaves_no_file(exec_, key):
    assert exec_.run(key, *numbers(MIB, "sys.exit(3)")).code == 3
    assert exec_.state(key) == "failed"
    assert files(exec_) == []


def test_files_go_when_their_time_is_over(exec_, key):
    exec_.run(key, *numbers(MIB), options=["--fresh-after", "1h"])
    [old] = files(exec_)
    os.utime(old, (0, old.stat().st_mtime - 26 * 3600))
    exec_.run(f"{key}-2", *numbers(MIB))
    assert old not in files(exec_) and len(files(exec_)) == 1


def test_a_file_stays_as_long_as_its_record(exec_, key):
    """Two days of thirty are over: its time of modification is the end of the thirty."""
    exec_.run(key, *numbers(MIB), options=["--fresh-after", "30d"])
    [old] = files(exec_)
    os.utime(old, (0, old.stat().st_mtime - 2 * 24 * 3600))
    exec_.run(f"{key}-2", *numbers(MIB))
    assert old in files(exec_)
    again = exec_.run(key, *numbers(MIB), options=["--fresh-after", "30d"])
    assert (again.code, again.out) == (0, bytes_of(MIB))


def test_the_file_of_a_command_that_runs_stays(exec_, key):
    """It may have written nothing for hours."""
    os.mkfifo(exec_.folder / "go")
    waiting = "sys.stdout.flush()\nopen('go').read()"
    process = exec_.begin(key, *numbers(MIB, waiting), stdout=subprocess.DEVNULL)
    wait_until(lambda: files(exec_) and files(exec_)[0].stat().st_size > MIB, what="its file")
    [first] = files(exec_)
    os.utime(first, (0, first.stat().st_mtime - 2 * 3600))
    exec_.run(f"{key}-2", *numbers(MIB))
    assert first in files(exec_) and len(files(exec_)) == 2
    (exec_.folder / "go").write_text("on")
    assert exec_.end(process).code == 0


def test_a_disk_without_room_does_not_end_the_command(exec_, key):
    done = exec_.run(key, *numbers(MIB), options=["--output-dir", "/dev/null/nowhere"])
    assert (done.code, done.out) == (0, bytes_of(MIB))
    again = exec_.run(key, *numbers(MIB))
    assert again.code == 0 and b"not all" in again.err


def test_a_reader_that_is_gone_does_not_end_the_command(exec_, key):
    process = exec_.begin(key, *numbers(MIB, "open('whole', 'w').close()"))
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(60) == 0
    assert (exec_.folder / "whole").exists()
    again = exec_.run(key, *numbers(MIB, "open('whole', 'w').close()"))
    assert again.triple == (0, bytes_of(MIB), b"")


def test_standard_output_that_can_not_be_written_is_an_error(exec_, key):
    with open("/dev/full", "wb") as full:
        process = exec_.begin(key, "echo", "text", stdout=full)
        done = exec_.end(process)
    assert done.code == FAILED_ITSELF and b"standard output" in done.err
    assert exec_.run(key, "echo", "text").triple == (0, b"text\n", b"")


def test_closed_standard_streams_are_no_trap(exec_, key):
    """The numbers of closed descriptors are not given to the store's files."""
    script = " ".join(exec_.words(key, "echo", "text"))
    done = subprocess.run(["sh", "-c", f"{script} <&- >&- 2>&-"], cwd=exec_.folder,
                          env=exec_.environment(), timeout=60, check=False)
    assert done.returncode in (0, FAILED_ITSELF)
    assert exec_.run(key, "echo", "text").triple == (0, b"text\n", b"")
    assert exec_.state(key) == "completed"
