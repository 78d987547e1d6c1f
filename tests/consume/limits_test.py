"""A broker that drops messages by its own limits: JetStream, `consume`, `doctor` and `check`."""

import json
import signal
import socket
import subprocess
import urllib.request

import pytest

from support.consumer import Consumer
from support.ports import Port
from support.waiting import wait_until


class Nats:
    """A NATS server with JetStream, and a session of plain text with it."""

    def __init__(self, folder):
        self.port = Port()
        self.log = open(folder / "nats.log", "wb")
        self.process = subprocess.Popen(
            ["/usr/sbin/nats-server", "-js", "-sd", str(folder / "streams"), "-a", "127.0.0.1",
             "-p", str(self.port.number)], stdout=self.log, stderr=self.log)
        self.line = wait_until(self.connect, 30, "NATS")
        self.lines = self.line.makefile("rb")
        self.lines.readline()  # INFO
        self.line.sendall(b'CONNECT {"verbose":false}\r\nSUB replies 1\r\n')

    def connect(self):
        assert self.process.poll() is None
        try:
            return socket.create_connection(("127.0.0.1", self.port.number), timeout=20)
        except OSError:
            return None

    def ask(self, subject, body):
        """The reply to a request, as JSON."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.line.sendall(b"PUB %s replies %d\r\n%s\r\n" % (subject.encode(), len(body), body))
        while True:
            words = self.lines.readline().split()
            assert words, "the server closed the connection"
            if words[0] == b"PING":
                self.line.sendall(b"PONG\r\n")
            elif words[0] == b"MSG":
                reply = json.loads(self.lines.read(int(words[-1]) + 2))
                assert "error" not in reply, reply
                return reply

    def make_queue(self, name, consumer, **stream):
        self.ask(f"$JS.API.STREAM.CREATE.{name}", {"name": name, "subjects": [f"{name}.>"],
                                                   "storage": "file", **stream})
        self.ask(f"$JS.API.CONSUMER.DURABLE.CREATE.{name}.reader", {
            "stream_name": name, "config": {
                "durable_name": "reader", "ack_policy": "explicit", "ack_wait": 500_000_000,
                **consumer}})
        return f"nats://127.0.0.1:{self.port.number}/{name}/reader"

    def close(self):
        self.line.close()
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.port.close()


@pytest.fixture(scope="module")
def nats(tmp_path_factory):
    running = Nats(tmp_path_factory.mktemp("nats"))
    yield running
    running.close()


@pytest.fixture
def consumer(onceguard, tmp_path):
    made = []

    def make(url, gateway=None, **table):
        made.append(Consumer(onceguard, tmp_path, [{
            "subscriber": "billing", "from": url, "id": "property:sequence", "dead_letter": "drop",
            "backoff": "100ms", "backoff_max": "200ms", "attempts": 3, **table}], gateway=gateway))
        return made[-1]

    yield make
    for each in made:
        each.stop(signal.SIGKILL)


@pytest.mark.parametrize("name, limits, stream, words", [
    ("few", {"max_deliver": 3}, {}, ["3 times at most", "max_deliver", "raise it above 3"]),
    ("short", {}, {"max_age": 200_000_000}, ["keeps a message for 200ms", "take 300ms"]),
])
def test_a_limit_below_the_attempts_is_refused_with_what_to_set(nats, consumer, name, limits,
                                                                stream, words):
    refused = consumer(nats.make_queue(name, limits, **stream), to="http://127.0.0.1:9/")
    refused.start(ready=None)
    assert refused.process.wait(60) == 3
    text = (refused.folder / "log").read_text()
    for word in words:
        assert word in text, text
    seen = refused.command("doctor", "--json")
    findings = [one for one in json.loads(seen.stdout)["findings"] if one["id"] == "queue-limits"]
    assert [one["level"] for one in findings] == ["fault"], seen
    assert all(word in findings[0]["text"] + findings[0]["remedy"] for word in words), findings
    assert seen.returncode == 1
    checked = refused.command("check")
    assert checked.returncode == 0
    assert "doctor" in checked.stdout and "queues" in checked.stdout, checked.stdout


def test_a_queue_that_suits_is_said_to_be_there_and_one_that_is_missing_is_a_fault(nats, consumer):
    good = consumer(nats.make_queue("good", {"max_deliver": 4}), to="http://127.0.0.1:9/")
    seen = json.loads(good.command("doctor", "--json").stdout)["findings"]
    assert [(one["id"], one["level"]) for one in seen if "queue" in one["id"]] == [("queue", "ok")]
    missing = consumer(f"nats://127.0.0.1:{nats.port.number}/nothing/reader",
                       to="http://127.0.0.1:9/")
    seen = json.loads(missing.command("doctor", "--json").stdout)["findings"]
    (fault,) = [one for one in seen if "queue" in one["id"]]
    assert fault["level"] == "fault" and "no stream" in fault["text"], fault


def test_what_the_broker_gives_up_is_counted_and_named(nats, consumer, own_upstream):
    admin = Port()
    taking = consumer(nats.make_queue("lost", {"max_deliver": 2}), to=own_upstream.url, attempts=1,
                      gateway={"admin": f"127.0.0.1:{admin.number}"})
    # Somebody else fails at it twice: the second time, JetStream gives it up while we listen.
    nats.ask("lost.a", b"x")
    other = "$JS.API.CONSUMER.MSG.NEXT.lost.reader"

    def take_elsewhere():
        line = nats.connect()
        lines = line.makefile("rb")
        line.sendall(b'CONNECT {"verbose":false}\r\nSUB mine 1\r\nPUB %s mine 1\r\n1\r\n'
                     % other.encode())
        while True:
            words = lines.readline().split()
            if words and words[0] == b"MSG":
                lines.close()
                line.close()
                return words[3].decode()

    take_elsewhere()
    reply = wait_until(take_elsewhere, 30, "the second delivery")
    taking.start()
    # Its hold is over by itself, and JetStream says that it gives the message up.
    del reply
    (lost,) = wait_until(lambda: taking.events("message-dropped"), 60, "the line")
    assert (lost["subscriber"], lost["message"]) == ("billing", "stream sequence 1")
    with urllib.request.urlopen(f"http://127.0.0.1:{admin.number}/metrics", timeout=60) as got:
        assert 'onceguard_messages_dropped_total{subscriber="billing"} 1' in got.read().decode()
    assert own_upstream.requests() == []
    assert taking.stop() == 0
    admin.close()
