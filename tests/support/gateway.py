"""Starts, stops, kills and asks a gateway."""

import atexit
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from support.client import Connection, ask, fields_for
from support.ports import Port
from support.toml import toml_text
from support.waiting import stands_still, wait_until

DEFAULT_BODY = b'{"amount":100}'
# A loaded machine with a slow disk is no store that is away. An option goes before it.
PATIENT = {"ONCEGUARD_STORE_TIMEOUT": "20s"}
# Why a request is refused that a busy machine left too little of its lease.
NO_TIME = ("too little of the lease was left", "the lease was over before the first byte")


class Gateway:
    """One `onceguard gateway` process with a folder, a port and a configuration of its own.

    `config` may have the tables gateway, store, jwt, defaults, reconcile, log, webhook, route and
    upstream; what is missing is filled in: one upstream named "shop", and the SQLite file of the
    folder.
    """

    def __init__(self, binary, folder, upstream_url, config=None, database=None):
        self.binary = binary
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.database = pathlib.Path(database or self.folder / "onceguard.db")
        self.config_path = self.folder / "onceguard.toml"
        self.log_path = self.folder / "gateway.log"
        self.upstream_url = upstream_url
        self.process = None
        self.environment = {}
        self.launcher, self.passed = [], []  # a program that starts it, and what that has open
        self.write_config(config or {})

    def write_config(self, config):
        self.config = config
        whole = {
            "gateway": {"listen": f"127.0.0.1:{self.port.number}", **config.get("gateway", {})},
            # A loaded machine with a slow disk is no store that is away.
            "store": {"url": self.store_url(), "timeout": "10s", **config.get("store", {})},
            "defaults": dict(config.get("defaults", {})),
            "upstream": config.get("upstream") or [{"name": "shop", "url": self.upstream_url}],
        }
        others = ("jwt", "reconcile", "log", "webhook")
        whole.update({name: config[name] for name in others if name in config})
        first = whole["upstream"][0]["name"]
        routes = [dict(route) for route in config.get("route", [])]
        if not any(r.get("path", "/") == "/" and "host" not in r for r in routes):
            routes.append({"path": "/"})
        whole["route"] = [{"upstream": first, **route} for route in routes]
        self.config_path.write_text(toml_text(whole))

    def store_url(self):
        return self.config.get("store", {}).get("url") or f"sqlite:{self.database}"

    # ---- its life -------------------------------------------------------------------------
    def start(self, wait=True, log=None):
        """`log`: where its lines go, a path or a descriptor; else to the file that log() reads."""
        assert self.process is None
        to = self.log_path if log is None else log
        with open(to, "wb" if log else "ab", closefd=not isinstance(to, int)) as log:
            # The kernel ends it should this process die before it could.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.launcher, str(self.binary),
                 "gateway", "--config", str(self.config_path)],
                pass_fds=self.passed,
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**clean_environment(), **self.environment})
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout=20):
        def ready():
            code = self.process.poll()
            if code is not None:
                raise AssertionError(f"the gateway ended with {code}:\n{self.log()}")
            try:
                socket.create_connection(self.address, timeout=1).close()
                return True
            except OSError:
                return False
        wait_until(ready, timeout, "the gateway listening")

    def await_closed_listener(self):
        def closed():
            try:
                socket.create_connection(self.address, timeout=1).close()
            except ConnectionRefusedError:
                return True
            except (ConnectionResetError, TimeoutError):
                pass  # it was in the listener's queue when that closed, or on its way there
            return False
        wait_until(closed, what="the closed listener")

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

    def restart(self):
        self.stop()
        return self.start()

    def close(self):
        """Leaves nothing running, in whatever state it is."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        for number in re.findall(r'"event":"upgrade-begun","pid":(\d+)', self.log()):
            with contextlib.suppress(OSError):  # it has ended
                words = pathlib.Path(f"/proc/{number}/cmdline").read_bytes()
                if os.fsencode(self.config_path) in words:
                    os.kill(int(number), signal.SIGKILL)
        self.port.close()

    def reload(self, config):
        """Writes another configuration and tells the gateway; it does not wait."""
        self.write_config(config)
        self.signal(signal.SIGHUP)

    # ---- asking it ------------------------------------------------------------------------
    def ask(self, method, target, fields=(), body=None, **how):
        return ask(self.address, method, target, fields, body, **how)

    def post(self, target="/charges", key=None, body=DEFAULT_BODY, plan=None, fields=(),
             method="POST", content_type="application/json", **how):
        """A POST as an ordinary client sends it."""
        kind = [("Content-Type", content_type)] if content_type else []
        return ask(self.address, method, target, kind + fields_for(key, plan, fields), body, **how)

    def get(self, target="/charges", plan=None, fields=(), **how):
        return ask(self.address, "GET", target, fields_for(None, plan, fields), **how)

    def connect(self, **how):
        return Connection(self.address, **how)

    def begin_post(self, target="/charges", key=None, body=DEFAULT_BODY, plan=None, fields=(),
                   **how):
        """A POST whose answer is still to be read; the caller closes the connection."""
        connection = self.connect()
        sent = [("Content-Type", "application/json")] + fields_for(key, plan, fields)
        connection.send_request("POST", target, sent, body, **how)
        return connection

    def post_in_time(self, target="/charges", **how):
        """A POST that a busy machine leaves enough of a short lease to begin: one that it does not
        ran nothing, says so, and comes again."""
        def answered():
            answer = self.post(target, **how)
            return not self.left_no_time(answer) and answer
        return wait_until(answered, what="a lease that is long enough")

    def left_no_time(self, answer):
        """The lease was too short for a busy machine. Refused for anything else: a failure."""
        if answer.problem != "overloaded":
            return False
        wait_until(lambda: any(why in self.log() for why in NO_TIME), what="why it was refused")
        return True

    def begin_in_time(self, upstream, target="/charges", key=None, **how):
        """Such a POST that has arrived upstream, and whose answer is still to be read."""
        def begun():
            connection = self.begin_post(target, key=key, **how)
            wait_until(lambda: upstream.runs(key) or not connection.silent_for(0.01), what="a run")
            if upstream.runs(key):
                return connection
            with connection:
                answer = connection.read()
            assert self.left_no_time(answer) and not upstream.runs(key), answer
            return None
        return wait_until(begun, what="a lease that is long enough")

    # ---- looking at it --------------------------------------------------------------------
    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def says(self, text):
        """Waits until its log has this text: a line may be written after the answer it is about."""
        wait_until(lambda: text in self.log(), what=f"the log saying {text!r}")

    def log_lines(self):
        """Its log as parsed JSON; a whole line that is none is a failure."""
        whole = self.log().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.strip()]

    def logged(self, event, count=1):
        """The lines about this event, once there are so many: they are written a little later."""
        def found():
            lines = [line for line in self.log_lines() if line["event"] == event]
            return lines if len(lines) >= count else None
        return wait_until(found, what=f"{count} lines of {event}")

    def memory(self, name="VmRSS"):
        """Bytes of resident memory now (VmHWM: at most so far)."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name}")

    def open_sockets(self):
        """How many descriptors of sockets it has."""
        folder = pathlib.Path(f"/proc/{self.process.pid}/fd")
        found = 0
        for name in os.listdir(folder):
            try:
                found += os.readlink(folder / name).startswith("socket:")
            except FileNotFoundError:
                pass  # closed since it was listed
        return found

    def open_files(self, part):
        """The paths of its descriptors whose names have this part."""
        folder = pathlib.Path(f"/proc/{self.process.pid}/fd")
        found = []
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                found.append(os.readlink(folder / name))
        return [path for path in found if part in pathlib.Path(path).name]

    def command(self, *arguments, stdin=None, timeout=60, store=None):
        """Another onceguard command on the same store, beside the running gateway."""
        return subprocess.run(
            [str(self.binary), *arguments, "--store", store or self.store_url()],
            cwd=self.folder, input=stdin, capture_output=True, text=True, timeout=timeout,
            env={**clean_environment(), **PATIENT}, check=False)

    def keys(self, *filters):
        """What `keys list --json` says, as a list of records."""
        with self.readable_store() as store:
            done = self.command("keys", "list", "--json", *filters, store=store)
        assert done.returncode == 0, done
        return records_of(done.stdout)

    @contextlib.contextmanager
    def readable_store(self):
        """Its store for a command that reads: of a journal, which it owns, a copy."""
        if not self.store_url().startswith("journal:"):
            yield self.store_url()
            return
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            copy = pathlib.Path(folder) / "copy"
            done = self.command("backup", copy)
            assert done.returncode == 0, done
            yield f"journal:{copy}"

    def record(self, key):
        """The one record with this key, or None."""
        found = [r for r in self.keys() if r["key"] == key]
        assert len(found) <= 1, found
        return found[0] if found else None

    def state(self, key):
        record = self.record(key)
        return record["state"] if record else None


def records_of(text):
    """A JSON array, an object with a list in it, or one object per line."""
    text = text.strip()
    if not text:
        return []
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]
    if isinstance(whole, list):
        return whole
    for value in whole.values():
        if isinstance(value, list) and "state" not in whole:
            return value
    return [whole]


def clean_environment():
    """Without ONCEGUARD_LISTEN and its like, which would win over the file."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith("ONCEGUARD_")}
    # A build with AddressSanitizer holds freed memory back; the tests of memory need it small.
    kept["ASAN_OPTIONS"] = kept.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"
    return kept | {"TMPDIR": temporary_folder()}


def writable_folder(name):
    """A new one for files that a test shares with a process in its sandbox."""
    return pathlib.Path(tempfile.mkdtemp(prefix=name, dir=temporary_folder()))


@functools.cache
def temporary_folder():
    """Of the started processes, which may write there in their sandbox: not where a test has its
    files, or no suite would see what else is refused to them."""
    folder = tempfile.mkdtemp(prefix="temporary-")
    os.chmod(folder, 0o1777)  # for processes with a user of their own
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
