"""Ways to find a record in a SQLite file, in turn: what a claim and its complete cost on a file of
ten thousand records, and on one of many. The variants are a table of sqlite_index_bench."""

import collections
import os
import statistics
import subprocess

from side_by_side import processor_time

FEW = 10_000
CYCLES = 32_000  # some 55,000 pages of log
Sample = collections.namedtuple("Sample", "rate rate_all cpu log copied")


def text_of(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to " \
           f"{max(values):.{digits}f})"


def measure_size(program, folder, names, records, rounds):
    """Each variant has a file of its own. That of many records grows by the rounds, and that of few
    is made anew for each. The order changes, so that nobody always comes after the same one."""
    def path(name):
        return os.path.join(folder, f"index-{name}-{records}.db")

    def call(name, *what):
        return subprocess.run([program, name, path(name), *map(str, what)], check=True,
                              capture_output=True, text=True).stdout

    def remove(name):
        for end in ("", "-wal", "-shm"):
            if os.path.exists(path(name) + end):
                os.remove(path(name) + end)
    for name in names:
        call(name, "fill", records)
    samples = {name: [] for name in names}
    begin = processor_time()
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            if records == FEW:
                remove(name)
                call(name, "fill", records)
            os.sync()
            samples[name].append(Sample(*map(float, call(name, "run", CYCLES).split())))
    spent, stolen = (now - then for now, then in zip(processor_time(), begin))
    print(f"{records:,} records, {rounds} rounds, {stolen / spent:.1%} stolen")
    print_samples(samples)
    for name in names:
        remove(name)


def print_samples(samples):
    print(f"{'':<14} {'rate':>7} {'of the first':<22} {'of its CPU':<22} {'CPU us':>7} "
          f"{'bytes of log':>12} {'copied':>7}")
    base = next(iter(samples.values()))
    for name, rounds in samples.items():
        rate = [one.rate_all / first.rate_all for one, first in zip(rounds, base)]
        cpu = [one.cpu / first.cpu for one, first in zip(rounds, base)]
        middle = Sample(*map(statistics.median, zip(*rounds)))
        print(f"{name:<14} {middle.rate_all:>7.0f} {text_of(rate):<22} {text_of(cpu):<22} "
              f"{middle.cpu:>7.1f} {middle.log:>12.0f} {middle.copied:>7.0f}", flush=True)
    print()


def measure_index(servers, programs, rounds, keys):
    program = os.path.join(programs, "sqlite_index_bench")
    names = subprocess.run([program, "list"], check=True, capture_output=True,
                           text=True).stdout.split()
    for records in (FEW, keys):
        measure_size(program, servers.dir, names, records, rounds)
