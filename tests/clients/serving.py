"""Starts `onceguard serve`, and services in any language that use it, and kills both amid work.

A service is a program that is told by its environment: PORT, where it listens on 127.0.0.1;
ONCEGUARD_URL, where `onceguard serve` is; EFFECTS, a file to which its work appends a line (the
name of the counter) for each run, before the run goes on. It answers the requests of the
conformance kit (docs/conformance.md).
"""

import collections
import json
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from support.client import Connection, ask
from support.gateway import PATIENT, clean_environment, records_of
from support.ports import Port
from support.toml import toml_text
from support.waiting import SCALE, stands_still, wait_until

BODY = b'{"amount":100}'
REQUIRED = {"path": "/conformance/required", "required": True}


class Program:
    """A process with a log, that a test starts, stops and kills."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.log_path = self.folder / f"{name}.log"
        self.process = None

    def launch(self, command, environment):
        assert self.process is None, f"{self.name} runs already"
        with open(self.log_path, "ab") as log:
            # The kernel ends it should this process die before it could.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def wait_listening(self, family, address, timeout=30):
        def ready():
            code = self.process.poll()
            assert code is None, f"{self.name} ended with {code}:\n{self.log()}"
            with socket.socket(family) as probe:
                return probe.connect_ex(address) == 0
        wait_until(ready, timeout, f"{self.name} listening")

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            stands_still(self.process.pid)

    def wait(self, timeout=90):
        """Waits for its end and returns the exit code."""
        code = self.process.wait(timeout)
        self.process = None
        return code

    def stop(self, timeout=90):
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.wait()

    def close(self):
        """Leaves nothing running, in whatever state it is."""
        if self.process is not None:
            self.process.kill()
            self.wait()


class Serve(Program):
    """One `onceguard serve` on a Unix socket (or a port: `tcp`), with a SQLite file of its own.

    `config` may have the tables serve, store, defaults, route, policy …; what is missing is filled
    in: requests at /conformance/required need a key, and all others are guarded if they have one.
    """

    def __init__(self, binary, folder, config=None, tcp=False):
        super().__init__(folder, "serve")
        self.binary = binary
        self.port = Port() if tcp else None
        # The path of a socket is short, and pytest's folders may be deep.
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-serve-"))
        self.socket = self.sockets / "s"
        self.listen = f"127.0.0.1:{self.port.number}" if tcp else f"unix:{self.socket}"
        self.url = f"http://{self.listen}" if tcp else self.listen
        self.config_path = self.folder / "serve.toml"
        self.write_config(config or {})

    def write_config(self, config):
        store = {"url": f"sqlite:{self.folder}/onceguard.db", "timeout": "10s",
                 **config.get("store", {})}
        self.store_url = store["url"]
        whole = {**config, "store": store,
                 "serve": {"listen": self.listen, **config.get("serve", {})},
                 "route": config.get("route") or [dict(REQUIRED), {"path": "/"}]}
        self.config_path.write_text(toml_text(whole))

    def start(self):
        self.launch([self.binary, "serve", "--config", self.config_path], clean_environment())
        if self.port:
            self.wait_listening(socket.AF_INET, ("127.0.0.1", self.port.number))
        else:
            self.wait_listening(socket.AF_UNIX, str(self.socket))
        return self

    def close(self):
        super().close()
        shutil.rmtree(self.sockets, ignore_errors=True)
        if self.port:
            self.port.close()

    def records(self):
        """What `keys list --json` says, as a list of records."""
        done = subprocess.run(
            [str(self.binary), "keys", "list", "--json", "--store", self.store_url],
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
            env={**clean_environment(), **PATIENT})
        assert done.returncode == 0, done
        return records_of(done.stdout)

    def state(self, key):
        """The state of the one record with this key, or None."""
        found = [record for record in self.records() if record["key"] == key]
        assert len(found) <= 1, found
        return found[0]["state"] if found else None


class Service(Program):
    """A service that uses `onceguard serve` through a client library."""

    def __init__(self, command, folder, url, environment=None, path="/conformance/runs/none"):
        super().__init__(folder, "service")
        self.command = command
        self.path = path
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.url = f"http://127.0.0.1:{self.port.number}"
        self.effects_path = self.folder / "effects"
        self.environment = {
            **clean_environment(), "PORT": str(self.port.number), "ONCEGUARD_URL": url,
            "EFFECTS": str(self.effects_path), **(environment or {})}

    def start(self):
        self._end_torn_line()
        self.launch(self.command, self.environment)
        self.wait_listening(socket.AF_INET, self.address)
        wait_until(lambda: ask(self.address, "GET", self.path).status == 200, 30, self.name)
        return self

    def close(self):
        super().close()
        self.port.close()

    def _end_torn_line(self):
        # A write that SIGKILL meets at the end of a page is cut there, and the next process would
        # go on in that line: its own effect would not be found.
        if self.effects_path.exists() and not self.effects_path.read_bytes().endswith(b"\n"):
            with open(self.effects_path, "ab") as effects:
                effects.write(b"\n")

    # ---- asking it
    def fields(self, key, counter=None, work=None, more=()):
        made = [("Content-Type", "application/json"), *more]
        if key is not None:
            made.append(("Idempotency-Key", key))
        if counter or key:
            made.append(("Conformance-Counter", counter or key))
        if work is not None:
            made.append(("Conformance-Work", json.dumps(work)))
        return made

    def post(self, key=None, work=None, body=BODY, counter=None, path="/conformance", fields=(),
             **how):
        """A POST whose work counts as `counter` (without it: the key). One that a busy machine left
        too little of its lease ran nothing, says so, and comes again."""
        def in_time():
            answer = ask(self.address, "POST", path, self.fields(key, counter, work, fields), body,
                         **how)
            return None if answer.problem == "overloaded" else answer
        return wait_until(in_time, what=f"a lease that is long enough for {key}")

    def begin_post(self, key, work=None, body=BODY, path="/conformance", fields=()):
        """A POST whose answer is still to be read; the caller closes the connection."""
        connection = Connection(self.address, timeout=60)
        connection.send_request("POST", path, self.fields(key, None, work, fields), body)
        return connection

    def begin_work(self, key, work, **how):
        """The same, once its work has begun: a busy machine may be too late for the lease, and has
        the client ask again."""
        def begun():
            client = self.begin_post(key, work, **how)
            line = client.socket
            wait_until(lambda: self.effects()[key] or select.select([line], [], [], 0)[0],
                       30, f"the work of {key}, or an answer")
            if self.effects()[key]:
                return client
            refused = answered(client)
            # A claim that its store was too late for is in doubt for a while.
            assert refused is not None and (
                refused.status == 503 or refused.problem == "in-progress"), refused
            return None
        return wait_until(begun, 30, f"the work of {key}")

    # ---- looking at what it did
    def effects(self):
        """How often the work of each counter was done, by the service's own file."""
        if not self.effects_path.exists():
            return collections.Counter()
        return collections.Counter(self.effects_path.read_text().split())

    def ran(self, counter):
        """Waits until the work of the counter has begun."""
        wait_until(lambda: self.effects()[counter], 30, f"the work of {counter}")


def answered(connection):
    """The answer, or None where the connection ended without a whole one."""
    try:
        answer = connection.read()
        return None if answer.truncated else answer
    except OSError:
        return None
    finally:
        connection.close()


def final(service, key, work=None, patience=60):
    """The answer that a client gets in the end who sends the same request as long as it may."""
    def asked():
        answer = service.post(key, work)
        again = answer.status == 503 or answer.problem == "in-progress"
        return None if again else answer
    return wait_until(asked, patience, f"a final answer for {key}")


def share_of_kills(whole):
    """All at scale 1. Each costs a start of a service, so a share of the suites has few."""
    return max(6, int(whole * SCALE * SCALE))


def amid_kills(victim, service, rounds, fresh_key, in_time=None):
    """Kills `victim` (the service or the `onceguard serve`) amid a request, so many times.

    Of each round: the key, and the answer that the first client got (None: the connection ended).
    Afterwards each key is sent again until it has its final answer; these come with them. No work
    ran twice, and what was answered ran. `in_time`: seconds after which no key is stuck.
    """
    seed = random.SystemRandom().randrange(1 << 32)
    moments = random.Random(seed)
    pause = threading.Event()
    done = []
    for number in range(rounds):
        key = fresh_key()
        work = {"delay": moments.choice([0, 5, 20, 60])}
        if number % 3 == 0:  # However slow the machine is, some die after the effect.
            client = service.begin_work(key, work)
        else:
            client = service.begin_post(key, work)
            pause.wait(moments.choice([0, 0.002, 0.01, 0.03, 0.1]) * moments.random())
        victim.kill()
        victim.start()
        done.append((key, answered(client)))
        assert service.effects()[key] <= 1, f"seed {seed}, round {number}: {key} ran twice"
    began = time.monotonic()
    ends = [(key, first, final(service, key)) for key, first in done]
    if in_time is not None:
        took = time.monotonic() - began
        assert took < 2 * (in_time + rounds * 0.5), f"seed {seed}: stuck"
    effects = service.effects()
    for key, first, last in ends:
        what = f"seed {seed}, {key}: {effects[key]} runs, {first}, then {last}"
        assert effects[key] <= 1, what
        assert last.problem == "outcome-unknown" or (last.status == 201 and effects[key] == 1), what
        if first is not None and first.status == 201:
            assert (last.stored_part(), last.replayed) == (first.stored_part(), True), what
    return ends

