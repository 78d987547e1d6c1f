"""`onceguard serve` as a client in any language has it: HTTP over a Unix socket, TCP or TLS."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import uuid

from support.gateway import PATIENT, clean_environment
from support.ports import Port
from support.toml import toml_text
from support.waiting import PATIENCE, Stopwatch, wait_until

FRAMED = "application/vnd.onceguard.framed"


class Reply:
    def __init__(self, answer):
        self.status = answer.status
        self.fields = answer.getheaders()
        self.body = answer.read()

    def get(self, name):
        return next((value for field, value in self.fields if field.lower() == name.lower()), None)

    def json(self):
        return json.loads(self.body)


class Client:
    """One connection; by TLS if `tls`, an ssl.SSLContext, is given."""

    def __init__(self, address, token=None, tls=None, timeout=60, host="localhost"):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.token = token
        self.host = host

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, method, path, body=b"", fields=()):
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.host}"]
        if self.token:
            head.append(f"Authorization: Bearer {self.token}")
        head += [f"{name}: {value}" for name, value in fields]
        if body or method == "POST":
            head.append(f"Content-Length: {len(body)}")
        self.socket.sendall("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)

    def read(self, method="POST"):
        answer = http.client.HTTPResponse(self.socket, method=method)
        answer.begin()
        return Reply(answer)

    def ask(self, method, path, body=None, fields=()):
        """`body`: a value for JSON, or bytes for what `fields` say."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            fields = [("Content-Type", "application/json"), *fields]
        self.send(method, path, body or b"", fields)
        return self.read(method)

    def claim(self, **members):
        """By its parts, if it has a key; the whole answer."""
        if "key" in members:
            members = {"scope": "tests", "fingerprint": "the same", **members}
        return self.ask("POST", "/v1/operations", members)

    def run(self, **members):
        """A claim that may run."""
        answer = self.claim(**members)
        assert answer.status == 200, answer.body
        assert answer.json()["verdict"] == "run", answer.body
        return answer.json()

    def settle(self, operation, kind, **members):
        return self.ask("POST", f"/v1/operations/{operation}/{kind}", members)

    def complete(self, operation, status=201, body="done"):
        made = {"status": status, "headers": [["Content-Type", "text/plain"]], "body": body}
        return self.settle(operation, "complete", answer=made)


class Call(http.client.HTTPConnection):
    """A connection to the service's Unix socket that gives status and object of each answer."""

    def __init__(self, path, timeout=60):
        super().__init__("service", timeout=timeout * PATIENCE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def send_post(self, target, message=None, **headers):
        body = b"" if message is None else json.dumps(message).encode()
        fields = {"Content-Type": "application/json"} if body else {}
        self.request("POST", target, body, {**fields, **headers})

    def read(self):
        """Status and object of the answer."""
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())

    def post(self, target, message=None):
        self.send_post(target, message)
        return self.read()

    def claim(self, **members):
        status, answer = self.post("/v1/operations", members)
        assert status == 200, answer
        return answer

    def settle(self, operation, kind, **members):
        status, answer = self.post(f"/v1/operations/{operation}/{kind}", members or None)
        assert status == 200, answer
        return answer

    def complete(self, operation, body="done", status=201):
        return self.settle(operation, "complete",
                           answer={"status": status, "headers": [["X-Made", "once"]],
                                   "body": body})

    def post_framed(self, target, message, body, accept=FRAMED):
        """Status, object and body of a framed answer."""
        line = json.dumps(message).encode() + b"\n"
        self.request("POST", target, line + body, {"Content-Type": FRAMED, "Accept": accept})
        answer = self.getresponse()
        assert answer.headers["Content-Type"] == FRAMED
        text, _, rest = answer.read().partition(b"\n")
        return answer.status, json.loads(text), rest


class DecisionService:
    """A process with a [serve]: `onceguard serve`, or another `command`. It may be killed and
    started again on the same store and address. `config`: its tables, or the text of a file."""

    def __init__(self, binary, folder, config=None, tcp=False, command="serve", store=None,
                 options=()):
        self.folder = pathlib.Path(folder)
        self.binary = binary
        self.command = command
        self.options = [str(option) for option in options]
        self.store = store or f"sqlite:{self.folder}/onceguard.db"
        # The path of a socket is short, and pytest's folders may be deep.
        self.sockets = tempfile.TemporaryDirectory(prefix="onceguard-decisions-")
        self.port = Port() if tcp else None
        self.address = ("127.0.0.1", self.port.number) if tcp else self.sockets.name + "/s"
        self.listen = f"127.0.0.1:{self.port.number}" if tcp else f"unix:{self.address}"
        self.log_path = self.folder / "log"
        self.config_path = self.folder / "serve.toml"
        self.process = None
        self.opened = []
        self.write_config(config)

    @property
    def socket(self):
        return pathlib.Path(self.address)

    def write_config(self, config=None):
        # A loaded machine with a slow disk is no store that is away.
        store = {"url": self.store, "timeout": "10s"}
        if isinstance(config, str):
            usual = {"store": store, "serve": {"listen": self.listen}, "log": {"format": "json"}}
            self.config_path.write_text(toml_text(usual) + config)
            return
        config = config or {}
        store.update(config.get("store", {}))
        serve = {"listen": self.listen, **config.get("serve", {})}
        text = toml_text({**config, "store": store, "serve": serve,
                          "log": {"format": "json", **config.get("log", {})}})
        self.config_path.write_text(text)

    def start(self, environment=(), **how):
        started = len(self.events("serving"))
        self.begin(environment, **how)
        wait_until(lambda: self.is_ready(started), 30, "the decision service")
        return self

    def begin(self, environment=(), **how):
        """The process, which is not waited for."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", self.binary, self.command, "--config",
                 self.config_path, *self.options], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env={**clean_environment(), **dict(environment)}, cwd=self.folder,
                **how)
        return self.process

    def is_ready(self, started):
        assert self.process.poll() is None, self.log()
        return len(self.events("serving")) > started

    def answers(self):
        """Whether it takes a connection and answers on it."""
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError), contextlib.closing(Call(self.address)) as probe:
            probe.request("GET", "/healthz")
            return probe.getresponse().status == 200
        return False

    def connect(self, timeout=60):
        made = Call(self.address, timeout)
        self.opened.append(made)
        return made

    def kill(self):
        self.process.kill()
        self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    def state(self, key):
        """Of the key's record, as operators see it; None: there is none."""
        shown = subprocess.run([str(self.binary), "keys", "list", "--json", "--store", self.store],
                               capture_output=True, text=True, check=True, cwd=self.folder,
                               env={**clean_environment(), **PATIENT}, timeout=60 * PATIENCE)
        records = map(json.loads, shown.stdout.splitlines())
        return next((record["state"] for record in records if record.get("key") == key), None)

    def client(self, **how):
        return Client(self.address, **how)

    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    def events(self, name):
        lines = [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]

    def reload(self):
        """SIGHUP; the event that says what became of it."""
        def seen():
            return self.events("reloaded") + self.events("reload-refused")
        before = len(seen())
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(seen()) > before, 20, "the reload")
        return seen()[-1]["event"] if before == 0 else max(seen(), key=lambda e: e["time"])["event"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(40)
        self.process = None
        return code

    def close(self):
        for each in self.opened:
            each.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.port:
            self.port.close()
        with contextlib.suppress(OSError):
            self.sockets.cleanup()


def trusting(authority, certificate=None):
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def framed(members, body):
    return json.dumps(members).encode() + b"\n" + body


def busy(client, calls=60):
    """Keeps the service busy for a moment, in which what was sent to it before has arrived."""
    for _ in range(calls):
        assert client.ask("GET", "/healthz").status == 200


def fresh():
    return uuid.uuid4().hex


def parts(key=None, **members):
    """A claim by its parts, with a fresh key."""
    return {"scope": "tenant", "key": key or uuid.uuid4().hex, "fingerprint": "charge 10",
            **members}


def as_request(key=None, body="{}", **members):
    """A claim of a request, with a fresh key."""
    headers = [["Idempotency-Key", f'"{key or uuid.uuid4().hex}"'],
               ["Content-Type", "application/json"], ["Authorization", "Bearer one"]]
    return {"request": {"method": "POST", "target": "/charges?dry=0", "headers": headers,
                        "body": body, **members}}


def undated(answer):
    """Without the time at which the service gave it."""
    reply = dict(answer.get("reply", {}))
    fields = [field for field in reply.pop("headers", []) if field[0] != "Date"]
    return {**answer, "reply": {**reply, "headers": fields}}


def taken_over(call, wanted):
    """The claim that gets the key in the end as the second attempt, or later by as many as a busy
    machine had no time for: they gave the key back."""
    late = []

    def runs():
        got = call.claim(**wanted)
        if got["verdict"] in ("overloaded", "store_failed"):
            late.append(got)
        return got["verdict"] == "run" and got
    taken = wait_until(runs, what="a takeover")
    assert 2 <= taken["attempt"] <= 2 + len(late), (taken, late)
    return taken


def stays(condition, seconds):
    """Whether it is true again and again for so long."""
    watch, pause = Stopwatch(), threading.Event()
    while watch.seconds < seconds:
        if not condition():
            return False
        pause.wait(0.1)
    return True
