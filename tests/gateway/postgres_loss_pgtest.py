"""A database that is emptied or replaced under a running gateway: nothing runs a second time."""

import contextlib
import itertools
import threading

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.tiered import CACHELESS
from support.waiting import wait_until

KEYS = 40


@pytest.fixture(params=["alone", "tiered"])
def start(request, start_gateway, own_upstream, postgres_server, database, redis, tmp_path):
    """A gateway that refuses for the whole test once it noticed a loss, and never by its own
    memory of answers."""
    def begin():
        store = {"url": postgres_server.url(database), "timeout": "5s", "after_loss": "refuse"}
        if request.param == "tiered":
            redis.start()
            store["accelerator"] = f"redis://127.0.0.1:{redis.port.number}"
        return start_gateway(own_upstream, {
            "gateway": {**CACHELESS, "state_dir": str(tmp_path)}, "store": store,
            "defaults": {"lease": "60s", "upstream_timeout": "60s"}})
    return begin


def emptied(server, database):
    with server.connect(database) as admin:
        admin.execute("TRUNCATE onceguard.records")


def taken_back(server, database):
    """As a dump that is loaded over what was there, with its counters."""
    with server.connect(database, autocommit=False) as admin:
        admin.execute("DELETE FROM onceguard.records")
        admin.execute("DELETE FROM onceguard.lease_counts")
        admin.execute("UPDATE onceguard.meta SET leases = 0")
        admin.commit()


class Replaced:
    """Another database stands at the same address: an older copy of this one."""

    def __init__(self, server, database):
        self.older = server.create_database(template=database)

    def __call__(self, server, database):
        with server.connect() as admin:
            admin.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
            admin.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                          "WHERE datname = %s", [database])
            admin.execute(f"ALTER DATABASE {database} RENAME TO {database}_old")
            admin.execute(f"ALTER DATABASE {self.older} RENAME TO {database}")


def retry_without_end(gateway, keys, ended):
    for key in itertools.cycle(keys):
        if ended.is_set():
            return
        gateway.post(key=key)


@pytest.mark.parametrize("how", ["emptied", "taken back", "replaced"])
def test_nothing_is_granted_by_a_database_that_forgot(start, postgres_server, database,
                                                      own_upstream, fresh_key, how):
    gateway = start()
    assert_first(gateway.post(key=fresh_key()))
    happens = {"emptied": emptied, "taken back": taken_back}.get(how)
    if happens is None:
        gateway.stop()
        happens = Replaced(postgres_server, database)
        gateway.start()
    done = [fresh_key() for _ in range(KEYS)]
    for key in done:
        first = assert_first(gateway.post(key=key))
        assert_replay_of(gateway.post(key=key), first)
    running = fresh_key()
    ended = threading.Event()
    crowd = [threading.Thread(target=retry_without_end, args=(gateway, done[i::4], ended))
             for i in range(4)]
    with contextlib.ExitStack() as open_ones:
        request = open_ones.enter_context(gateway.begin_post(key=running, plan={"gate": running}))
        own_upstream.arrived(1, running)
        for one in crowd:
            one.start()
        try:
            happens(postgres_server, database)
            wait_until(lambda: gateway.post(key=done[0]).status == 503, what="the refusal")
            # Every key comes again behind that too.
            for key in [*done, running, fresh_key()]:
                assert_problem(gateway.post(key=key), 503, "store-unreachable", True,
                               retry_after=True)
        finally:
            ended.set()
            for one in crowd:
                one.join()
        own_upstream.open(running)
        assert_first(request.read())
    assert gateway.state(running) == "completed", "its holder knew, and says so in the new one"
    assert all(own_upstream.runs(key) == 1 for key in [*done, running])
    gateway.says("store-lost-its-memory")
