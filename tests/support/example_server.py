"""A server of examples/, on a port of its own, which tests start and kill."""

import os
import pathlib
import subprocess

from support.client import ask
from support.ports import Port
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def built_example(name, program):
    """The program of an example, as it was built."""
    built = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")
    found = built.parent / "examples" / name / program
    assert found.is_file(), f"no {found}: build it first"
    return found


class ExampleServer:
    """`path`: what it answers with 200 once it is up."""

    def __init__(self, program, path, words):
        self.program = program
        self.path = path
        self.words = [str(word) for word in words]
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", str(self.program), str(self.port.number),
             *self.words], stdin=subprocess.DEVNULL)
        wait_until(self.up, timeout=30, what=self.program.name)

    def up(self):
        assert self.process.poll() is None, f"ended with {self.process.returncode}"
        try:
            return ask(self.address, "GET", self.path).status == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.port.close()
