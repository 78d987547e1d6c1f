"""What a command could not write is a failure, and a reader that has enough is none to talk of."""

import os
import subprocess

import pytest

from support.gateway import clean_environment

COMMANDS = {
    "keys list": ["keys", "list"],
    "stats": ["stats"],
    "help": ["--help"],
    "version": ["--version"],
    "reference": ["check", "--reference"],
}


@pytest.fixture(params=list(COMMANDS))
def command(request, gateway, key):
    """One with something to say, on a store with a record."""
    assert gateway.post(key=key).status == 201
    arguments = list(COMMANDS[request.param])
    if request.param in ("keys list", "stats"):
        arguments += ["--store", gateway.store_url()]
    return [str(gateway.binary), *arguments]


def run(command, **how):
    return subprocess.run(command, stdin=subprocess.DEVNULL, env=clean_environment(), check=False,
                          timeout=60, text=True, stderr=subprocess.PIPE, **how)


def assert_failed(done):
    assert done.returncode == 1, done
    assert done.stderr.startswith("onceguard: standard output can't be written"), done
    assert done.stderr.count("\n") == 1, done


def test_a_full_disk_is_a_failure(command):
    with open("/dev/full", "wb") as full:
        done = run(command, stdout=full)
    assert_failed(done)


def test_a_reader_that_has_gone_ends_it_without_a_word(command):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as gone:
        done = run(command, stdout=gone)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_output_is_a_failure(command):
    done = run(["sh", "-c", 'exec "$@" >&-', "sh", *command])
    assert_failed(done)


def test_an_output_that_takes_all_is_none(command):
    assert run(command, stdout=subprocess.DEVNULL).returncode == 0
