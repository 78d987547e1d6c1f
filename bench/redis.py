"""The Redis part of run.py: the store beside redis-benchmark and PING, and the gateway beside an
Express service with the usual middleware, all on one server that keeps nothing, in turn."""

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
from support.redis import Redis



class Bench:
    """A server of its own, and what is measured on it: each call is one short round on an empty
    store."""

    def __init__(self, programs, seconds, settings=None):
        self.bench, self.seconds = os.path.join(programs, "bench/redis_bench"), seconds
        self.server = Redis(settings).start()
        self.port = self.server.port.number
        self.bare_rates = {}

    def command(self, *words):
        """The whole reply, as redis-cli shows it."""
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True,
                              text=True, check=True).stdout

    def _run(self, command, **how):
        self.command("FLUSHALL")
        done = subprocess.run(command, capture_output=True, check=False, **how)
        if done.returncode != 0:
            raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout.decode()

    def _store(self, what, callers):
        reported = self._run([self.bench, str(self.port), what, str(callers), str(self.seconds)])
        rate, took = re.fullmatch(r"(\d+) per second, ([\d.]+) us\n", reported).groups()
        return float(rate), float(took)

    def claims(self):
        return self._store("claims", 64)[0]

    def processor_seconds(self):
        """Of the server, so far."""
        used = re.findall(r"used_cpu_(?:sys|user):([\d.]+)", self.command("INFO", "cpu"))
        return sum(map(float, used))

    def cycles(self):
        """How many a second, and the server's processor time for each, in microseconds."""
        before = self.processor_seconds()
        rate = self._store("cycles", 64)[0]
        spent = self.processor_seconds() - before
        return rate, spent * 1e6 / int(self.command("DBSIZE"))

    def microseconds(self, what):
        """The median of one client that waits for each."""
        return self._store(what, 1)[1]

    def _benchmark(self, clients, pipeline, words, **how):
        count = int(self.bare_rates.get((clients, pipeline), 20_000) * self.seconds)
        reported = self._run(["redis-benchmark", "-p", str(self.port), "-c", str(clients), "-P",
                          str(pipeline), "-n", str(count), "-r", "2000000000", "--csv", *words],
                         **how)
        rate = float(reported.splitlines()[-1].split(",")[-7].strip('"'))
        self.bare_rates[clients, pipeline] = rate
        return rate

    def _words(self, what):
        return subprocess.run([self.bench, str(self.port), what], capture_output=True, text=True,
                              check=True).stdout.splitlines()

    def same_command(self):
        """First claims by redis-benchmark, as the library sends them, 64 under way."""
        return self._benchmark(4, 16, self._words("arguments"))

    def one_by_one(self):
        """The same from 64 clients that wait for each."""
        return self._benchmark(64, 1, self._words("arguments"))

    def calls(self):
        """How often each command was called so far."""
        return {name: int(count) for name, count in re.findall(
            r"cmdstat_(\S+?):calls=(\d+)", self.command("INFO", "commandstats"))}


def line(title, ours, theirs, ratio, goal, met):
    print(f"{title:<54} {ours:>9,.0f} {theirs:>9,.0f} {ratio:>7.2f}   {goal} "
          f"{'met' if met else 'MISSED'}")
    sys.stdout.flush()


def in_turn(rounds, *sides):
    """Each side once in each round, after one to warm up."""
    for side in sides:
        side()
    return [[side() for side in sides] for _ in range(rounds)]


def against_redis_benchmark(redis, rounds):
    print(f"{'claims per second, 64 at a time':<54} {'onceguard':>9} {'beside':>9} {'ratio':>7}"
          f"   goal")
    reported = in_turn(rounds, redis.claims, redis.same_command, redis.one_by_one)
    ours, pipelined, one_by_one = (statistics.median(column) for column in zip(*reported))
    ratio = statistics.median(o / p for o, p, _ in reported)
    line("through the library / redis-benchmark -P 16", ours, pipelined, ratio, ">= 0.80",
         ratio >= 0.8)
    ratio = statistics.median(o / s for o, _, s in reported)
    line("through the library / the same, unpipelined", ours, one_by_one, ratio, ">= 2.00",
         ratio >= 2)
    cycles, spent = (statistics.median(column)
                     for column in zip(*(redis.cycles() for _ in range(rounds))))
    print(f"claimed and completed, 64 at a time: {cycles:,.0f} per second, {spent:.1f} us of "
          f"Redis's processor each   <= 16 {'met' if spent <= 16 else 'MISSED'}")


def against_ping(redis, rounds):
    reported = in_turn(rounds, *(lambda what=what: redis.microseconds(what)
                             for what in ("claims", "bare", "pings")))
    print(f"{'one client, p50 in microseconds':<54} {'claim':>9} {'PING':>9} {'ratio':>7}   goal")
    for title, side in (("the claim itself, by hiredis", 1), ("through the library", 0)):
        ratio = statistics.median(row[side] / row[2] for row in reported)
        line(title, statistics.median(row[side] for row in reported),
             statistics.median(row[2] for row in reported), ratio, "<= 1.20", ratio <= 1.2)


def calls_of_a_first_request(redis, port, wrk):
    """From outside: what the server was asked while guarded first requests came."""
    before, records = redis.calls(), int(redis.command("DBSIZE"))
    requests = round(wrk(port, "unique.lua", 1).rate)
    after, leases = redis.calls(), int(redis.command("DBSIZE")) - records
    made = {name: after.get(name, 0) - before.get(name, 0)
            for name in ("evalsha", "hincrby", "publish")}
    # A claim is a call, and so is a settle. Besides, one more poll each second.
    ratio = made["evalsha"] / leases
    print(f"{leases:,} leases for about {requests:,} first requests: {ratio:.3f} calls each, a "
          f"claim and a settle   <= 2.01 {'met' if ratio <= 2.01 else 'MISSED'}; for all batches "
          f"{made['hincrby']:,} counts and {made['publish']:,} announcements")


def bench_redis(servers, rounds, seconds, wrk, send_once, programs):
    on = Bench(programs, seconds)
    with contextlib.closing(on.server):
        against_redis_benchmark(on, rounds)
        against_ping(on, rounds)
        port, _ = servers.gateway("redis", store=f"redis://127.0.0.1:{on.port}")
        calls_of_a_first_request(on, port, wrk)
        express = start_express(servers, "express-redis", {"REDIS_PORT": on.port})
        against_express(port, express, rounds, int(seconds), wrk, send_once, (3, 5))
    print()
