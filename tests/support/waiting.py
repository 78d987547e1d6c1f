"""Waiting for conditions instead of sleeping, and scaling loads down for slow builds."""

import os
import pathlib
import threading
import time

SCALE = float(os.environ.get("ONCEGUARD_TEST_SCALE", "1"))
SANITIZED = "ASAN_OPTIONS" in os.environ  # by ./dev: the programs need more memory


def scaled(count, least=1):
    """`count` of rounds, kills or bytes, as far as ONCEGUARD_TEST_SCALE asks for."""
    return max(least, int(count * SCALE))


PATIENCE = 6  # A machine may be so much slower than the one on which a test was written.
LONGEST = 400  # seconds; a suite that ends by its own limit can't say what did not come true


def wait_until(condition, timeout=10.0, what="the condition"):
    """Polls until `condition()` is true and returns what it returned.

    `timeout` is in seconds, on a machine at rest. What takes long to tell, as it needs a process or
    a connection, or long to come true, is asked less often: other suites have the processors then.
    """
    pause = threading.Event()
    begin = time.monotonic()
    while True:
        asked = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now >= begin + max(timeout, min(timeout * PATIENCE, LONGEST)):
            raise AssertionError(f"{what} did not come true within {timeout} s (last: {value!r})")
        pause.wait(min(max(0.01, now - asked, (now - begin) / 50), 0.1))


class Stopwatch:
    """Seconds of the monotonic clock since it was made."""

    def __init__(self):
        self.began = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self.began


def least_seconds(measure, enough, tries=6):
    """The least that `measure()` returned, in seconds; it is not asked again once that is `enough`.

    A busy machine is late at some times, and what never comes by itself is late each time.
    """
    least = measure()
    for _ in range(tries - 1):
        if least < enough:
            break
        least = min(least, measure())
    return least


def stands_still(process):
    """Waits until a stop has reached each thread of the process."""
    def stopped():
        tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
        try:
            return all("\nState:\tT" in (task / "status").read_text() for task in tasks)
        except (FileNotFoundError, ProcessLookupError):
            return False  # a thread ended meanwhile
    wait_until(stopped, what="the process to stand still")
