"""The servers of tests/middleware that have a handler for each way of answering."""

import os
import pathlib
import subprocess

from support.client import ask, fields_for
from support.ports import Port
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class AnsweringServer:
    """tests/middleware/ADAPTER_answers.cpp on a port of its own."""

    def __init__(self, adapter, *words):
        self.adapter = adapter
        built = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")
        program = built.parent / "tests" / f"{adapter}_answers"
        assert program.is_file(), f"no {program}: build it first"
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", str(program), str(self.port.number),
             *map(str, words)], stdin=subprocess.DEVNULL)
        wait_until(self.up, timeout=30, what=program.name)

    def up(self):
        assert self.process.poll() is None, f"ended with {self.process.returncode}"
        try:
            return self.runs() == 0
        except OSError:
            return False

    def close(self):
        self.process.kill()
        self.process.wait()
        self.port.close()

    def runs(self):
        return int(ask(self.address, "GET", "/runs").body)

    def post(self, path, body=b"", fields=(), key='"k1"'):
        return ask(self.address, "POST", path, fields_for(key, fields=fields), body)
