"""The release before and this one beside one another, on each store: whatever one ran the other
replays, what runs at one is busy at the other, and a key takes effect once.

Not of the suites that run each time: it needs the program of the release before, ONCEGUARD_FORMER.
`./dev upgrades` builds that and runs this.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.gateway import DEFAULT_BODY, Gateway
from support.upgrading import Load, SocketKeeper, adopting_orphans, upgrade
from support.waiting import scaled


@pytest.fixture(scope="session")
def former():
    path = pathlib.Path(os.environ["ONCEGUARD_FORMER"])
    assert os.access(path, os.X_OK), f"no program at {path}"
    return path


@pytest.fixture(scope="session")
def hands_over(former):
    """Since 0.2.0 sockets are passed on: by a manager that keeps them, and by SIGUSR2."""
    said = subprocess.run([former, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"(\d+)\.(\d+)\.(\d+)", said).groups())) >= (0, 2, 0)


@pytest.fixture(params=["sqlite", "postgres", "redis", "tiered", "dynamodb"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return {"url": f"sqlite:{tmp_path}/shared.db"}
    if request.param == "redis":
        return {"url": request.getfixturevalue("redis_server").create_store()}
    if request.param == "dynamodb":
        return {"url": request.getfixturevalue("dynamodb_server").create_store()}
    server, name = request.getfixturevalue("postgres_server"), request.getfixturevalue("database")
    table = {"url": server.url(name), "timeout": "5s"}
    if request.param == "tiered":
        table["accelerator"] = request.getfixturevalue("redis_server").create_store()
    return table


@pytest.fixture
def both(onceguard, former, store, own_upstream, tmp_path_factory):
    """The former one, which made the store, and this one; neither has a cache that answers for it.
    The store's schema is one that both use."""
    made = []
    for binary in former, onceguard:
        made.append(Gateway(binary, tmp_path_factory.mktemp("gateway"), own_upstream.url, {
            "store": store, "gateway": {"replay_cache": "0", "drain": "60s"}}).start())
    yield made
    for gateway in made:
        if gateway.log():
            print(gateway.log()[-2000:])
        gateway.close()


def test_each_replays_what_the_other_ran(both, own_upstream, fresh_key):
    for one, other in (both, reversed(both)):
        for _ in range(scaled(20, 5)):
            key = fresh_key()
            first = assert_first(one.post(key=key))
            assert_replay_of(other.post(key=key), first)
            assert own_upstream.runs(key) == 1


def test_what_runs_at_one_is_busy_at_the_other(both, own_upstream, fresh_key):
    for one, other in (both, reversed(both)):
        key = fresh_key()
        with one.begin_post(key=key, plan={"gate": key}) as running:
            own_upstream.arrived(1, key)
            assert other.post(key=key, plan={"gate": key}).status == 409
            own_upstream.open(key)
            first = assert_first(running.read())
        assert_replay_of(other.post(key=key, plan={"gate": key}), first)


def test_one_effect_however_many_repeats_at_both(both, own_upstream, fresh_key):
    for _ in range(scaled(20, 5)):
        key = fresh_key()
        fields = [("Content-Type", "application/json")] + fields_for(key)
        request = request_bytes("POST", "/charges", fields, DEFAULT_BODY)
        answers = all_at_once([both[0].address, both[1].address] * 8, [request] * 16)
        assert {answer.status for answer in answers} <= {201, 409}
        assert own_upstream.runs(key) == 1


CONFIG = {"drain": "60s", "access_log": "off"}


@contextlib.contextmanager
def begun(gateway, upstream, hands_over):
    """Started, under load, and with a manager that keeps its socket: where both can have it passed
    to them, no request fails. Gives a function that waits until more took effect."""
    if not hands_over:
        gateway.start()
        yield lambda: None
        return
    with contextlib.closing(SocketKeeper(gateway)):
        gateway.start()
        with Load(gateway, upstream) as load:
            yield load.goes_on


def test_restarts_from_one_to_the_other_and_back(former, onceguard, hands_over, start_gateway,
                                                 own_upstream, store, fresh_key):
    gateway = start_gateway(own_upstream, {"store": store, "gateway": CONFIG}, started=False)
    with begun(gateway, own_upstream, hands_over) as goes_on:
        kept = {}
        for binary in (former, onceguard) * scaled(3):
            assert gateway.stop() == 0
            gateway.binary = binary
            gateway.start()
            for key, first in kept.items():
                assert_replay_of(gateway.post(key=key), first)
            key = fresh_key()
            kept[key] = assert_first(gateway.post(key=key))
            goes_on()
    assert [own_upstream.runs(key) for key in kept] == [1] * len(kept)


def test_the_running_former_one_becomes_this_one(former, onceguard, hands_over, start_gateway,
                                                 own_upstream, store, tmp_path, fresh_key):
    """As an upgrade of the package does it: the file is replaced, and SIGUSR2 sent. A former one
    that doesn't know it goes on, and is stopped and started by hand."""
    program = tmp_path / "onceguard"
    shutil.copy(former, program)
    gateway = start_gateway(own_upstream, {"store": store, "gateway": CONFIG}, started=False)
    gateway.binary = program
    gateway.start()
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    shutil.copy(onceguard, tmp_path / "later")
    (tmp_path / "later").replace(program)
    with adopting_orphans():
        with Load(gateway, own_upstream) as load:
            if hands_over:
                ended = upgrade(gateway)
            else:
                gateway.signal(signal.SIGUSR2)
                gateway.logged("signal-ignored")
            load.goes_on()
        if hands_over:
            assert ended.wait(60) == 0
        else:
            assert gateway.stop() == 0
            gateway.start()
        assert_replay_of(gateway.post(key=key), first)
        assert_first(gateway.post(key=fresh_key()))
        assert gateway.stop() == 0
    assert own_upstream.runs(key) == 1
