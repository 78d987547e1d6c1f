"""Ports that stay ours while a test runs, also between a stop and a restart."""

import fcntl
import os
import random
import socket

# Below the range that the kernel takes for outgoing connections, so that none of those gets
# the port of a gateway that is being restarted.
LOWEST, HIGHEST = 15000, 31999

# Of all runs on this machine, also of those with temporary folders of their own.
FOLDER = "/tmp/onceguard-test-ports"


class Port:
    """A reserved port: a lock file keeps other test processes away, close() gives it back."""

    def __init__(self):
        os.makedirs(FOLDER, exist_ok=True)
        start = random.SystemRandom().randrange(LOWEST, HIGHEST)
        for step in range(HIGHEST - LOWEST):
            number = LOWEST + (start - LOWEST + step) % (HIGHEST - LOWEST)
            lock = os.open(os.path.join(FOLDER, str(number)), os.O_CREAT | os.O_RDWR, 0o666)
            if self._take(lock, number):
                self.number, self._lock = number, lock
                return
            os.close(lock)
        raise RuntimeError("no free port")

    @staticmethod
    def _take(lock, number):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:  # also refuses a port with connections in TIME_WAIT
                probe.bind(("127.0.0.1", number))
            return True
        except OSError:
            return False

    def close(self):
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
