"""Test services for the conformance kit."""

import json
import pathlib
import subprocess
import sys

import pytest

from support.conformance import Kit

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def start_service():
    """Starts a program that prints its port as JSON, and gives its URL."""
    running = []

    def start(*command):
        # The kernel ends it should this process die before it could.
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)],
                                   cwd=HERE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        line = process.stdout.readline()
        assert line, f"{command} did not start"
        return f"http://127.0.0.1:{json.loads(line)['port']}"

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="session")
def service(start_service):
    """The URL of the Python test service."""
    return start_service(sys.executable, HERE / "service.py")


@pytest.fixture
def kit(onceguard):
    return lambda url: Kit(onceguard, url)
