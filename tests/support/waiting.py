"""Waiting for conditions instead of sleeping, and scaling loads down for slow builds."""

import os
import threading
import time

SCALE = float(os.environ.get("ONCEGUARD_TEST_SCALE", "1"))


def scaled(count, least=1):
    """`count` of rounds, kills or bytes, less where a sanitizer makes everything slow."""
    return max(least, int(count * SCALE))


def wait_until(condition, timeout=10.0, what="the condition"):
    """Polls until `condition()` is true and returns what it returned."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what} did not come true within {timeout} s (last: {value!r})")
        pause.wait(0.01)


class Stopwatch:
    """Seconds of the monotonic clock since it was made."""

    def __init__(self):
        self.began = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self.began
