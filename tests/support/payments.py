"""The payment servers of examples/ with the middleware in them, which tests start and kill."""

import os
import pathlib
import subprocess

from support.client import ask
from support.ports import Port
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Those whose names end with a database pay in a transaction of it.
IN_SQLITE = ["beast-sqlite", "httplib-sqlite", "pistache-sqlite", "restinio-sqlite"]
SERVERS = ["beast", "beast-postgres", "httplib", "pistache", "restinio", *IN_SQLITE]


def level_of(example):
    """What the server keeps of the contract: a level of the conformance kit."""
    return "transaction" if example.endswith(("-sqlite", "-postgres")) else "onceguard"


def program_of(example):
    """The built server of an example."""
    built = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")
    program = built.parent / "examples" / example / f"{example.replace('-', '_')}_payments"
    assert program.is_file(), f"no {program}: build it first"
    return program


class PaymentServer:
    """One example on a port of its own, with the store or database and the further words that it is
    given."""

    def __init__(self, example, store, *more):
        self.program = program_of(example)
        self.words = [str(word) for word in (store, *more)]
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", str(self.program), str(self.port.number),
             *self.words], stdin=subprocess.DEVNULL)
        wait_until(self.up, timeout=30, what="the payment server")

    def up(self):
        assert self.process.poll() is None, f"ended with {self.process.returncode}"
        try:
            return ask(self.address, "GET", "/payments").status == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.port.close()

    def pay(self, what, key=None, **how):
        fields = [("Idempotency-Key", f'"{key}"')] if key else []
        fields.append(("Authorization", "Bearer of-ada"))
        return ask(self.address, "POST", "/payments", fields, what, **how)

    def payments(self):
        return ask(self.address, "GET", "/payments").body.decode().split()
