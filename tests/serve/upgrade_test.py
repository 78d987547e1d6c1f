"""`onceguard serve` becomes another process (SIGUSR2), and takes a socket that it is given."""

import os
import signal
import socket
import subprocess

import pytest

from support.decisions import DecisionService, busy, fresh
from support.gateway import clean_environment
from support.upgrading import Descendant, adopting_orphans
from support.waiting import wait_until


@pytest.fixture
def start(onceguard, tmp_path):
    made = []

    def begin(config=None, started=True):
        made.append(DecisionService(onceguard, tmp_path, config))
        return made[-1].start() if started else made[-1]

    yield begin
    for one in made:
        one.close()


def test_the_new_process_answers_at_the_same_socket_and_knows_what_runs(start):
    with adopting_orphans():
        service = start({"gateway": {"drain": "60s"}})
        key, inode = fresh(), os.stat(service.address).st_ino
        with service.client() as client:
            running = client.run(key=key)
            former = service.process
            former.send_signal(signal.SIGUSR2)
            wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
            service.process = Descendant(service.events("handed-over")[-1]["pid"])
            with service.client() as other:
                assert other.claim(key=key).json()["verdict"] == "busy"
                assert other.run(key=fresh())
            busy(client)  # the former one waits for the settle
            assert former.poll() is None
            assert client.complete(running["operation"]).json()["outcome"] == "settled"
        assert former.wait(60) == 0
        assert os.stat(service.address).st_ino == inode
        with service.client() as other:
            assert other.claim(key=key).json()["verdict"] == "replay"
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
        service.process = None


def test_a_store_of_one_process_is_not_handed_over(start):
    service = start({"store": {"url": "memory:"}})
    service.process.send_signal(signal.SIGUSR2)
    wait_until(lambda: service.events("upgrade-refused"), 20, "the refusal")
    assert "the store belongs to this process" in service.events("upgrade-refused")[0]["why"]
    with service.client() as client:
        assert client.run(key=fresh())


def test_a_successor_that_can_not_start_leaves_the_service_as_it_was(start):
    with adopting_orphans():
        service = start()
        service.write_config({"serve": {"threads": -1}})
        service.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: service.events("upgrade-failed"), 60, "the end of the successor")
        with service.client() as client:
            assert client.run(key=fresh())


def test_a_socket_that_somebody_else_made_is_taken(start):
    service = start(started=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(service.address)
        listening.listen(16)
        # A client that comes before the process has its answer from it.
        with service.client() as early:
            early.send("GET", "/healthz")
            with open(service.log_path, "ab") as log:
                service.process = subprocess.Popen(
                    ["env", "LISTEN_FDS=1", "LISTEN_FDNAMES=serve", "bash", "-c",
                     'LISTEN_PID=$$ exec "$@" 3<&0 0</dev/null', "bash", service.binary, "serve",
                     "--config", service.config_path],
                    stdin=listening.fileno(), stdout=log, stderr=log, env=clean_environment())
            assert early.read("GET").status == 200
        assert service.stop() == 0
    assert os.path.exists(service.address), "it belongs to whoever made it"


def test_a_socket_elsewhere_than_the_file_says_is_refused(start, tmp_path):
    service = start(started=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(service.sockets.name + "/other")
        listening.listen(16)
        done = subprocess.run(
            ["env", "LISTEN_FDS=1", "LISTEN_FDNAMES=serve", "bash", "-c",
             'LISTEN_PID=$$ exec "$@" 3<&0 0</dev/null', "bash", service.binary, "serve",
             "--config", service.config_path],
            stdin=listening.fileno(), capture_output=True, text=True, timeout=60, check=False,
            env=clean_environment())
    assert done.returncode == 3
    assert "the passed socket" in done.stderr and "listens at unix:" in done.stderr
