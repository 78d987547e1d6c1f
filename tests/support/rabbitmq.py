"""A RabbitMQ server of the tests' own, in a temporary folder and on free ports."""

import pathlib
import shutil
import signal
import subprocess
import tempfile

import pika

from support.ports import Port
from support.waiting import wait_until

PROGRAMS = "/usr/lib/rabbitmq/bin/"


class RabbitMQ:
    def __init__(self):
        self.port, self.names, self.peers, self.control = Port(), Port(), Port(), Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-rabbitmq-"))
        self.folder.chmod(0o777)  # the server's user puts its files there
        (self.folder / "plugins").write_text("[].\n")
        (self.folder / "rabbitmq.conf").write_text("")
        self.processes = []

    def _begin(self, words):
        with open(self.folder / "log", "ab") as log:
            self.processes.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *words], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def _environment(self):
        loopback = "-kernel inet_dist_use_interface {127,0,0,1}"
        return {
            "HOME": self.folder, "ERL_EPMD_PORT": self.names.number,
            "RABBITMQ_NODENAME": "onceguard@localhost", "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": self.folder / "rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.folder / "plugins",
            "RABBITMQ_MNESIA_BASE": self.folder / "data", "RABBITMQ_LOG_BASE": self.folder / "logs",
            "RABBITMQ_PID_FILE": self.folder / "pid", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": self.port.number, "RABBITMQ_DIST_PORT": self.peers.number,
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback, "RABBITMQ_CTL_ERL_ARGS": loopback,
            # The shell becomes the server, which then ends with the tests.
            "RUNNING_UNDER_SYSTEMD": "true",
        }

    def start(self):
        # Erlang's list of nodes. If there were none, the server would start one that outlives it.
        self._begin(["/usr/bin/epmd", "-port", str(self.names.number), "-address", "127.0.0.1"])
        self._begin(["/usr/bin/env", *(f"{name}={value}"
                                       for name, value in self._environment().items()),
                     PROGRAMS + "rabbitmq-server"])
        wait_until(self._answers, 90, "RabbitMQ answering")
        return self

    def _answers(self):
        log = (self.folder / "log").read_text(errors="replace")
        assert self.processes[-1].poll() is None, log
        try:
            self.connect().close()
            return True
        except (pika.exceptions.AMQPError, OSError):
            return False

    def connect(self):
        return pika.BlockingConnection(
            pika.ConnectionParameters("127.0.0.1", self.port.number, heartbeat=0))

    def url(self, queue):
        return f"amqp://127.0.0.1:{self.port.number}/{queue}"

    def close(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        for port in (self.port, self.names, self.peers, self.control):
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)
