"""A lease that somebody else than a decision service ends, with Redis in front of PostgreSQL: Redis
does not go on to say that it runs."""

import subprocess

import pytest

from support.decisions import DecisionService, parts, stays
from support.gateway import clean_environment
from support.waiting import Stopwatch, wait_until


@pytest.fixture
def start(onceguard, tmp_path, postgres_server, database, redis_server):
    made, accelerator = [], redis_server.create_store()

    def begin(name):
        folder = tmp_path / name
        folder.mkdir()
        made.append(DecisionService(onceguard, folder, {"store": {"accelerator": accelerator}},
                                    store=postgres_server.url(database)))
        return made[-1].start()

    yield begin
    for each in made:
        each.close()


def by_keys(onceguard, store, wanted, *words):
    subprocess.run([str(onceguard), "keys", *words, wanted["key"], "--force", "--store", store],
                   capture_output=True, timeout=60, check=True, env=clean_environment())


def ended_by(how, onceguard, service, begun, wanted, session):
    if how == "keys release":
        by_keys(onceguard, service.store, wanted, "release")
    elif how == "keys complete":
        by_keys(onceguard, service.store, wanted, "complete", "--status", "201", "--body", "made")
    else:
        session.execute("SELECT onceguard.complete(%s, 201, null, 'made')", [begun["lease"]])


@pytest.mark.parametrize("how", ["keys release", "keys complete", "its own transaction"])
def test_repeats_learn_of_it(onceguard, start, admin, how):
    one, two = start("one"), start("two")
    wanted = parts()
    begun = one.connect().claim(**wanted)
    one.kill()
    assert two.connect().claim(**wanted)["verdict"] == "busy"
    ended_by(how, onceguard, two, begun, wanted, admin)
    call, watch = two.connect(), Stopwatch()
    again = wait_until(lambda: (got := call.claim(**wanted))["verdict"] != "busy" and got, 10,
                       "the end of the lease")
    assert watch.seconds < 20, "it was told only when the lease would have ended by itself"
    if how == "keys release":
        assert again["verdict"] == "run" and again["token"] > begun["token"]
    else:
        assert stays(lambda: call.claim(**wanted)["verdict"] == "replay", 2)
        assert again["answer"]["body"] == "made"
