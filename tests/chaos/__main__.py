"""Disturbances in pairs, on real processes: see docs/internals/chaos.md.

    ./dev chaos --hours 1 --seed 7       runs of seed 7, one after the other, for an hour
    ./dev chaos --seed 7 --run 12        run 12 of it alone
    ./dev chaos --pair A,B               the disturbances A and B in each run
    ./dev chaos --plan FILE              a run that was kept or shrunk
    ./dev chaos --list                   the disturbances
"""

import argparse
import concurrent.futures
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


def tell(result):
    bad = "  ".join(sorted(result.kinds)) or "well"
    print(f"run {result.plan.run} ({result.seconds:.0f} s, {result.effects} effects, "
          f"{result.held} without an answer, ended within {result.longest:.1f} s) {bad}: "
          f"{result.plan}", flush=True)


def examine(program, result):
    """Whether the fault comes again, and with how little."""
    for complaint in result.complaints[:6]:
        print(f"    {complaint[:1500]}", flush=True)
    print(f"    kept: {result.folder}", flush=True)
    if not confirmed(program, result.plan, result.kinds):
        print("    not seen again in two of three repeats", flush=True)
        return False
    least = shrunk(program, result.plan, result.kinds)
    name = BUILD / f"chaos-{result.plan.seed}-{result.plan.run}.json"
    name.write_text(least.text())
    print(f"    still fails, two times of three: {least}\n"
          f"    again: ./dev chaos --plan {name}", flush=True)
    return True


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
    found, done = 0, 0
    work = drawn(given, read_reference(given.program))
    with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
        running = set()
        while True:
            while len(running) < given.jobs and (plan := next(work, None)) is not None:
                running.add(pool.submit(one, given.program, plan))
            if not running:
                break
            ready, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for result in (each.result() for each in ready):
                done += 1
                tell(result)
                if result.complaints:
                    found += examine(given.program, result)
    print(f"{done} runs, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
