"""`onceguard exec --every`: cron on three machines whose clocks differ, and one PostgreSQL."""

import pathlib
import struct
import threading
import time
from typing import NamedTuple

import pytest

from support.waiting import scaled

PERIOD = 1.0
SKEWS = (-3 * 3600, 0, 40 * 60)  # seconds of the wall clocks
PHASES = (0.0, 0.35, 0.7)        # of the period: so cron fires on these machines


class Call(NamedTuple):
    """Seconds: when cron fired, when it should have, and when `exec` had ended."""
    fired: float
    due: float
    ended: float


class Run(NamedTuple):
    """Seconds: when cron fired, when it should have, and when the command ran."""
    fired: float
    due: float
    started: float


@pytest.fixture
def clock_library(onceguard):
    """Its wall clock is a number in a file."""
    [library] = pathlib.Path(onceguard).parent.glob("tests/libtest_clock*.so")
    return library


def fire(executing, number, library, begin, periods, calls, failures):
    clock = executing.folder / f"clock{number}"
    for period in range(periods):
        delay = begin + (period + PHASES[number]) * PERIOD - time.monotonic()
        if delay > 0:
            threading.Event().wait(delay)
        fired = time.time()
        clock.write_bytes(struct.pack("q", int((fired + SKEWS[number]) * 1000)))
        done = executing.run(
            "nightly", "sh", "-c",
            'unset LD_PRELOAD; echo $FIRED $DUE $(date +%s.%N) >>"$EFFECTS"',
            options=["--every", f"{int(PERIOD * 1000)}ms"],
            environment={"LD_PRELOAD": str(library), "ONCEGUARD_TEST_CLOCK": str(clock),
                         "FIRED": str(fired), "DUE": str(fired + min(delay, 0))})
        calls.append(Call(fired, fired + min(delay, 0), time.time()))
        if done.triple != (0, b"", b""):
            failures.append(done)


def test_one_machine_runs_in_each_period(exec_on, postgres_server, clock_library):
    executing = exec_on(postgres_server.url(postgres_server.create_store()))
    periods, calls, failures = scaled(100, least=20), [], []
    begin = time.monotonic() + 0.2
    machines = [threading.Thread(target=fire, args=(executing, number, clock_library, begin,
                                                    periods, calls, failures))
                for number in range(len(SKEWS))]
    for machine in machines:
        machine.start()
    for machine in machines:
        machine.join()
    assert failures == []
    runs = sorted((Run(*map(float, line.split()))
                   for line in executing.effects.read_text().splitlines()),
                  key=lambda run: run.started)
    ends = {call.fired: call.ended for call in calls}
    for one, other in zip(runs, runs[1:]):
        gap = other.started - one.started
        # A tenth of the period is allowed for the jitter of timers; the claim was made between the
        # moment of cron and the start.
        assert gap > 0.9 * PERIOD - (one.started - one.fired), runs
        # None is left out: who calls once the period and its run are over, runs, unless another
        # one may have come before. On machines at rest, one fires a third of a period later.
        over = max(one.started + PERIOD, ends[one.fired])
        silent = [call for call in calls if over < call.fired and call.ended < other.fired]
        assert silent == [], runs
    # What begins late may be followed by the next machine in place of its own next call.
    late = sum(call.ended - call.due > 0.25 * PERIOD for call in calls)
    assert len(runs) <= periods + 1 + periods // 10
    assert len(runs) >= periods - 1 - periods // 10 - late
