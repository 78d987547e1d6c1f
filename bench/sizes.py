"""The sizes part of run.py: what a completed record takes in each store, with everything around it:
a key of some 20 bytes, an answer of 200 with its headers, as the gateway keeps them."""

import contextlib
import os
import pathlib
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.postgres import Postgres
from support.redis import Redis


def sqlite_size(servers, fill):
    file = os.path.join(servers.dir, "sizes.db")
    fill("sqlite:" + file)
    with contextlib.closing(sqlite3.connect(file)) as at:
        at.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        count = at.execute("SELECT count(*) FROM records").fetchone()[0]
    return os.path.getsize(file), count


def postgres_size(_, fill):
    server = Postgres().start()
    with contextlib.closing(server):
        store = server.create_store()
        fill(server.url(store))
        with server.connect(store) as at:
            return at.execute("SELECT pg_total_relation_size('onceguard.records'), count(*)"
                              " FROM onceguard.records").fetchone()


def redis_size(_, fill):
    server = Redis().start()
    with contextlib.closing(server):
        def used():  # not used_memory_dataset: that leaves out the table of keys
            lines = server.run("INFO memory").decode().splitlines()
            return int(next(li for li in lines if li.startswith("used_memory:"))[12:])
        before = used()
        fill(f"redis://127.0.0.1:{server.port.number}")
        count = int(server.run("DBSIZE").strip()[1:]) - 1  # the metadata
        return used() - before, count


def bench_sizes(servers, seconds, wrk):
    print("bytes for each completed record, everything around it included")
    for name, measure in (("sqlite", sqlite_size), ("postgresql", postgres_size),
                          ("redis", redis_size)):
        def fill(url, name=name):
            port, process = servers.gateway("sizes-" + name, store=url)
            wrk(port, "unique.lua", seconds)
            process.terminate()
            process.wait()
        size, count = measure(servers, fill)
        print(f"{name:<12} {size / count:>7,.0f}   ({count:,} records, {size / 2**20:,.1f} MiB)")
        sys.stdout.flush()
    print()
