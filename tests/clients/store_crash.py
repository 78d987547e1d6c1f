"""The store of `onceguard serve`, killed amid requests to services in each language."""

import contextlib
import os
import signal

import pytest

from clients.examples import example_of
from clients.golang_test import built, go_path  # noqa: F401
from clients.serving import amid_kills
from support.postgres import Postgres
from support.redis import Redis
from support.waiting import SCALE, wait_until

LEASE = {"lease": "2s"}


class KilledPostgres:
    """Dies with all of its processes, as by the kernel's hand: none of them tidies up."""

    def __init__(self):
        self.server = Postgres()
        self.start = self.server.start

    def create_store(self):
        return self.server.url(self.server.create_store())

    def kill(self):
        number = self.server.process.pid
        with open(f"/proc/{number}/task/{number}/children", encoding="ascii") as listed:
            family = [number, *map(int, listed.read().split())]
        for each in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self.server.process.wait(60)
        self.server.process = None
        # What is left of them keeps the memory that they share, and no server starts beside it.
        wait_until(lambda: not any(os.path.exists(f"/proc/{each}") for each in family),
                   what="the end of the server")

    def close(self):
        self.server.close()


class KilledRedis:
    """Each write is in its log on disk before it is answered."""

    def __init__(self):
        self.server = Redis({"appendonly": "yes", "appendfsync": "always"})
        self.start = self.server.start
        self.kill = self.server.crash
        self.create_store = self.server.create_store
        self.close = self.server.close


class Outage:
    """Over once the service takes requests again, which it refuses until its store is back."""

    def __init__(self, store, service, fresh_key):
        self.kill = store.kill
        self.store, self.service, self.fresh_key = store, service, fresh_key

    def start(self):
        self.store.start()
        wait_until(lambda: self.service.post(self.fresh_key()).status == 201, 20,
                   "the first request after the outage")


@pytest.fixture(params=[KilledPostgres, KilledRedis])
def store(request):
    with contextlib.closing(request.param()) as made:
        made.start()
        yield made


@pytest.fixture(params=["express-5", "fastapi", "nethttp"])
def example(request, tmp_path):
    """The command that starts a service, and its environment."""
    return example_of(request.param, request, tmp_path)


def test_nothing_is_doubled_and_first_answers_stay(store, example, start_serve, start_service,
                                                   fresh_key):
    serve = start_serve({"store": {"url": store.create_store(), "timeout": "2s"},
                         "defaults": LEASE})
    command, environment = example
    service = start_service(command, serve, environment)
    outage = Outage(store, service, fresh_key)
    amid_kills(outage, service, max(4, int(20 * SCALE)), fresh_key, in_time=22)
