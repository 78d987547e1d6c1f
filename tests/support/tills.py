"""Tills that charge through `execute`, to be killed: tests/store/execute_charge.cpp."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

POINTS = {
    "once": ["before claim", "after claim", "inside the effect", "before commit",
             "after commit"],
    "steps": ["before claim", "after claim", "inside step one", "between the steps",
              "inside step two", "before the answer", "after commit"],
}


def charges_of(mode, key):
    """What the business table is to hold of this key: each once."""
    parts = [key] if mode == "once" else [key + " one", key + " two"]
    return {who: 1 for part in parts for who in (part, part + " fee")}


class Till:
    """One running program."""

    def __init__(self, url, mode, *options):
        built = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")
        program = built.parent / "tests/execute_charge"
        assert program.is_file(), f"no {program}: build it first"
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", str(program), url, mode, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def send(self, *keys):
        for key in keys:
            self.process.stdin.write(key + "\n")

    def read(self):
        """The next line, without what ends it; empty once it is dead."""
        return self.process.stdout.readline().rstrip("\n")

    def charge(self, key):
        """Charges, and gives "run" or "replay", and the answer."""
        self.send(key)
        reported = self.read()
        assert reported.startswith(key + " "), reported
        return reported[len(key) + 1:].split(" ", 1)

    def kill(self):
        """Kills it, and gives what it had said until then and nobody has read."""
        self.process.kill()
        rest = self.process.stdout.read().splitlines()
        self.process.wait()
        self.close()
        return rest

    def finish(self):
        """Lets it come to the end of its keys; the lines that it said."""
        self.process.stdin.close()
        lines = self.process.stdout.read().splitlines()
        assert self.process.wait() == 0
        self.process.stdout.close()
        return lines

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:  # what it did not live to read
                pass
