"""Connections of the Python client: one for each run, none for a forked child, none for nobody."""

import asyncio
import os
import pathlib
import sys
import threading

import pytest

from clients.python_client_test import WHAT, way  # noqa: F401 (fixtures)
from clients.scripted_service import RUN, SETTLED

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))

import onceguard  # noqa: E402


def test_each_run_has_a_connection_of_its_own(scripted):
    service = scripted()
    client = onceguard.Client(service.url)
    together = threading.Barrier(3)
    threads = [threading.Thread(target=lambda: client.execute(work=together.wait, **WHAT))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claimed = [call.connection for call in service.calls if call.kind == "claim"]
    settled = [call.connection for call in service.calls if call.kind == "complete"]
    assert sorted(claimed) == sorted(settled) == [0, 1, 2]


def test_a_connection_that_broke_amid_the_work_is_no_failure(scripted, way, monkeypatch):
    monkeypatch.setattr(onceguard.watch, "LOOKS", 60)  # nothing but the settle connects again
    service = scripted()
    client = onceguard.Client(service.url)

    def work():
        service.away()
        service.open()
        return "done"
    assert way.execute(client, work) == "done"
    assert [(call.kind, call.connection) for call in service.calls] == [
        ("claim", 0), ("complete", 1)]


def test_a_connection_ends_with_its_parent_though_a_forked_child_lives(scripted, way):
    service = scripted()
    client = onceguard.Client(service.url)
    ends, awaited = os.pipe()

    def work():
        child = os.fork()
        if child == 0:
            os.close(awaited)
            os.read(ends, 1)  # until the parent says so
            os._exit(0)
        onceguard.running().stream.close()
        return child
    try:
        way.execute(client)  # leaves an idle connection, which the next one takes
        child = way.execute(client, work)
        service.wait_for(lambda: 0 in service.ended)
    finally:
        os.close(awaited)
        os.close(ends)
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_makes_connections_of_its_own(scripted, way):
    service = scripted()
    client = onceguard.Client(service.url)
    way.execute(client)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if client.execute(work=lambda: "done", **WHAT) == "done" else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert way.execute(client) == "done"
    assert [call.connection for call in service.calls] == [0, 0, 1, 1, 0, 0]


def cancelled(client, reached, work=lambda: "done"):
    """Cancels a call at the moment that `reached` waits for."""
    async def run():
        task = asyncio.ensure_future(client.execute_async(work=work, **WHAT))
        await asyncio.get_running_loop().run_in_executor(None, reached)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while client.loops.tasks:
            await asyncio.wait(list(client.loops.tasks))
    asyncio.run(run())


def test_a_cancelled_claim_is_taken_back(scripted):
    service = scripted(b"", RUN, SETTLED)
    cancelled(onceguard.Client(service.url), lambda: service.wait_for(lambda: service.calls))
    assert service.kinds() == ["claim", "claim", "release"]
    assert service.calls[0].message["claim"] == service.calls[1].message["claim"]
    assert service.calls[1].message["wait_ms"] == 0


def test_a_cancelled_settle_is_made_all_the_same(scripted):
    service = scripted(RUN, b"", SETTLED)
    cancelled(onceguard.Client(service.url),
              lambda: service.wait_for(lambda: len(service.calls) == 2))
    assert service.kinds() == ["claim", "complete", "complete"]


def test_cancelled_work_is_in_doubt(scripted):
    service = scripted()
    begun = threading.Event()

    async def work():
        begun.set()
        await asyncio.sleep(60)
    cancelled(onceguard.Client(service.url), begun.wait, work)
    assert service.kinds() == ["claim", "exception"]


def test_a_lease_whose_connection_ended_is_bound_to_a_new_one(scripted, way):
    service = scripted(RUN, {"outcome": "renewed", "lease_ms": 5}, SETTLED)
    client = onceguard.Client(service.url)

    def work():
        service.away()
        service.open()
        service.wait_for(lambda: "renew" in service.kinds())
        return "done"
    assert way.execute(client, work) == "done"
    assert [(call.kind, call.connection) for call in service.calls] == [
        ("claim", 0), ("renew", 1), ("complete", 2)]
    service.wait_for(lambda: 1 in service.ended)  # it is kept until the settle, and no longer


def test_a_lease_that_another_attempt_has_is_not_bound_again(scripted, way):
    service = scripted(RUN, {"outcome": "superseded"}, {"outcome": "superseded"})
    client = onceguard.Client(service.url)

    def work():
        service.away()
        service.open()
        service.wait_for(lambda: "renew" in service.kinds())
    with pytest.raises(onceguard.OutcomeUnknown):
        way.execute(client, work)
    assert service.kinds() == ["claim", "renew", "complete"]
