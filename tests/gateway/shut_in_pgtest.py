"""A gateway on PostgreSQL is shut in: connections, certificates and the accelerator as before."""

from support.expecting import assert_first, assert_replay_of
from support.shut_in import SHUT_IN, status_of
from support.waiting import wait_until


def test_it_works_and_connects_anew(start_gateway, postgres_server, database, own_upstream,
                                    fresh_key, admin):
    gateway = start_gateway(own_upstream, {"store": {"url": postgres_server.url(database)}})
    for _ in range(2):
        # What was in flight at the cut is in doubt, so that each try has a key of its own.
        key, first = wait_until(
            lambda: next(((k, a) for k in [fresh_key()] for a in [gateway.post(key=k)]
                          if a.status != 503), None),
            20, "the store in use")
        assert_replay_of(gateway.post(key=key), assert_first(first))
        assert own_upstream.runs(key) == 1
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                      " WHERE datname = current_database() AND pid <> pg_backend_pid()")
    assert status_of(gateway.process.pid) == SHUT_IN
    assert gateway.stop() == 0
