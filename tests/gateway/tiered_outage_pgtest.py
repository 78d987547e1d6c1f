"""Redis in front of a PostgreSQL that is not there."""

import contextlib

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.postgres import Postgres
from support.tiered import CACHELESS
from support.waiting import Stopwatch, wait_until


@pytest.mark.parametrize("replays", ["fresh", "always"])
def test_without_postgresql_nothing_new_runs(start_gateway, redis, own_upstream, fresh_key,
                                            replays):
    redis.start()
    server = Postgres()
    with contextlib.closing(server.start()):
        gateway = start_gateway(own_upstream, {"gateway": CACHELESS, "store": {
            "url": server.url(server.create_store()), "timeout": "2s",
            "accelerator": f"redis://127.0.0.1:{redis.port.number}",
            "accelerator_replays": replays}})
        key, new = fresh_key(), fresh_key()
        # The store has two seconds, which a busy machine may need for itself.
        first = assert_first(wait_until(
            lambda: (got := gateway.post(key=key)).status == 201 and got, what="an answer"))
        server.crash()
        assert_problem(gateway.post(key=new), 503, "store-unreachable", True, retry_after=True)
        if replays == "always":
            out = Stopwatch()
            while out.seconds < 6:  # longer than the last check of both stores may count
                answer = gateway.post(key=key)
                if answer.status == 201:
                    assert_replay_of(answer, first)
            wait_until(lambda: gateway.post(key=key).replayed)
        else:
            # One alone may be due to Redis, if that was slow for a moment.
            wait_until(lambda: all(gateway.post(key=key).status == 503 for _ in range(5)),
                       what="the end of the last check of both stores")
            for _ in range(5):
                assert gateway.post(key=key).problem == "store-unreachable"
        assert_problem(gateway.post(key=new), 503, "store-unreachable", True, retry_after=True)
        server.start()
        wait_until(lambda: gateway.post(key=key).replayed, timeout=20)
        wait_until(lambda: gateway.post(key=new).status == 201, timeout=20)
    assert own_upstream.effects() == {key: 1, new: 1}
