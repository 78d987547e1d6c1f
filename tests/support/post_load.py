"""Clients that post one request after the other until they are stopped."""

import threading
import uuid

from support.waiting import wait_until


class PostLoad:
    """Each request has a key and a path of its own, which begins with /load/. Within `with`, they
    run; behind it, all are answered. `path_size` makes their paths, and so their lines in the log,
    longer."""

    def __init__(self, gateway, threads=4, path_size=0):
        self._gateway = gateway
        self._end = "/" + "p" * path_size
        self._done = []
        self._failures = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for each in self._threads:
            each.join(60)
        assert not self._failures, self._failures

    def _run(self):
        try:
            with self._gateway.connect() as connection:
                while not self._over.is_set():
                    key = str(uuid.uuid4())
                    path = f"/load/{key}{self._end}"
                    connection.send_request("POST", path, [("Idempotency-Key", key)], b"{}")
                    self._done.append((path, connection.read().status))
        except Exception as failure:  # of a thread, which nobody else would see
            self._failures.append(failure)

    def wait_for(self, more):
        """Until that many more are answered."""
        before = len(self._done)
        wait_until(lambda: len(self._done) >= before + more or self._failures, 60,
                   f"{more} more requests")

    def paths(self):
        return [path for path, _ in self._done]

    def statuses(self):
        return {status for _, status in self._done}
