"""What more live keys cost: a gateway on a file with many records beside one with ten thousand."""

import os
import subprocess
import time

from load_generator import wrk
from side_by_side import compare

FEW = 10_000


def filled(servers, name, keys, sqlite_bench):
    """A file with so many completed records, written by the store's own statements."""
    path = os.path.join(servers.dir, name + ".db")
    begin = time.monotonic()
    subprocess.run([sqlite_bench, "raw", path, str(keys)], check=True, capture_output=True)
    size = os.path.getsize(path) / 2**20
    print(f"{keys:,} records: {size:,.0f} MiB, written in {time.monotonic() - begin:.0f} s")
    return "sqlite:" + path


def measure_growth(servers, rounds, seconds, keys, sqlite_bench):
    """Both files grow by the rounds' own requests, alike."""
    many, few = (servers.gateway(f"growth-{count}", "--store-sweep", "1h",
                                 store=filled(servers, f"growth-{count}", count, sqlite_bench))[0]
                 for count in (keys, FEW))
    title = "first requests per second, 64 connections"
    print(f"{title:<46} {'many':>9} {'few':>9} {'ratio':>7}   goal      stolen")
    compare(f"{keys:,} live keys beside {FEW:,}", rounds, lambda: wrk(many, "unique.lua", seconds),
            lambda: wrk(few, "unique.lua", seconds), ">= 0.80")
    print()
