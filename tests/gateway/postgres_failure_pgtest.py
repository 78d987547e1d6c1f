"""PostgreSQL stops, breaks off, says nothing or is full: 503, no double run, and no restart."""

import contextlib
import os
import pwd
import signal
import subprocess
import threading

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.hanging_commits import commits_that_hang
from support.postgres import Postgres
from support.tcp_gate import TcpGate
from support.waiting import wait_until


@pytest.fixture(scope="module")
def server():
    """One of this file's own, as its tests stop it."""
    with contextlib.closing(Postgres()) as running:
        yield running.start()


@pytest.fixture
def database(server):
    return server.create_store()


@pytest.fixture
def gate(server):
    with contextlib.closing(TcpGate(server.port.number)) as between:
        yield between


def config(url, **gateway):
    return {"store": {"url": url, "timeout": "5s"},
            "gateway": {"replay_cache": "0", "settle_wait": "60s", **gateway}}


def through(gate, server, database):
    return server.url(database).replace(f":{server.port.number}/", f":{gate.port}/")


def first_again(gateway, key):
    """The answer of a key that was refused before, once the store is in reach again."""
    def try_it():
        answer = gateway.post(key=key)
        if answer.status != 201:
            assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
            return None
        return answer
    return wait_until(try_it, timeout=30, what="the recovery")


# ---- it does not get on -------------------------------------------------------------------
def test_a_claim_whose_commit_hangs_is_given_back(start_gateway, server, database, own_upstream,
                                                  fresh_key):
    """Until it is over, nobody can see the record; a repeat is answered that the key is busy."""
    gateway = start_gateway(own_upstream, {
        "store": {"url": server.url(database), "timeout": "1s"},
        "defaults": {"lease": "2s", "upstream_timeout": "1s"}})
    wait_until(lambda: gateway.post(key=fresh_key()).status == 201, what="the store in use")
    keys = [fresh_key() for _ in range(4)]
    with commits_that_hang(server):
        for key in keys:
            assert_problem(gateway.post(key=key), 503, "store-unreachable", True,
                           retry_after=True)
        threading.Event().wait(3)  # longer than a lease, and than any of it is waited for
    for key in keys:
        wait_until(lambda k=key: gateway.post(key=k).status == 201, timeout=30,
                   what="the key to be free again")
        assert own_upstream.runs(key) == 1


# ---- the server stops ---------------------------------------------------------------------
@pytest.mark.parametrize("stop_signal", [signal.SIGINT, signal.SIGQUIT],
                         ids=["in order", "at once"])
def test_a_restart_of_the_server(start_gateway, server, database, own_upstream, fresh_key,
                                 stop_signal):
    gateway = start_gateway(own_upstream, config(server.url(database)))
    done, running = fresh_key(), fresh_key()
    refused = [fresh_key() for _ in range(3)]
    first = assert_first(gateway.post(key=done))
    with gateway.begin_post(key=running, plan={"gate": running}) as connection:
        own_upstream.arrived(1, running)
        server.stop(stop_signal)
        try:
            for key in refused:
                assert_problem(gateway.post(key=key), 503, "store-unreachable", True,
                               retry_after=True)
            # What ran meanwhile is not reported as done before that is recorded.
            own_upstream.open(running)
            assert connection.silent_for(1.2)
            assert gateway.get("/").status == 201
            assert all(own_upstream.runs(key) == 0 for key in refused)
        finally:
            server.start()
        held = assert_first(connection.read())
    for key in refused:
        again = first_again(gateway, key)
        assert_replay_of(gateway.post(key=key), again)
    assert_replay_of(gateway.post(key=running), held)
    assert_replay_of(gateway.post(key=done), first)
    assert all(own_upstream.runs(key) == 1 for key in [done, running, *refused])
    gateway.says("store-back")


# ---- the connection breaks ----------------------------------------------------------------
@pytest.mark.parametrize("message", ["request", "reply"])
def test_the_connection_is_lost_in_the_middle_of_a_claim(start_gateway, server, database, gate,
                                                         own_upstream, key, message):
    gateway = start_gateway(own_upstream, config(through(gate, server, database)))
    gate.lose(message, key.encode())
    first = assert_first(gateway.post(key=key))
    gate.lost()
    assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.runs(key) == 1
    assert gateway.record(key)["attempt"] == 1


@pytest.mark.parametrize("message", ["request", "reply"])
def test_the_connection_is_lost_in_the_middle_of_a_settle(start_gateway, server, database, gate,
                                                          own_upstream, key, message):
    gateway = start_gateway(own_upstream, config(through(gate, server, database)))
    gate.lose(message, f"the answer of {key}".encode())
    first = assert_first(gateway.post(key=key, plan={"body": f"the answer of {key}"}))
    gate.lost()
    assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.runs(key) == 1


def test_every_connection_breaks_under_load(start_gateway, server, database, gate, own_upstream,
                                            fresh_key):
    gateway = start_gateway(own_upstream, config(through(gate, server, database)))
    for _ in range(5):
        keys = [fresh_key() for _ in range(16)]
        with contextlib.ExitStack() as all_of_them:
            asking = [all_of_them.enter_context(gateway.begin_post(key=key)) for key in keys]
            gate.cut()
            for key, connection in zip(keys, asking):
                first = assert_first(connection.read())
                assert_replay_of(gateway.post(key=key), first)
        assert all(own_upstream.runs(key) == 1 for key in keys)


def test_nothing_passes_any_more(start_gateway, server, database, gate, own_upstream, fresh_key):
    """As where a firewall drops packets: no end of a connection tells."""
    gateway = start_gateway(own_upstream, config(through(gate, server, database)))
    assert_first(gateway.post(key=fresh_key()))
    key = fresh_key()
    with gate.holding():
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
        assert own_upstream.runs(key) == 0
        assert gateway.get("/").status == 201
    again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.status == 201), None),
                       timeout=30, what="the recovery")
    assert_replay_of(gateway.post(key=key), assert_first(again))
    assert own_upstream.runs(key) == 1


def test_nothing_passes_when_the_answer_is_to_be_recorded(start_gateway, server, database, gate,
                                                          own_upstream, key):
    gateway = start_gateway(own_upstream,
                            config(through(gate, server, database), settle_wait="1s"))
    with gateway.begin_post(key=key, plan={"gate": key, "body": "kept"}) as connection:
        own_upstream.arrived(1, key)
        with gate.holding():
            own_upstream.open(key)
            assert_problem(connection.read(), 503, "store-unreachable", True, retry_after=True)
    again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None),
                       timeout=30, what="the settle in the background")
    assert again.body == b"kept"
    assert own_upstream.runs(key) == 1


# ---- no room ------------------------------------------------------------------------------
class RefusedRoom:
    """A full disk, as its error: no privilege is needed for it."""

    def __init__(self, session):
        self.session = session
        session.execute("CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$")

    def fill(self):
        self.session.execute("CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON onceguard.records "
                             "FOR EACH ROW EXECUTE FUNCTION public.no_room()")

    def free(self):
        self.session.execute("DROP TRIGGER no_room ON onceguard.records")

    def close(self):
        pass


class SmallDisk:
    """A file system of a few megabytes, with the records on it."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        folder.mkdir()
        mount(folder)
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        session.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        session.execute("ALTER TABLE onceguard.records SET TABLESPACE small")

    def fill(self):
        with contextlib.suppress(OSError), open(self.folder / "filler", "wb", 0) as filler:
            while True:
                filler.write(bytes(4096))

    def free(self):
        (self.folder / "filler").unlink()

    def close(self):
        self.session.execute("ALTER TABLE onceguard.records SET TABLESPACE pg_default")
        self.session.execute("DROP TABLESPACE small")
        subprocess.run(["umount", "--lazy", self.folder], check=True)


def mount(folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "onceguard-test", folder],
                   check=True, capture_output=True)


def may_mount(folder):
    try:
        mount(folder)
    except (subprocess.CalledProcessError, OSError):
        return False
    subprocess.run(["umount", folder], check=True)
    return True


@pytest.fixture
def disk(server, database, tmp_path):
    with server.connect(database) as session:
        small = os.geteuid() == 0 and may_mount(tmp_path)
        location = server.folder / f"small-{database}"  # where the server may enter
        disk = SmallDisk(session, location) if small else RefusedRoom(session)
        with contextlib.closing(disk):
            yield disk


def test_a_full_disk(start_gateway, server, database, own_upstream, fresh_key, disk):
    gateway = start_gateway(own_upstream, config(server.url(database)))
    done = {}

    def post_until_refused():
        """Pages that are there already take a few more records."""
        while True:
            key = fresh_key()
            answer = gateway.post(key=key)
            if answer.status != 201:
                return key, answer
            done[key] = answer
            assert len(done) < 2000

    first = fresh_key()
    done[first] = assert_first(gateway.post(key=first))
    disk.fill()
    try:
        refused, answer = post_until_refused()
        assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
        assert own_upstream.runs(refused) == 0
        assert gateway.get("/").status == 201
        for key, answer in done.items():
            assert_replay_of(gateway.post(key=key), answer)
    finally:
        disk.free()
    done[refused] = first_again(gateway, refused)
    for key, answer in done.items():
        assert_replay_of(gateway.post(key=key), answer)
        assert own_upstream.runs(key) == 1
