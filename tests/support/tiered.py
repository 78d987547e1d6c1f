"""What the tests of Redis in front of PostgreSQL share."""

import contextlib

from support.expecting import assert_replay_of
from support.waiting import wait_until

CACHELESS = {"replay_cache": "0"}  # so that a replay comes from a store


@contextlib.contextmanager
def records_locked(server, database):
    """Whoever asks PostgreSQL about a record gets no answer meanwhile."""
    with server.connect(database, autocommit=False) as holder:
        holder.execute("LOCK TABLE onceguard.records IN ACCESS EXCLUSIVE MODE")
        yield
        holder.rollback()


def replayed_by_redis(server, database, gateway, key, first):
    """Sooner or later: whenever Redis did not know it, PostgreSQL tells it."""
    def served():
        again = gateway.post(key=key)
        if again.problem in ("in-progress", "store-unreachable"):
            return None  # the copy was late
        assert_replay_of(again, first)
        with records_locked(server, database):
            answer = gateway.post(key=key)
            return answer if answer.status == 201 else None
    assert_replay_of(wait_until(served, timeout=30, what="a replay without PostgreSQL"), first)
