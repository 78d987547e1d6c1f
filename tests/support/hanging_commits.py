"""A PostgreSQL server that waits for a standby before it answers a commit."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

from support.waiting import wait_until


@contextlib.contextmanager
def commits_that_hang(server):
    """Each waits for a standby that does not exist, from the moment that one was seen to."""
    in_force = threading.Event()
    def commit():
        with server.connect() as session:
            while not in_force.is_set():
                session.execute("SELECT pg_logical_emit_message(true, 'test', 'a commit')")
    def one_waits():
        with server.connect() as session:
            return session.execute("SELECT 1 FROM pg_stat_activity "
                                   "WHERE wait_event = 'SyncRep'").fetchone()
    def set_standby(setting):
        with server.connect() as session:
            session.execute(f"ALTER SYSTEM {setting}")
            session.execute("SELECT pg_reload_conf()")
    with ThreadPoolExecutor(1) as other:
        set_standby("SET synchronous_standby_names = 'nobody'")
        committing = other.submit(commit)
        try:
            wait_until(one_waits, what="a commit that waits")
            in_force.set()
            yield
        finally:
            in_force.set()
            set_standby("RESET synchronous_standby_names")
    committing.result()
