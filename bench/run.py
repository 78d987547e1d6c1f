#!/usr/bin/env python3
"""Measures the gateway beside nginx, in one run on one machine, and prints ratios.

Same load generator (wrk), same upstream (nginx answering directly), same requests. Each figure is
the median of several short rounds taken in turn, A B A B, so that a machine whose speed drifts
slows both.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import resource
import socket
import statistics
import subprocess
import sys
import time

from load_generator import cpu_seconds, latencies, resident_mib, send_once, wrk
from servers import BINARY, Servers, UPSTREAM, free_port
from side_by_side import compare

WHAT = ("peers", "gateway", "memory", "sqlite", "sqlite-index", "growth", "cost", "sizes",
        "watched", "redis", "postgres", "postgres-variants", "postgres-soak", "postgres-large",
        "attention", "page", "library", "inbox", "patterns", "tls", "exec", "clients", "sealed",
        "profile", "disk")
BENCHES = os.path.join(os.path.dirname(BINARY), "bench")
SQLITE_BENCH = os.path.join(BENCHES, "sqlite_bench")


class SqliteItself:
    """The same statements in batches of 64, as many as the gateway ran in the round before: so
    both files hold as many records at every moment, and grow alike."""

    def __init__(self, servers):
        self.file = os.path.join(servers.dir, "raw.db")
        self.cycles = 0

    def __call__(self):
        done = subprocess.run([SQLITE_BENCH, "raw", self.file, str(self.cycles)],
                              capture_output=True, text=True, check=True)
        return Rate(float(done.stdout.split()[0]))


@dataclasses.dataclass
class Rate:
    rate: float


def bench_gateway(servers, rounds, seconds):
    port, _ = servers.gateway("first")
    print(f"{'requests per second, 64 connections':<46} "
          f"{'onceguard':>9} {'nginx':>9} {'ratio':>7}   goal      stolen")
    compare("guarded first requests, durable SQLite", rounds,
            lambda: wrk(port, "unique.lua", seconds),
            lambda: wrk(servers.proxy, "unique.lua", seconds), ">= 0.20")
    compare("unguarded pass-through", rounds, lambda: wrk(port, "plain.lua", seconds),
            lambda: wrk(servers.proxy, "plain.lua", seconds), ">= 0.75")
    send_once(port)
    compare("replays of one key / nginx proxy_cache hits", rounds,
            lambda: wrk(port, "repeat.lua", seconds),
            lambda: wrk(servers.proxy, None, seconds, path="/cached"), ">= 1.00")
    print()
    bench_sqlite(servers, rounds, seconds)
    latencies("onceguard, guarded first", port, "unique.lua", seconds)
    latencies("onceguard, replay", port, "repeat.lua", seconds)
    latencies("onceguard, pass-through", port, "plain.lua", seconds)
    latencies("nginx, proxy", servers.proxy, "plain.lua", seconds)
    print()


def bench_sqlite(servers, rounds, seconds):
    port, _ = servers.gateway("beside-sqlite")
    itself = SqliteItself(servers)

    def guarded():
        result = wrk(port, "unique.lua", seconds)
        itself.cycles = int(result.rate * seconds)
        return result

    print(f"{'durable claims and completes per second':<46} "
          f"{'onceguard':>9} {'sqlite':>9} {'ratio':>7}   goal      stolen")
    compare("guarded first / SQLite in batches of 64", rounds, guarded, itself, ">= 0.70")
    bench_bound(servers, itself, rounds, seconds)
    print()
    print(subprocess.run([SQLITE_BENCH, servers.dir], capture_output=True, text=True,
                         check=True).stdout.strip())
    print()


def bench_bound(servers, itself, rounds, seconds):
    """What this machine could do at all, with the load generator and the upstream on it too: were
    each request proxied at nginx's cost, and stored at SQLite's, with nothing around."""
    ratios, bounds = [], []
    for _ in range(rounds):
        alone = wrk(servers.proxy, "unique.lua", seconds).rate
        itself.cycles = 6400
        stored = itself().rate
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            proxied = beside.submit(wrk, servers.proxy, "unique.lua", seconds)
            begin, cycles = time.monotonic(), 0
            while not proxied.done():
                itself()
                cycles += itself.cycles
            took = time.monotonic() - begin
        # The share of the machine that nginx left went into these cycles.
        left = 1 - proxied.result().rate / alone
        bounds.append(1 / (1 / alone + left * took / cycles))
        ratios.append(bounds[-1] / stored)
    print(f"{'(at most: nginx and SQLite, one of each)':<46} {statistics.median(bounds):>9.0f} "
          f"{'':>9} {statistics.median(ratios):>7.2f}")
    sys.stdout.flush()


def bench_memory(servers, seconds, requests):
    port, process = servers.gateway("memory")
    wrk(port, "unique.lua", seconds)  # fills the replay cache
    idle = []
    for _ in range(1000):
        idle.append(socket.create_connection(("127.0.0.1", port)))
    for connection in idle:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n")
    for connection in idle:
        connection.recv(4096)
    print(f"resident memory, 1,000 idle connections, full replay cache: "
          f"{resident_mib(process):.1f} MiB   goal < 64")
    sizes = [resident_mib(process)]
    done = 0
    while done < requests:
        done += wrk(port, "unique.lua", 10).rate * 10
        sizes.append(resident_mib(process))
    print(f"resident memory over {done:,.0f} guarded requests: "
          + ", ".join(f"{s:.0f}" for s in sizes[:1] + sizes[-5:]) + " MiB")


PROGRAMS = os.path.dirname(BINARY)


def measure(name, wanted, servers):
    """One of WHAT. The modules are read only here: some need packages that others do not."""
    rounds, seconds = wanted.rounds, wanted.seconds
    match name:
        case "peers":
            import peers
            peers.measure_peers(servers, rounds, seconds, wanted.json, wanted.svg)
        case "gateway":
            bench_gateway(servers, rounds, seconds)
        case "sqlite":
            if "gateway" not in wanted.what:  # has it
                bench_sqlite(servers, rounds, seconds)
        case "memory":
            bench_memory(servers, seconds, wanted.requests)
        case "sqlite-index":
            import sqlite_index
            sqlite_index.measure_index(servers, BENCHES, rounds, wanted.keys)
        case "growth":
            import growth
            growth.measure_growth(servers, rounds, seconds, wanted.keys, BENCHES)
        case "cost":
            import cost
            cost.measure_cost(servers, rounds, seconds, wrk, cpu_seconds, wanted.old)
        case "sizes":
            import sizes
            sizes.bench_sizes(servers, seconds, wrk)
        case "watched":
            import watched
            watched.bench_watched(servers, rounds, seconds, wrk, send_once, cpu_seconds, free_port)
        case "tls":
            import encrypted
            encrypted.measure_encrypted(servers, rounds, seconds, wrk, free_port, BINARY)
        case "sealed":
            import sealed
            sealed.bench_sealed(servers, rounds, seconds, wrk, cpu_seconds, free_port, BINARY,
                                lambda port, size: UPSTREAM.format(port=port, pad="x" * size))
        case "profile":
            import flame_graph
            flame_graph.measure_profile(servers, seconds, wrk, send_once, cpu_seconds, PROGRAMS,
                                        wanted.svg)
        case "disk":
            subprocess.run([os.path.join(BENCHES, "disk_bench"), servers.dir, str(rounds),
                            str(seconds * 250)], check=True)
        case "exec":
            import commands
            commands.measure_commands(BINARY, rounds)
        case _:
            measure_beside_servers(name, wanted, servers)


def measure_beside_servers(name, wanted, servers):
    """What starts PostgreSQL, Redis or brokers."""
    rounds, seconds = wanted.rounds, wanted.seconds
    match name:
        case "redis":
            import redis
            redis.bench_redis(servers, rounds, seconds, wrk, send_once, PROGRAMS)
        case "postgres":
            import postgres
            postgres.bench_postgres(servers, rounds, seconds, wrk, send_once, PROGRAMS)
        case "postgres-variants":
            import postgres_variants
            postgres_variants.measure_variants(PROGRAMS, rounds, seconds)
        case "postgres-soak":
            import postgres
            postgres.bench_soak()
        case "postgres-large":
            import postgres
            postgres.bench_large(rounds, seconds, PROGRAMS)
        case "attention":
            import attention
            attention.bench_attention(attention.arguments(["--binary", BINARY]))
        case "page":
            import attention  # finds what the tests share
            import page
            page.bench_pages(servers, rounds, seconds, wrk, cpu_seconds, free_port)
            page.bench_calls(attention.arguments(["--binary", BINARY]))
        case "library":
            import library
            library.bench_library(servers, rounds, seconds, wrk, send_once, free_port, PROGRAMS)
        case "clients":
            import clients
            clients.measure_clients(servers, rounds, seconds, wrk, send_once, BINARY)
        case "inbox":
            import inbox
            inbox.measure_inbox(PROGRAMS, rounds, seconds)
        case "patterns":
            import postgres  # finds what the tests share
            import patterns
            patterns.measure_patterns(PROGRAMS)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["peers", "memory"], metavar="WHAT",
                        help=", ".join(WHAT))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--json", metavar="FILE", help="peers: the figures of each round")
    parser.add_argument("--svg", metavar="FILE", help="peers, profile: a picture")
    parser.add_argument("--store", choices=("sqlite", "journal"), default="sqlite",
                        help="peers, memory, growth, cost, profile: the gateways' store (sqlite)")
    parser.add_argument("--keys", type=int, default=1_000_000,
                        help="growth, sqlite-index: as many records beside ten thousand "
                             "(1,000,000)")
    parser.add_argument("--old", metavar="BINARY",
                        help="cost: another onceguard, measured in turn with this one")
    wanted = parser.parse_args()
    if wanted.old and "cost" not in wanted.what:
        parser.error("--old is for cost")
    if wanted.json and "peers" not in wanted.what:
        parser.error("--json is for peers")
    if wanted.svg and len({"peers", "profile"} & set(wanted.what)) != 1:
        parser.error("--svg is for one of peers and profile")
    if unknown := set(wanted.what) - set(WHAT):
        parser.error(f"nothing is measured as {sorted(unknown)}; choose of {WHAT}")
    return wanted


def main():
    wanted = arguments()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    with Servers(wanted.store) as servers:
        for name in WHAT:
            if name in wanted.what:
                measure(name, wanted, servers)


if __name__ == "__main__":
    main()
