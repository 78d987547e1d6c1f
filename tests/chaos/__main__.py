"""Disturbances in pairs, on real processes: see docs/internals/chaos.md.

    ./dev chaos --hours 1 --seed 7       runs of seed 7, one after the other, for an hour
    ./dev chaos --seed 7 --run 12        run 12 of it alone
    ./dev chaos --pair A,B               the disturbances A and B in each run
    ./dev chaos --plan FILE              a run that was kept or shrunk
    ./dev chaos --list                   the disturbances
"""

import argparse
import concurrent.futures
import ctypes
import os
import pathlib
import random
import signal
import sys
import time

from chaos import plan as plans
from chaos.options import read_reference
from chaos.run import perform
from chaos.shrink import confirmed, shrunk
from chaos.table import TABLE
from support.upgrading import adopting_orphans

PR_SET_PDEATHSIG = 1
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev chaos", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=0.1, help="how long (0.1)")
    parser.add_argument("--seed", type=int, default=None, help="what all is drawn from (random)")
    parser.add_argument("--run", type=int, help="this run alone")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first run (0)")
    parser.add_argument("--pair", default="", help="two names of --list, with a comma")
    parser.add_argument("--plan", help="a file with one run")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (2)")
    parser.add_argument("--list", action="store_true", help="the disturbances")
    parser.add_argument("--program", default=BUILD / "release/onceguard", help="what is disturbed")
    given = parser.parse_args()
    given.pair = [name for name in given.pair.split(",") if name]
    for name in given.pair:
        if name not in TABLE:
            parser.error(f"there is no disturbance {name}; --list has all")
    if given.pair and not plans.stores_of([TABLE[name] for name in given.pair]):
        parser.error("no store has both of these")
    given.program = pathlib.Path(given.program).resolve()
    if not given.list and not given.program.is_file():
        parser.error(f"there is no program {given.program}")
    return given


def end_with_parent():
    """Of a worker: what it has started ends with it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def one(program, plan):
    with adopting_orphans():
        return perform(program, plan, keep=True)


def drawn(given, reference):
    if given.plan:
        yield plans.of_text(pathlib.Path(given.plan).read_text())
    elif given.run is not None:
        yield plans.draw(given.seed, given.run, reference, given.pair)
    else:
        end = time.monotonic() + given.hours * 3600
        run = given.first
        while time.monotonic() < end:
            yield plans.draw(given.seed, run, reference, given.pair)
            run += 1


def report_of(result):
    """What a run came to, as lines; of a fault the first of what was complained of."""
    bad = "  ".join(sorted(result.kinds)) or "well"
    yield (f"run {result.plan.run} ({result.seconds:.0f} s, {result.effects} effects, "
           f"{result.held} without an answer, ended within {result.longest:.1f} s) {bad}: "
           f"{result.plan}")
    for complaint in result.complaints[:4]:
        yield f"    {complaint[:1500]}"
    if result.folder:
        yield f"    kept: {result.folder}"


def examined(program, plan, kinds):
    """Whether the fault comes again, and with how little: the least plan, or None."""
    with adopting_orphans():
        return shrunk(program, plan, kinds) if confirmed(program, plan, kinds) else None


def report_of_fault(plan, least):
    if least is None:
        return f"run {plan.run}: not seen again in two of three repeats"
    name = BUILD / f"chaos-{plan.seed}-{plan.run}.json"
    name.write_text(least.text())
    return (f"run {plan.run}: still fails, two times of three: {least}\n"
            f"    again: ./dev chaos --plan {name}")


def all_runs(given):
    """How many there were, and how many faults came again."""
    found, done = 0, 0
    work = drawn(given, read_reference(given.program))
    with concurrent.futures.ProcessPoolExecutor(given.jobs, initializer=end_with_parent) as pool:
        running, examining = set(), {}
        while True:
            while len(running) + len(examining) < given.jobs and (plan := next(work, None)):
                running.add(pool.submit(one, given.program, plan))
            if not running and not examining:
                return done, found
            ready, _ = concurrent.futures.wait(
                running | set(examining), return_when=concurrent.futures.FIRST_COMPLETED)
            for each in ready & running:
                result = each.result()
                done += 1
                print("\n".join(report_of(result)), flush=True)
                if result.complaints:
                    examining[pool.submit(examined, given.program, result.plan,
                                          result.kinds)] = result.plan
            running -= ready
            for each in ready & set(examining):
                found += each.result() is not None
                print(report_of_fault(examining.pop(each), each.result()), flush=True)


def main():
    given = arguments()
    if given.list:
        for name, row in TABLE.items():
            print(f"{name:20} {', '.join(row.draws):40} {' '.join(row.stores)}")
        return 0
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1 << 31)
    os.environ["ONCEGUARD_BIN"] = str(given.program)  # whose schema PostgreSQL gets
    print(f"seed {given.seed}", flush=True)
    BUILD.mkdir(exist_ok=True)
    done, found = all_runs(given)
    print(f"{done} runs, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
