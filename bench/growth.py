"""What more live keys cost: a gateway on many records beside one on ten thousand."""

import os
import subprocess
import time

import attention  # finds support
from load_generator import wrk
from side_by_side import compare
from support.filled import fill_sqlite

FEW = 10_000


def size_of(path):
    """Of a file, or of the files in a folder: as much as they take on the disk."""
    paths = [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) \
        else [path]
    return sum(os.stat(each).st_blocks * 512 for each in paths)


def grown(servers, name, keys, benches):
    """A store with so many records, nearly all completed: SQLite's filled by SQL, its index of ids
    made at the end; a journal's by claims and completes."""
    url = servers.store_url(name)
    kind, _, path = url.partition(":")
    begin = time.monotonic()
    if kind == "sqlite":
        _, maker = servers.gateway(name, store=url)
        maker.terminate()
        maker.wait()
        fill_sqlite(path, keys)
    else:
        program = os.path.join(benches, "journal_bench")
        subprocess.run([program, "fill", path, str(keys)], check=True, capture_output=True)
    took = time.monotonic() - begin
    print(f"{keys:,} records: {size_of(path) / 2**20:,.0f} MiB, written in {took:.0f} s",
          flush=True)
    if kind == "journal":
        took = sorted(start_of(program, path) for _ in range(9))
        print(f"started in {took[4]} ms ({took[0]} to {took[8]})   goal for 1,000,000: 150 ms",
              flush=True)
    return url


def start_of(program, path):
    """Milliseconds."""
    done = subprocess.run([program, "start", path], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0])


def measure_growth(servers, rounds, seconds, keys, benches):
    """Both stores grow by the rounds' own requests, alike."""
    many, few = (servers.gateway(f"growth-{count}", "--store-sweep", "1h",
                                 store=grown(servers, f"growth-{count}", count, benches))[0]
                 for count in (keys, FEW))
    title = "first requests per second, 64 connections"
    print(f"{title:<46} {'many':>9} {'few':>9} {'ratio':>7}   goal      stolen")
    compare(f"{keys:,} live keys beside {FEW:,}", rounds, lambda: wrk(many, "unique.lua", seconds),
            lambda: wrk(few, "unique.lua", seconds),
            ">= 0.90" if servers.store == "journal" else ">= 0.80")
    print()
