"""`onceguard consume` on a stream of Redis: configuration, process, and the broker's side."""

import json
import pathlib
import signal
import socket
import subprocess

from support.gateway import clean_environment
from support.toml import toml_text
from support.waiting import wait_until


class Stream:
    """A stream of Redis with the group `consumers`, and another for its dead letters."""

    def __init__(self, redis, name):
        self.redis = redis
        self.name = name
        self.at = f"redis://127.0.0.1:{redis.port.number}"
        self.url = f"{self.at}/{name}?group=consumers&create=yes&hold=5s"
        self.dead_url = f"{self.at}/{name}-dead"

    def command(self, *words):
        """One command of Redis: its reply, as it comes."""
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        text = b"*%d\r\n" % len(parts)
        text += b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        with socket.create_connection(("127.0.0.1", self.redis.port.number), timeout=10) as line:
            line.sendall(text)
            return line.recv(1 << 20)

    def add(self, payload, message_id=None, **fields):
        words = ["XADD", self.name, "*", "payload", payload]
        if message_id is not None:
            words += ["message_id", message_id]
        for name, value in fields.items():
            words += [name, value]
        reply = self.command(*words)
        assert reply.startswith(b"$"), reply

    def pending(self):
        reply = self.command("XPENDING", self.name, "consumers")
        return int(reply.split(b"\r\n")[1][1:])

    def dead(self):
        """The dead letters, as one reply."""
        return self.command("XRANGE", self.name + "-dead", "-", "+")


class Consumer:
    """`onceguard consume`, or another command that works until it is stopped."""

    def __init__(self, onceguard, folder, tables, store=None, gateway=None, name="consume",
                 pepper=None):
        """`tables`: those of [[consume]], or of `name`; `gateway`: what stands in [gateway]."""
        self.name = name
        self.folder = pathlib.Path(folder)
        self.onceguard = onceguard
        self.config = self.folder / "onceguard.toml"
        self.process = None
        store = store or f"sqlite:{self.folder / 'inbox.db'}"
        self.config.write_text(toml_text({
            "gateway": gateway or {}, "log": {"level": "debug"},
            "store": {"url": store, **({"key_pepper_file": str(pepper)} if pepper else {})},
            name: tables}))

    def command(self, *words):
        """Another command with the same configuration, run to its end."""
        return subprocess.run([self.onceguard, *words, "--config", self.config],
                              capture_output=True, text=True, env=clean_environment(), timeout=60)

    def start(self, ready="broker-connected", prefix=(), env=None):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*prefix, self.onceguard, self.name, "--config", self.config], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**clean_environment(), **(env or {})})
        if ready:
            def there():
                assert self.process.poll() is None, (self.folder / "log").read_text()
                return self.events(ready)
            wait_until(there, 30, ready)
        return self

    def events(self, name=None):
        """The lines of the log, as far as they are events of this name."""
        out = []
        path = self.folder / "log"
        for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if name is None or event.get("event") == name:
                out.append(event)
        return out

    def stop(self, how=signal.SIGTERM):
        """The exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
        code = self.process.wait(60)
        self.process = None
        return code


def outcomes(consumer):
    """What became of deliveries for good: a busy one comes again."""
    return [event["outcome"] for event in consumer.events()
            if event.get("outcome") not in (None, "busy", "failed")]


def settled(consumer, count):
    wait_until(lambda: len(outcomes(consumer)) >= count, 30, f"{count} messages")
