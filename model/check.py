#!/usr/bin/python3
"""Checks the models of this folder with spin: each run in full, each control for its reason.

    model/check.py            the quick runs and the controls, as the tests have them
    model/check.py --large    larger bounds, for some minutes
    model/check.py --list     what there is
"""

import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_MIB = 6000
DEPTH = 2_000_000
CACHED = ["ccache"] if shutil.which("ccache") else []  # half of the time is the compiler's


@dataclasses.dataclass(frozen=True)
class Run:
    """One model with its bounds. `fails`: the property that a control must violate."""

    name: str
    model: str
    defines: str
    fails: str = ""
    liveness: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What spin found. `violated`: the name of the first property that does not hold, or empty."""

    violated: str
    states: int
    seconds: float
    complete: bool
    trail: str


HOLD = "-DPOLICY=U_hold"
PROBE = "-DPOLICY=U_probe -DFENCE"
RERUN = "-DPOLICY=U_rerun"
ASK = "-DPOLICY=U_probe"
TWO = "-DGATEWAYS=2"
FEW = "-DCRASHES=1 -DTROUBLES=0 -DSLEEPS=0"

QUICK = [
    Run("hold", "gateway.pml", f"{HOLD}"),
    Run("hold-started", "gateway.pml", f"{HOLD} -DSTARTED {TWO}"),
    Run("hold-mismatch", "gateway.pml", f"{HOLD} -DMISMATCH {TWO}"),
    Run("hold-operator-sweep", "gateway.pml", f"{HOLD} -DOPERATOR -DSWEEP {TWO}"),
    Run("hold-flush", "gateway.pml", f"{HOLD} -DFLUSH {TWO} -DTROUBLES=0"),
    Run("service", "gateway.pml", f"{HOLD} {TWO} -DSERVICE -DOPERATOR -DCRASHES=0"),
    Run("probe-fence", "gateway.pml", f"{PROBE} {TWO} -DCRASHES=1 -DTROUBLES=0"),
    Run("hold-live", "gateway.pml", f"{HOLD} {TWO} -DLIVENESS {FEW}", liveness=True),
    Run("operator-live", "gateway.pml", f"{HOLD} {TWO} -DOPERATOR -DLIVENESS {FEW}",
        liveness=True),
    Run("probe-live", "gateway.pml", f"{PROBE} {TWO} -DLIVENESS {FEW}", liveness=True),
]

CONTROLS = [
    Run("rerun-unfenced", "gateway.pml", f"{RERUN} {TWO} -DMORE_THAN_ONCE",
        "no_effect_after_a_newer_one"),
    Run("rerun-fenced", "gateway.pml", f"{RERUN} {TWO} -DFENCE", "at_most_once"),
    Run("ask-and-reopen", "gateway.pml", f"{ASK} {TWO} -DCRASHES=1 -DTROUBLES=0", "at_most_once"),
    Run("waiter-deletes", "gateway.pml", f"{HOLD} {TWO} -DWAITER_DELETES",
        "only_the_current_token_writes"),
    Run("lease-as-retention", "gateway.pml", f"{HOLD} {TWO} -DSWEEP -DLEASE_AS_RETENTION",
        "sweep_is_safe"),
    Run("read-then-write", "gateway.pml", f"{HOLD} {TWO} -DREAD_THEN_WRITE", "one_lease"),
    Run("acknowledged-early", "gateway.pml", f"{HOLD} {TWO} -DFLUSH -DACKNOWLEDGED_EARLY",
        "a_told_success_is_durable"),
    Run("held-is-blocked", "gateway.pml", f"{HOLD} {TWO} -DLIVENESS -DNOTHING_IS_HELD {FEW}",
        "nothing_is_blocked", liveness=True),
    Run("no-comparison", "gateway.pml",
        f"{HOLD} {TWO} -DSTARTED -DMISMATCH -DNO_COMPARISON {FEW}", "a_mismatch_never_runs"),
    Run("late-work", "gateway.pml", f"{HOLD} {TWO} -DSERVICE -DOPERATOR -DLATE_WORK",
        "at_most_once"),
    Run("renewed-since-the-look", "gateway.pml",
        f"{HOLD} {TWO} -DSERVICE -DOPERATOR -DUNBOUND -DCRASHES=0 -DTROUBLES=0", "at_most_once"),
    Run("released-by-force", "gateway.pml", f"{HOLD} {TWO} -DOPERATOR -DFORCED", "at_most_once"),
]

LARGE = [
    Run("hold-large", "gateway.pml", f"{HOLD} -DTROUBLES=2"),
    Run("service-large", "gateway.pml", f"{HOLD} {TWO} -DSERVICE -DOPERATOR"),
]


def checked(command, where):
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def violated_by(report):
    named = re.search(r"assertion violated \(*(\w+)", report)
    if named:
        return named[1]
    if "acceptance cycle" in report:
        return "nothing_is_blocked"
    if "invalid end state" in re.sub(r"invalid end states\s+[+-]", "", report):
        return "an end state"
    return "" if "errors: 0" in report else "something else"


def check(run, with_trail=False):
    """Runs spin over one model, to the end or to the first violation."""
    with tempfile.TemporaryDirectory(prefix="onceguard-model-") as folder:
        where = pathlib.Path(folder)
        # spin gets text without line marks, as it knows none inside an inline.
        checked(["gcc", "-E", "-P", "-x", "c", "-std=gnu99", *run.defines.split(),
                 HERE / run.model, "-o", where / "model.pml"], HERE)
        checked(["spin", "-a", "model.pml"], where)
        flags = ["-DNFAIR=3"] if run.liveness else ["-DSAFETY"]
        # What fails does so early: there the compiler would take longer than the search.
        optimised = "-O0" if run.fails else "-O1"
        checked([*CACHED, "gcc", optimised, "-w", "-DVECTORSZ=2048", f"-DMEMLIM={MEMORY_MIB}",
                 "-DCOLLAPSE", *flags, "-c", "pan.c"], where)
        checked(["gcc", "-o", "pan", "pan.o"], where)
        begin = time.monotonic()
        found = subprocess.run(["./pan", f"-m{DEPTH}", *(["-a", "-f"] if run.liveness else [])],
                               cwd=where, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
        report = found.stdout + found.stderr
        violated = violated_by(report)
        trail = ""
        if violated and with_trail:
            trail = subprocess.run(["spin", "-t", "-p", "-g", "model.pml"], cwd=where, text=True,
                                   capture_output=True, check=False).stdout
    states = re.search(r"(\d+) states, stored", report)
    complete = "max search depth too small" not in report and "out of memory" not in report and (
        "Search not completed" not in report and states is not None)
    return Outcome(violated, int(states[1]) if states else 0, seconds, complete, trail)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="these runs alone")
    parser.add_argument("--large", action="store_true", help="larger bounds, for some minutes")
    parser.add_argument("--list", action="store_true", help="name them")
    parser.add_argument("--trail", action="store_true", help="show the way to a violation")
    options = parser.parse_args()
    every = QUICK + CONTROLS + LARGE
    runs = LARGE if options.large else QUICK + CONTROLS
    if options.names:
        unknown = set(options.names) - {run.name for run in every}
        if unknown:
            parser.error(f"no such run: {', '.join(sorted(unknown))}")
        runs = [run for run in every if run.name in options.names]
    wrong = 0
    for run in runs:
        if options.list:
            print(f"{run.name:24} {run.model:14} {run.defines}")
            continue
        is_ = check(run, options.trail)
        right = is_.violated == run.fails and (is_.complete or run.fails)
        wrong += not right
        what = f"fails: {is_.violated}" if is_.violated else "holds"
        print(f"{run.name:24} {is_.states:>10} states {is_.seconds:6.1f} s  {what}"
              f"{'' if right else '  WRONG'}"
              f"{'' if is_.complete or is_.violated else ' (cut short)'}", flush=True)
        if options.trail and is_.trail:
            print(is_.trail)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
