"""A claim that is sent again while its first sending is under way in PostgreSQL: nobody can see its
record yet, and it is the caller's own."""

import contextlib
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.decisions import DecisionService, parts, stays
from support.hanging_commits import commits_that_hang
from support.postgres import Postgres
from support.waiting import Stopwatch, least_seconds, wait_until


@pytest.fixture(scope="module")
def server():
    """One of this file's own, as all of its commits wait."""
    with contextlib.closing(Postgres()) as running:
        yield running.start()


@pytest.fixture
def services(onceguard, tmp_path, server):
    """Two over one store, and the store's database."""
    database, made = server.create_store(), []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        made.append(DecisionService(onceguard, folder, store=server.url(database)).start())
    yield *made, database
    for each in made:
        each.close()


def commit_waits(server, database):
    with server.connect() as session:
        return session.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                               "AND datname = %s", [database]).fetchone()


def test_it_takes_over_from_its_first_sending(server, services):
    one, two, database = services
    wanted = parts(claim=uuid.uuid4().hex)
    with ThreadPoolExecutor(1) as other:
        with commits_that_hang(server):
            one.connect().send_post("/v1/operations", wanted)
            wait_until(lambda: commit_waits(server, database), what="the commit of the claim")
            one.kill()
            again = other.submit(two.connect().claim, **wanted)
            assert stays(lambda: not again.done(), 1), again.result()
        begun = again.result()
    assert begun["verdict"] == "run"
    caller = two.connect()
    assert caller.complete(begun["operation"])["outcome"] == "settled"
    assert caller.claim(**wanted)["verdict"] == "replay"


def test_who_names_no_claim_is_busy_meanwhile(server, services):
    one, two, database = services
    wanted = parts()
    with commits_that_hang(server):
        one.connect().send_post("/v1/operations", {**wanted, "claim": uuid.uuid4().hex})
        wait_until(lambda: commit_waits(server, database), what="the commit of the claim")
        assert two.connect().claim(**wanted)["verdict"] == "busy"


def test_what_the_first_process_gives_back_is_its_own_lease(server, services):
    """Its client has left, and it finds so when the claim is through. Meanwhile the other process
    may have begun the work for the same claim."""
    one, two, database = services
    for _ in range(4):
        wanted = parts(claim=uuid.uuid4().hex)
        with ThreadPoolExecutor(1) as other:
            with commits_that_hang(server):
                leaver = one.connect()
                leaver.send_post("/v1/operations", wanted)
                wait_until(lambda: commit_waits(server, database), what="the commit of the claim")
                leaver.close()
                caller = two.connect()
                again = other.submit(caller.claim, **wanted)
                assert stays(lambda: not again.done(), 0.5), again.result()
            begun = again.result()
        assert begun["verdict"] == "run"
        del wanted["claim"]
        asker = two.connect()
        assert stays(lambda: asker.claim(**wanted)["verdict"] == "busy", 0.5)
        assert caller.complete(begun["operation"])["outcome"] == "settled"


LATE = ("store_failed", "unguarded")  # of a busy machine, whose store has one second


@pytest.mark.parametrize("config", [{}, {"defaults": {"store_failure": "open"}}])
@pytest.mark.parametrize("before", [None, "release", "fail"])
def test_a_key_that_an_open_transaction_holds_is_busy(onceguard, tmp_path, server, config, before):
    """Nobody can tell yet whose claim it is: another one's, or an earlier try of this one. It may
    be the key's first, or be written over a record that everybody sees."""
    database, wanted = server.create_store(), parts(claim=uuid.uuid4().hex)
    store = {"store": {"timeout": "1s"}}
    with contextlib.closing(DecisionService(onceguard, tmp_path, {**config, **store},
                                            store=server.url(database))) as service:
        call = service.start().connect()
        if before:
            begun = wait_until(lambda: (got := call.claim(**wanted))["verdict"] == "run" and got,
                               what="a claim")  # it has one second
            terms = {"backoff_ms": 1} if before == "fail" else {}
            wait_until(lambda: call.settle(begun["operation"], before, **terms)["outcome"]
                       == "settled", what="its end")
            wait_until(lambda: service.state(wanted["key"]) in ("failed", "released"), what="it")
        with server.connect(database, autocommit=False) as holder:
            begun = holder.execute("SELECT verdict, lease FROM onceguard.claim(%s, %s, %s)",
                                   [wanted["scope"], wanted["key"],
                                    wanted["fingerprint"].encode()]).fetchone()
            assert begun[0] == "run"
            for claim in (wanted["claim"], uuid.uuid4().hex):
                verdicts = [call.claim(**{**wanted, "claim": claim})["verdict"]]
                while verdicts[-1] in LATE and len(verdicts) < 20:
                    verdicts.append(call.claim(**{**wanted, "claim": claim})["verdict"])
                assert verdicts[-1] == "busy" and len(verdicts) < 20, verdicts
            # Without an id there is no earlier try, and nothing to wait for.
            plain = {name: value for name, value in wanted.items() if name != "claim"}

            def seconds_of_a_claim():
                watch = Stopwatch()
                verdict = call.claim(**plain)["verdict"]
                assert verdict in ("busy", *LATE), verdict
                return watch.seconds if verdict == "busy" else 1.0
            assert least_seconds(seconds_of_a_claim, 0.4) < 0.4
            holder.execute("SELECT onceguard.complete(%s, 201, null, 'made')", [begun[1]])
            holder.commit()
        again = wait_until(lambda: (got := call.claim(**{**wanted, "claim": uuid.uuid4().hex}))
                           ["verdict"] != "busy" and got, what="the answer")
        assert (again["verdict"], again["answer"]["body"]) == ("replay", "made")
