"""`onceguard exec`: runs it, and counts what its commands did by a file that they append to."""

import pathlib
import subprocess
from dataclasses import dataclass

from support.gateway import PATIENT, clean_environment
from support.waiting import Stopwatch, wait_until

TRY_LATER, OTHER_COMMAND, UNKNOWN, NOT_RECORDED, FAILED_ITSELF = 75, 120, 121, 122, 125

# Counts the signals that it gets in the file `signals`, and ends when the file `go` is there.
COUNTS = r"""import os, select, signal, sys
def count(number, frame):
    with open("signals", "a") as file: file.write(f"{number}\n")
for name in sys.argv[1:]: signal.signal(getattr(signal, name), count)
print("ready", flush=True)
while not os.path.exists("go"): select.select([], [], [], 0.02)
"""


@dataclass
class Done:
    code: int
    out: bytes
    err: bytes

    @property
    def triple(self):
        return self.code, self.out, self.err


class Executing:
    """A folder with a store, and a file of effects: a line for each run of a command."""

    def __init__(self, onceguard, folder, store=None):
        self.onceguard = onceguard
        self.folder = pathlib.Path(folder)
        self.store = store or f"sqlite:{self.folder}/keys.db"
        self.effects = self.folder / "effects"
        self.running = []

    def words(self, key, *command, options=()):
        return [str(self.onceguard), "exec", "--store", self.store, "--key", key,
                *map(str, options), "--", *map(str, command)]

    def environment(self, **more):
        return {**clean_environment(), **PATIENT, "EFFECTS": str(self.effects), **more}

    def begin(self, key, *command, options=(), environment=None, **how):
        """A process, with pipes in place of its standard streams unless `how` says otherwise."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **how}
        process = subprocess.Popen(self.words(key, *command, options=options), cwd=self.folder,
                                   env=self.environment(**(environment or {})), **streams)
        self.running.append(process)
        return process

    def run(self, key, *command, options=(), stdin=b"", environment=None):
        process = self.begin(key, *command, options=options, environment=environment,
                             stdin=subprocess.PIPE)
        return self.end(process, stdin)

    def end(self, process, stdin=None, within=120):
        out, err = process.communicate(stdin, timeout=within)
        self.running.remove(process)
        return Done(process.returncode, out, err)

    def shell(self, key, script, **how):
        """Runs a script that first leaves its mark among the effects."""
        return self.run(key, *marking(key, script), **how)

    def begin_shell(self, key, script, **how):
        return self.begin(key, *marking(key, script), **how)

    def runs(self, key=None):
        lines = self.effects.read_text().split() if self.effects.exists() else []
        return sum(key in (None, line) for line in lines)

    def ran(self, count, key=None):
        wait_until(lambda: self.runs(key) >= count, what=f"run {count} of {key}")

    def ask(self, *words):
        return subprocess.run([str(self.onceguard), *map(str, words), "--store", self.store],
                              cwd=self.folder, env=self.environment(), capture_output=True,
                              text=True, timeout=60)

    def release_running(self, key):
        """A lease that is renewed between the command's look and its act is another one to it."""
        wait_until(lambda: self.ask("keys", "release", key, "--force").returncode == 0,
                   what="the release")

    def state(self, key):
        done = self.ask("keys", "show", key)
        states = [line.split()[1] for line in done.stdout.splitlines()
                  if line.startswith("state ")]
        return states[0] if states else None

    def signals(self):
        """Those that COUNTS has got."""
        file = self.folder / "signals"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def close(self):
        for process in self.running:
            process.kill()
            process.communicate()


def marking(key, script):
    return ["sh", "-c", f'echo "{key}" >>"$EFFECTS"\n{script}']


def processes_with(mark):
    """The ids of the processes whose name for themselves is the mark."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if file.read_bytes().split(b"\0")[0] == mark.encode():
                found.append(int(file.parent.name))
        except OSError:
            pass  # gone meanwhile
    return found


def none_left(mark, within=10):
    wait_until(lambda: not processes_with(mark), timeout=within, what=f"the end of {mark}")


def pause(seconds):
    """For what must not happen within that time."""
    clock = Stopwatch()
    wait_until(lambda: clock.seconds >= seconds, timeout=seconds + 10, what="the end of a pause")
