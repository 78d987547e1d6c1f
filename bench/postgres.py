"""The PostgreSQL part of run.py: the store beside the usual article's flow, on one server that
waits for its disk (fsync and synchronous_commit on), in turn, in one run."""

import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from express import against_express, start_express
from store.postgres.acts import Clock, Desk
from support.postgres import PROGRAMS, Postgres
from support.postgres_soak import RETENTION, STEP, soak

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
           "shared_buffers": "'256MB'", "max_wal_size": "'4GB'", "autovacuum_naptime": "'10s'"}

# What the article's flow needs.
FLOW_TABLES = """
CREATE TABLE idempotency_keys (
  scope bigint, key bigint, fingerprint bytea NOT NULL, locked_at timestamptz,
  status integer, answer text, PRIMARY KEY (scope, key));
CREATE TABLE charges (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, amount integer)
"""


class Bench:
    """A server of its own, and what is measured on it: each call is one short round."""

    def __init__(self, programs, seconds):
        self.bench, self.seconds = os.path.join(programs, "bench/postgres_bench"), str(seconds)
        self.server = Postgres(DURABLE).start()
        self.store = None

    def url(self):
        if self.store is None:
            self.add_store()
        return self.server.url(self.store)

    def add_store(self):
        """Another store, empty, on which from now on is measured."""
        self.store = self.server.create_store()
        with self.server.connect(self.store) as at:
            at.execute(FLOW_TABLES)
            at.execute((HERE / "postgres_bare.sql").read_text(encoding="ascii"))
        return self.store

    def _run(self, what, callers, *connections):
        done = subprocess.run([self.bench, self.url(), what, str(callers), self.seconds,
                               *map(str, connections)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit("postgres_bench failed:\n" + done.stdout + done.stderr)
        rate, took = re.fullmatch(r"(\d+) per second, ([\d.]+) us\n", done.stdout).groups()
        return float(rate), float(took)

    def cycles(self):
        return self._run("cycles", 64)[0]

    def bare(self):
        """Rows of as many columns, inserted and updated in batches, and nothing else."""
        return self._run("bare", 64)[0]

    def replays(self):
        return self._run("replays", 64)[0]

    def commit(self):
        """The median of one row inserted and committed by one client, in milliseconds."""
        return self._run("commits", 1)[1] / 1000

    def rows(self):
        """The same of a row inserted and then updated, by prepared statements."""
        return self._run("rows", 1)[1] / 1000

    def flow(self):
        """First requests of 64 clients, each of which waits for each of its round trips."""
        done = subprocess.run(
            [PROGRAMS / "pgbench", "-n", "-f", HERE / "postgres_flow.sql", "-c", "64", "-j", "2",
             "-T", self.seconds, self.url()], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit("pgbench failed:\n" + done.stdout + done.stderr)
        return float(re.search(r"tps = ([\d.]+)", done.stdout)[1])


def line(title, ours, theirs, ratio, goal):
    print(f"{title:<46} {ours:>9,.0f} {theirs:>9,.0f} {ratio:>7.2f}   {goal}")
    sys.stdout.flush()


def in_turn(rounds, *sides):
    """Each side once in each round, after one to warm up."""
    for side in sides:
        side()
    return [[side() for side in sides] for _ in range(rounds)]


def against_the_flow(bench, rounds):
    print(f"{'per second, 64 concurrent, durable':<46} "
          f"{'onceguard':>9} {'the flow':>9} {'ratio':>7}   goal")
    reported = in_turn(rounds, bench.cycles, bench.flow, bench.replays, bench.bare)
    cycles, flow, replays, bare = (statistics.median(column) for column in zip(*reported))
    line("claim and complete / the six-round-trip flow", cycles, flow,
         statistics.median(c / f for c, f, _, _ in reported), ">= 10")
    line("(rows of eight columns, nothing checked)", bare, flow,
         statistics.median(b / f for _, f, _, b in reported), "")
    line("duplicates / the flow's first requests", replays, flow,
         statistics.median(r / f for _, f, r, _ in reported), ">= 20")


def added_latency(bench, rounds, servers, wrk):
    port, _ = servers.gateway("postgres", store=bench.url())
    reported = in_turn(rounds,
                   lambda: wrk(port, "unique.lua", int(bench.seconds), 1).p50,
                   lambda: wrk(port, "plain.lua", int(bench.seconds), 1).p50,
                   bench.commit, bench.rows)
    guarded, plain, commit, _ = (statistics.median(column) for column in zip(*reported))
    print(f"one client: p50 guarded {guarded:.3f} ms, passed through {plain:.3f} ms, "
          f"one bare commit {commit:.3f} ms")
    ratio = statistics.median((g - p) / c for g, p, c, _ in reported)
    print(f"{'added latency / one bare commit':<46} {'':>19} {ratio:>7.2f}   <= 3.2")
    ratio = statistics.median(r / c for _, _, c, r in reported)
    print(f"{'(a row inserted, then updated, by libpq alone)':<46} {'':>19} {ratio:>7.2f}")
    sys.stdout.flush()


def bench_postgres(servers, rounds, seconds, wrk, send_once, programs):
    bench = Bench(programs, seconds)
    with contextlib.closing(bench.server):
        against_the_flow(bench, rounds)
        added_latency(bench, rounds, servers, wrk)
        port, _ = servers.gateway("postgres-express", store=bench.url())
        express = start_express(servers, "express-postgres", {"DATABASE_URL": bench.url()})
        against_express(port, express, rounds, int(seconds), wrk, send_once, (4, 8))
    print()


def fill(bench, records):
    """Multiplies the completed records of the store."""
    with bench.server.connect(bench.store) as at:
        at.execute("SET synchronous_commit = off")
        columns = [name for name, in at.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'onceguard.records'::regclass "
            "AND attnum > 0 AND NOT attisdropped").fetchall()]
        values = ", ".join("sha256(convert_to('copy ' || n, 'UTF8'))" if name == "digest"
                           else f"one.{name}" for name in columns)
        for begin in range(0, records, 1_000_000):
            end = min(begin + 1_000_000, records)
            at.execute(f"INSERT INTO onceguard.records ({', '.join(columns)}) SELECT {values} "
                       f"FROM generate_series({begin}, {end - 1}) n, "
                       "(SELECT * FROM onceguard.records WHERE outcome IS NOT NULL LIMIT 1) one")
        at.execute("VACUUM (ANALYZE) onceguard.records")
        at.execute("CHECKPOINT")


def bench_large(rounds, seconds, programs, large=10_000_000, small=100_000):
    """What a store with many live records does beside one with few."""
    bench = Bench(programs, seconds)
    with contextlib.closing(bench.server):
        stores = []
        for records in (small, large):
            stores.append(bench.add_store())
            bench.cycles()
            fill(bench, records)

        def cycles_of(store):
            def run():
                bench.store = store
                return bench.cycles()
            return run
        reported = in_turn(rounds, *map(cycles_of, stores))
        few, many = (statistics.median(column) for column in zip(*reported))
        print(f"{'claim and complete per second, 64 concurrent':<46} {'10 M':>9} {'100 k':>9} "
              f"{'ratio':>7}   goal")
        line("live records", many, few, statistics.median(m / f for f, m in reported), ">= 0.9")
    print()


def bench_soak(cycles=30, keys=20_000):
    """Sizes on the disk while keys come and go; sweeps and vacuums in between, clock moved."""
    print(f"{cycles} times {keys:,} keys; kept for {RETENTION // STEP} of those rounds")
    server = Postgres({"shared_buffers": "'256MB'", "max_wal_size": "'4GB'"}).start()
    with contextlib.closing(server):
        with server.connect(server.create_store()) as at:
            desk = Desk(at)
            sizes, seconds = soak(desk, Clock(desk), cycles, keys)
        reported = ", ".join(f"{sizes[i - 1] / 2**20:.0f}" for i in (10, 20, cycles))
        print(f"after 10, 20 and {cycles} rounds {reported} MiB: "
              f"{sizes[-1] / sizes[9]:.2f} times   <= 1.5")
        print(f"one worker vacuums "
              f"{keys * len(seconds[9:]) / sum(seconds[9:]):,.0f} expired keys per second")
    print()
