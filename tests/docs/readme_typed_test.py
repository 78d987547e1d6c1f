"""The commands of the README and of the first steps, typed as they stand there but for ports and
folders. `./dev pages` types the first of them, which installs and builds, on a fresh Debian."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from support.client import ask, fields_for
from support.gateway import clean_environment
from support.ports import Port
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs/start.md").read_text(encoding="utf-8")


def section(page, title):
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(page, title, language=""):
    fenced = section(page, title).split("\n```")[1::2]
    return [code + "\n" for named, _, code in (text.partition("\n") for text in fenced)
            if named == language]


class Terminal:
    """A shell in the folder of the repository, or another one."""

    def __init__(self, onceguard, instead, folder=ROOT):
        self.folder = folder
        self.instead = {"build/release/onceguard": str(onceguard), **instead}
        self.environment = clean_environment()
        self.environment["PATH"] = f"{onceguard.parent}:{self.environment['PATH']}"
        self.background = []

    def _as_typed(self, command):
        for shown, real in self.instead.items():
            command = command.replace(shown, real)
        return ["bash", "-c", command]

    def run(self, command, code=0):
        done = subprocess.run(self._as_typed(command), cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, (command, done)
        return done.stdout

    def begin(self, command):
        self.background.append(subprocess.Popen(
            self._as_typed(command), cwd=self.folder, env=self.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))

    def close(self):
        for process in self.background:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def terminals():
    opened = []
    yield opened
    for each in opened:
        each.close()


@pytest.fixture
def ports():
    both = [Port(), Port()]
    yield both
    for port in both:
        port.close()


def answers(port):
    try:
        return ask(("127.0.0.1", port.number), "GET", "/charges").status == 200
    except OSError:
        return False


def has_its_store(port):
    """Whether a gateway there takes requests with a key."""
    try:
        return ask(("127.0.0.1", port.number), "POST", "/", fields_for("first"), b"{}").status < 500
    except OSError:
        return False


def comparable(answer):
    """Without what differs each time, the order of the fields included."""
    head, _, body = answer.replace("\r\n", "\n").strip().partition("\n\n")
    status, *fields = head.split("\n")
    return status, sorted(f for f in fields if not f.startswith(("Date:", "ETag:"))), body.strip()


def test_two_calls_one_key(onceguard, terminals, ports, tmp_path):
    service, gateway = ports
    terminal = Terminal(onceguard, {
        "PORT=9000": f"PORT={service.number}", "127.0.0.1:9000": f"127.0.0.1:{service.number}",
        "127.0.0.1:8080": f"127.0.0.1:{gateway.number}",
        "onceguard gateway": f"onceguard gateway --store sqlite:{tmp_path}/keys.db",
        # The tests have the packages already.
        "npm install && ": ""})
    terminals.append(terminal)
    servers, calls = blocks(START, "Two calls, one key")
    terminal.begin(servers + "wait\n")
    wait_until(lambda: answers(service) and answers(gateway), 30, "service and gateway")
    typed = re.split(r"^\$ ", calls, flags=re.MULTILINE)[1:]
    assert len(typed) == 2
    for call in typed:
        command, shown = re.match(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", call, re.DOTALL).groups()
        assert comparable(terminal.run(command)) == comparable(shown)
    said = re.search(r"`(curl http[^`]*)` says `([^`]*)`", section(START, "Two calls, one key"))
    assert said[2] in terminal.run(said[1])


def test_in_front_of_your_own_service(onceguard, terminals, ports, tmp_path, own_upstream):
    _, gateway = ports
    store = tmp_path / "store"
    store.mkdir()
    terminal = Terminal(onceguard, {"/var/lib/onceguard": str(store), "/backups": str(tmp_path),
                                    "http://127.0.0.1:9000": own_upstream.url,
                                    "0.0.0.0:8080": f"127.0.0.1:{gateway.number}"}, tmp_path)
    terminals.append(terminal)
    config, = blocks(README, "In front of your own service", "toml")
    for shown, real in terminal.instead.items():
        config = config.replace(shown, real)
    (tmp_path / "onceguard.toml").write_text(config)
    typed, = blocks(README, "In front of your own service")
    check, doctor, serve, listing, backup = typed.splitlines()
    assert "ok" in terminal.run(check)
    assert "upstream" in terminal.run(doctor)
    terminal.begin(serve)
    wait_until(lambda: has_its_store(gateway), 20, "the store")
    terminal.run(listing)
    terminal.run(backup)
    assert (tmp_path / "keys.db").stat().st_size > 0
