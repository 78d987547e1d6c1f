"""The release before and this one beside one another, on each store: whatever one ran the other
replays, what runs at one is busy at the other, and a key takes effect once.

Not of the suites that run each time: it needs the program of the release before, ONCEGUARD_FORMER
(a build of its tag, or of its package).
    ONCEGUARD_FORMER=/path/to/onceguard python3 -m pytest gateway/former_release.py
"""

import os
import pathlib

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.gateway import DEFAULT_BODY, Gateway
from support.upgrading import Load, SocketKeeper
from support.waiting import scaled


@pytest.fixture(scope="session")
def former():
    path = pathlib.Path(os.environ["ONCEGUARD_FORMER"])
    assert os.access(path, os.X_OK), f"no program at {path}"
    return path


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


def test_a_restart_from_one_to_the_other_and_back(onceguard, former, start_gateway, own_upstream,
                                                  store):
    """With a manager that keeps the socket, if the former one takes it."""
    gateway = start_gateway(own_upstream, {"store": store, "gateway": {"drain": "60s",
                                                                       "access_log": "off"}},
                            started=False)
    keeper = SocketKeeper(gateway)
    try:
        gateway.binary = onceguard
        gateway.start()
        with Load(gateway, own_upstream) as load:
            for binary in (former, onceguard) * scaled(3):
                assert gateway.stop() == 0
                gateway.binary = binary
                gateway.start()
                load.goes_on()
    finally:
        keeper.close()
