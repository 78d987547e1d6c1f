"""What a command could not write is a failure, and a reader that has enough is none to talk of."""

import fcntl
import itertools
import json
import os
import resource
import sqlite3
import subprocess
import sys
import termios
import uuid

import pytest

from support.gateway import PATIENT, clean_environment
from support.waiting import wait_until

UPSTREAM = ["--upstream", "http://127.0.0.1:9"]
HELP = [[], ["gateway"], ["demo"], ["check"], ["explain"], ["keys"], ["keys", "list"],
        ["keys", "show"], ["keys", "release"], ["keys", "complete"], ["keys", "export"],
        ["keys", "import"], ["stats"], ["reconcile"], ["sweep"], ["migrate"], ["backup"],
        ["restore"]]


class Place:
    """A store with a record, beside its gateway, and what commands need besides it."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.store = ["--store", gateway.store_url()]
        self.numbers = itertools.count()

    def key(self, plan=None):
        key = f"key-{uuid.uuid4()}"
        assert self.gateway.post(key=key, plan=plan).status == (plan or {}).get("status", 201)
        return key

    def file(self):
        return str(self.gateway.folder / f"file-{uuid.uuid4()}")

    def written_by(self, *command):
        file = self.file()
        assert self.gateway.command(*command, file).returncode == 0
        return file


COMMANDS = {
    "check": lambda made: ["check", *UPSTREAM],
    "check --reference": lambda made: ["check", "--reference"],
    "check --events": lambda made: ["check", "--events"],
    "explain": lambda made: ["explain", "POST", "/x", *UPSTREAM, *made.store],
    "explain --json": lambda made: ["explain", "POST", "/x", "--json", *UPSTREAM, *made.store],
    "keys list": lambda made: ["keys", "list", *made.store],
    "keys list --json": lambda made: ["keys", "list", "--json", *made.store],
    "keys show": lambda made: ["keys", "show", made.key(), *made.store],
    "keys show --body": lambda made: ["keys", "show", made.key(), "--body", *made.store],
    "keys release": lambda made: ["keys", "release", made.key({"status": 500}), *made.store],
    "keys complete": lambda made: ["keys", "complete", made.key({"status": 500}), *made.store],
    "keys export": lambda made: ["keys", "export", made.file(), *made.store],
    "keys import": lambda made: ["keys", "import", made.written_by("keys", "export"), "--store",
                               f"sqlite:{made.file()}"],
    "stats": lambda made: ["stats", *made.store],
    "stats --json": lambda made: ["stats", "--json", *made.store],
    "sweep": lambda made: ["sweep", *made.store],
    "migrate": lambda made: ["migrate", *made.store],
    "migrate --print": lambda made: ["migrate", "--print"],
    "backup": lambda made: ["backup", made.file(), *made.store],
    "restore": lambda made: ["restore", made.written_by("backup"), "--store",
                             f"sqlite:{made.file()}"],
    "version": lambda made: ["--version"],
    **{" ".join(["help", *words]): lambda made, words=words: [*words, "--help"] for words in HELP},
}


@pytest.fixture(params=list(COMMANDS))
def make(request, gateway):
    """Makes a command line that has something to say; what it changes can be changed again."""
    at = Place(gateway)
    at.key()
    return lambda: [str(gateway.binary), *COMMANDS[request.param](at)]


def run(command, **how):
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=60, text=True,
                          env={**clean_environment(), **PATIENT}, stderr=subprocess.PIPE, **how)


def errors_of(done):
    """The lines of standard error, without those of the audit log."""
    return [line for line in done.stderr.splitlines() if '"event":"audit"' not in line]


def assert_failed(done, why):
    assert done.returncode == 1, done
    assert errors_of(done) == [f"onceguard: standard output can't be written: {why}"], done


def without_output(command):
    return ["sh", "-c", 'exec "$@" >&-', "sh", *command]


def test_output_that_goes_nowhere(make):
    assert run(make(), stdout=subprocess.DEVNULL).returncode == 0
    with open("/dev/full", "wb") as full:
        assert_failed(run(make(), stdout=full), "No space left on device")
    assert_failed(run(without_output(make())), "Bad file descriptor")
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as gone:
        done = run(make(), stdout=gone)
    assert (done.returncode, errors_of(done)) == (1, [])


def test_the_demo(onceguard):
    with open("/dev/full", "wb") as full:
        assert_failed(run([str(onceguard), "demo", "--json"], stdout=full),
                      "No space left on device")


@pytest.mark.parametrize("arguments, code", [
    (["keys", "show", "no-such-key"], 5), (["check", "--lease", "x", *UPSTREAM], 3)],
    ids=["not found", "configuration"])
def test_what_failed_before_its_output_keeps_its_exit_code(gateway, arguments, code):
    store = ["--store", gateway.store_url()]
    with open("/dev/full", "wb") as full:
        assert run([str(gateway.binary), *arguments, *store], stdout=full).returncode == code


def filled(gateway):
    """With more than any buffer takes, and than a page of an export has."""
    with gateway.connect() as line:
        for number in range(600):
            line.send_request("POST", "/charges", [("Idempotency-Key", f"many-{number}")], b"{}")
            assert line.read().status == 201
    return gateway


@pytest.fixture(scope="module")
def many(gateway):
    return filled(gateway)


def limited(size):
    """Files may be so long, and no longer."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 4096, 10_000])
def test_a_disk_that_fills_amid_a_long_list(many, tmp_path, size):
    command = [str(many.binary), "keys", "list", "--json", "--store", many.store_url()]
    with open(tmp_path / "out", "wb") as out:
        assert_failed(run(command, stdout=out, preexec_fn=limited(size)), "File too large")


def test_a_slow_reader_of_a_pipe_that_waits_for_nobody_gets_all(many):
    command = [str(many.binary), "keys", "list", "--json", "--store", many.store_url()]
    whole = run(command, stdout=subprocess.PIPE).stdout
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE) as listing:
        os.close(writer)
        wait_until(lambda: state_of(listing) == "S" and full(reader), 30, "the full pipe")
        with open(reader, "rb") as pipe:
            got = pipe.read()
        assert (listing.wait(60), listing.stderr.read()) == (0, b"")
    assert got.count(b"\n") == whole.count("\n") > 600
    assert [json.loads(line)["key"] for line in got.splitlines()] == [
        json.loads(line)["key"] for line in whole.splitlines()]


def state_of(process):
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(") ")[2][0]


def full(pipe):
    """Pages of a pipe, each of which may have a rest that was too small for the next piece."""
    held = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(held, sys.byteorder) >= 15 * 4096


def test_head_gets_its_line_and_nobody_a_word(many):
    command = f"{many.binary} keys list --json --store '{many.store_url()}' | head -n 1"
    done = run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (1, 1, "")


@pytest.fixture(scope="module")
def whole_export(many):
    """How long one is."""
    file = many.folder / "whole.jsonl"
    assert many.command("keys", "export", str(file)).returncode == 0
    return file.stat().st_size


@pytest.mark.parametrize("missing", [1, 10, 200_000, None])
def test_an_export_that_does_not_fit_is_none(many, whole_export, tmp_path, missing):
    file = tmp_path / "records.jsonl"
    size = whole_export - missing if missing else 0
    done = run([str(many.binary), "keys", "export", str(file), "--store", many.store_url()],
               stdout=subprocess.PIPE, preexec_fn=limited(size))
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr == f"onceguard: {file}: File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_does_not_fit_ends_there(start_gateway, upstream, tmp_path):
    many = filled(start_gateway(upstream))
    many.stop()
    with sqlite3.connect(many.database) as at:
        at.execute("UPDATE records SET record = x'00' WHERE id = (SELECT max(id) FROM records)")
    at.close()
    file = tmp_path / "records.jsonl"
    command = [str(many.binary), "keys", "export", str(file), "--store", many.store_url()]
    done = run(command, stdout=subprocess.PIPE)
    assert done.returncode == 1 and "1 records can't be read" in done.stderr
    # A page that comes before it is full already. SQLite's own files are not longer than that.
    done = run(command, stdout=subprocess.PIPE, preexec_fn=limited(60_000))
    assert (done.returncode, done.stderr) == (1, f"onceguard: {file}: File too large\n")
