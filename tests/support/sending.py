"""The client under test: `onceguard send`, and the program that sends through a driver."""

import json
import os
import pathlib
import subprocess

from support.gateway import clean_environment

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DRIVERS = ["curl", "beast", "async"]


def send_with(driver, method, url, key="", body="", *ca_file_and_attempts, environment=None):
    """What came of a request, as the driver's program prints it."""
    built = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")
    program = built.parent / "tests/send_with"
    assert program.is_file(), f"no {program}: build it first"
    done = subprocess.run([str(program), driver, method, url, key, body,
                           *map(str, ca_file_and_attempts)],
                          capture_output=True, text=True, timeout=60, check=False,
                          env=clean_environment() | (environment or {}))
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def send_command(onceguard, *words):
    return [str(onceguard), "send", *map(str, words)]


def send(onceguard, folder, *words, stdin=""):
    return subprocess.run(send_command(onceguard, *words), cwd=folder, capture_output=True,
                          text=True, timeout=60, check=False, input=stdin,
                          env=clean_environment())
