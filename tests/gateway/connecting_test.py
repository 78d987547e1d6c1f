"""A holder whose key was given to another while it still connects to its upstream sends nothing."""

import contextlib
import socket
import sqlite3

from support.expecting import assert_problem
from support.waiting import Stopwatch, wait_until

LEASE = 2


class SlowToAccept:
    """Its kernel takes no further connection until it is told to accept."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.fillers = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def fill(self):
        while True:
            filler = socket.socket()
            filler.settimeout(0.5)
            self.fillers.append(filler)
            try:
                filler.connect(self.listener.getsockname())
            except TimeoutError:
                return

    def accept(self):
        """The first connection that is not its own."""
        own = set()
        for filler in self.fillers:
            with contextlib.suppress(OSError):
                own.add(filler.getsockname())
        self.listener.settimeout(60)
        while True:
            connection, peer = self.listener.accept()
            if peer not in own:
                return connection
            connection.close()

    def close(self):
        for one in [self.listener, *self.fillers]:
            one.close()


def received(connection):
    """So far; the gateway may keep the connection for the next request."""
    connection.setblocking(False)
    try:
        return connection.recv(65536)
    except BlockingIOError:
        return b""


def test_a_connection_accepted_after_the_lease_carries_no_request(start_gateway, key):
    with contextlib.closing(SlowToAccept()) as slow:
        slow.fill()
        gateway = start_gateway(slow, {"defaults": {"lease": f"{LEASE}s"},
                                       "gateway": {"connect_timeout": "60s"}})
        with gateway.begin_post(key=key) as waiting:
            wait_until(lambda: gateway.state(key) == "in_progress", what="the claim")
            freed = gateway.command("keys", "release", key, "--force")
            assert freed.returncode == 0, freed.stderr
            since = Stopwatch()
            wait_until(lambda: since.seconds > LEASE, what="the renewal that hears of it")
            with slow.accept() as connection:
                assert_problem(waiting.read(), 503, "overloaded", True, retry_after=True)
                assert received(connection) == b""
        assert gateway.state(key) == "released"


def test_with_less_than_a_third_of_the_lease_left_nothing_is_sent(start_gateway, key):
    """Its renewals fail, and the work would hardly end under it."""
    with contextlib.closing(SlowToAccept()) as slow:
        slow.fill()
        # The kernel tries to connect again 7 seconds after the first time.
        gateway = start_gateway(slow, {"defaults": {"lease": "9s"}, "store": {"timeout": "1s"},
                                       "gateway": {"connect_timeout": "60s"}})
        with gateway.begin_post(key=key) as waiting:
            wait_until(lambda: gateway.state(key) == "in_progress", what="the claim")
            with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None,
                                                    timeout=10)) as other:
                other.execute("BEGIN EXCLUSIVE")
                since = Stopwatch()  # no renewal is later than this
                wait_until(lambda: since.seconds > 6, what="the last third of the lease")
                with slow.accept() as connection:
                    wait_until(lambda: since.seconds > 9, what="the end of the lease")
                    sent = received(connection)
                    other.execute("ROLLBACK")
                    assert sent == b""
                    assert_problem(waiting.read(), 503, "overloaded", True, retry_after=True)
        wait_until(lambda: gateway.state(key) == "released", what="the release")
