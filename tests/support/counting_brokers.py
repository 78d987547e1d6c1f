"""Brokers that count deliveries and drop a message at their limit: RabbitMQ, with a quorum queue,
and NATS. Each is a server of the tests' own, in a temporary folder and on free ports."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pika

from support.ports import Port
from support.waiting import wait_until


class Server:
    """A process that ends with the tests."""

    def __init__(self, kind):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"onceguard-{kind}-"))
        self.ports = []
        self.processes = []
        self.made = 0

    def rename(self):
        self.made += 1
        self.work, self.dead = f"work{self.made}", f"dead{self.made}"

    def port(self):
        self.ports.append(Port())
        return self.ports[-1].number

    def begin(self, *words, **how):
        with open(self.folder / "log", "ab") as log:
            self.processes.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "QUIT", "--", *words], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **how))

    def answers(self):
        log = (self.folder / "log").read_text(errors="replace")
        assert self.processes[-1].poll() is None, f"the server ended:\n{log}"
        try:
            self.connect().close()
            return True
        except (OSError, EOFError, pika.exceptions.AMQPError):
            return False

    def close(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        for port in self.ports:
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class RabbitServer(Server):
    """A quorum queue with a delivery limit, and one for dead letters: new ones at each renew()."""

    PROGRAMS = "/usr/lib/rabbitmq/bin/"

    def __init__(self):
        super().__init__("rabbitmq")
        self.number = self.port()
        names = self.port()
        how = {"env": self.environment(names)}
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            how.update(user="postgres", group="postgres", extra_groups=[])
        # Erlang's list of nodes. If there were none, the server would start one that outlives it.
        self.begin("epmd", "-port", str(names), "-address", "127.0.0.1", **how)
        self.begin(self.PROGRAMS + "rabbitmq-server", **how)
        wait_until(self.answers, 60, "RabbitMQ answering")
        self.line = self.connect()
        self.channel = self.line.channel()
        self.channel.confirm_delivery()

    def renew(self, limit):
        self.rename()
        self.channel.queue_declare(self.work, durable=True, arguments={
            "x-queue-type": "quorum", "x-delivery-limit": limit})
        self.channel.queue_declare(self.dead, durable=True)
        self.url = f"amqp://127.0.0.1:{self.number}/{self.work}"
        self.dead_url = f"amqp://127.0.0.1:{self.number}/{self.dead}"
        return self

    def environment(self, names):
        """No setting of the machine's server gets in."""
        for name, text in (("plugins", "[].\n"), ("rabbitmq.conf", ""),
                           ("advanced.config", "[].\n")):
            (self.folder / name).write_text(text)
        loopback = "-kernel inet_dist_use_interface {127,0,0,1}"
        at = self.folder
        return {"PATH": os.environ["PATH"], "HOME": str(at), "ERL_EPMD_PORT": str(names),
                "RABBITMQ_NODENAME": "onceguard@localhost",
                "RABBITMQ_CONF_ENV_FILE": "/dev/null",
                "RABBITMQ_CONFIG_FILE": f"{at}/rabbitmq.conf",
                "RABBITMQ_ADVANCED_CONFIG_FILE": f"{at}/advanced.config",
                "RABBITMQ_ENABLED_PLUGINS_FILE": f"{at}/plugins",
                "RABBITMQ_MNESIA_BASE": f"{at}/data", "RABBITMQ_LOG_BASE": f"{at}/logs",
                "RABBITMQ_PID_FILE": f"{at}/pid", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
                "RABBITMQ_NODE_PORT": str(self.number), "RABBITMQ_DIST_PORT": str(self.port()),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback, "RUNNING_UNDER_SYSTEMD": "true"}

    def connect(self):
        return pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", self.number, heartbeat=0, socket_timeout=10,
            blocked_connection_timeout=60))

    def publish(self, ids):
        for name in ids:
            self.channel.basic_publish("", self.work, b"payload " + name.encode(),
                                       pika.BasicProperties(message_id=name, delivery_mode=2))

    def left(self):
        """(messages that wait in the queue, dead letters)"""
        return tuple(self.channel.queue_declare(name, passive=True).method.message_count
                     for name in (self.work, self.dead))


class NatsServer(Server):
    """A stream with a consumer that has `max_deliver`, and one of dead letters: new ones at each
    renew()."""

    def __init__(self):
        super().__init__("nats")
        self.number = self.port()
        self.begin("/usr/sbin/nats-server", "-js", "-sd", str(self.folder), "-a", "127.0.0.1", "-p",
                   str(self.number))
        wait_until(self.answers, 30, "NATS answering")
        self.line = self.connect()

    def renew(self, limit):
        self.rename()
        for name in (self.work, self.dead):
            self.ask(f"$JS.API.STREAM.CREATE.{name}",
                     {"name": name, "subjects": [name], "storage": "file"})
        self.ask(f"$JS.API.CONSUMER.DURABLE.CREATE.{self.work}.reader", {
            "stream_name": self.work, "config": {
                "durable_name": "reader", "ack_policy": "explicit", "deliver_policy": "all",
                "ack_wait": 2_000_000_000, "max_deliver": limit, "max_ack_pending": 10_000}})
        self.url = f"nats://127.0.0.1:{self.number}/{self.work}/reader"
        self.dead_url = f"nats://127.0.0.1:{self.number}/{self.dead}"
        return self

    def connect(self):
        return NatsLine(self.number)

    def ask(self, subject, body):
        answer = json.loads(self.line.ask(subject, json.dumps(body).encode()))
        assert "error" not in answer, answer
        return answer

    def publish(self, ids):
        for name in ids:
            headers = {"message_id": name, "Nats-Msg-Id": name}
            answer = json.loads(self.line.ask(self.work, b"payload " + name.encode(), headers))
            assert "error" not in answer, answer

    def left(self):
        """(messages that wait at the consumer, dead letters)"""
        reader = self.ask(f"$JS.API.CONSUMER.INFO.{self.work}.reader", {})
        dead = self.ask(f"$JS.API.STREAM.INFO.{self.dead}", {})
        return reader["num_pending"] + reader["num_ack_pending"], dead["state"]["messages"]


class NatsLine:
    """The text protocol, as far as a request and its answer need it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.lines = self.socket.makefile("rb")
        if not self.lines.readline():
            raise EOFError
        self.socket.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nSUB answers 1\r\n')

    def close(self):
        self.lines.close()
        self.socket.close()

    def ask(self, subject, payload, headers=None):
        if headers:
            head = "NATS/1.0\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers.items()) + "\r\n"
            first = f"HPUB {subject} answers {len(head)} {len(head) + len(payload)}\r\n{head}"
        else:
            first = f"PUB {subject} answers {len(payload)}\r\n"
        self.socket.sendall(first.encode() + payload + b"\r\n")
        while True:
            words = self.lines.readline().split()
            assert words and not words[0].startswith(b"-ERR"), words
            if words[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")
            if words[0] in (b"MSG", b"HMSG"):
                body = self.lines.read(int(words[-1]) + 2)[:-2]
                return body[int(words[-2]):] if words[0] == b"HMSG" else body
