"""A stand-in for Amazon DynamoDB of the tests' own, on a free port: support/dynamodb_server.mjs."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.request

from support.ports import Port
from support.waiting import wait_until

TESTS = pathlib.Path(__file__).resolve().parent.parent
KEY_ID, SECRET = "AKIDEXAMPLE", "the-secret-of-the-tests"


def node():
    """Node.js 22 of the npm packages: Debian's is older."""
    found = list((TESTS / "node_modules").glob("node-linux-*/bin/node"))
    assert found, "no Node.js 22 in tests/node_modules: ./dev deps"
    return str(found[0])


class DynamoDB:
    """Its tables are in memory, and gone when it stops."""

    def __init__(self, onceguard):
        self.onceguard = onceguard
        self.port = Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-dynamodb-"))
        self.process = None
        self.made = 0

    def start(self):
        assert self.process is None
        os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"] = KEY_ID, SECRET
        os.environ.pop("AWS_SESSION_TOKEN", None)
        with open(self.folder / "log", "ab") as log:
            # Should this process die before it could, the server ends at once.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", node(),
                 str(TESTS / "support/dynamodb_server.mjs"), str(self.port.number),
                 KEY_ID, SECRET],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers, 30, "the server answering")
        return self

    def _answers(self):
        assert self.process.poll() is None, f"the server ended:\n{self.log()}"
        try:
            with urllib.request.urlopen(self.endpoint(), timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def endpoint(self):
        return f"http://127.0.0.1:{self.port.number}"

    def crash(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def close(self):
        self.crash()
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    # ---- using it -------------------------------------------------------------------------
    def url(self, table):
        return f"dynamodb://us-east-1/{table}?endpoint={self.endpoint()}"

    def new_table(self):
        """The name of a table that nobody has made."""
        self.made += 1
        return f"store-{self.made}"

    def create_store(self):
        """The URL of a store of its own."""
        url = self.url(self.new_table())
        subprocess.run([str(self.onceguard), "migrate", "--store", url], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        return url
