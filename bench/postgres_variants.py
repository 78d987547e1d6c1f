"""What could make the PostgreSQL store quicker, or what it would lose without what it does: each
right after the first of its group, in one run, with what a key costs that is claimed and completed.
The second group are the store's statements by libpq alone, where the client costs little."""

import collections
import contextlib
import dataclasses
import os
import pathlib
import resource
import statistics
import threading

from postgres import Bench
from support.waiting import wait_until

TICKS = os.sysconf("SC_CLK_TCK")

# Title, what postgres_bench does for how many callers by how many connections, and what is typed
# into the database before. The first of a group is what its others are compared with.
GROUPS = (
    (("the store as it is: 4 connections", "cycles", 64, 4, ""),
     ("1 connection", "cycles", 64, 1, ""),
     ("2 connections", "cycles", 64, 2, ""),
     ("8 connections", "cycles", 64, 8, ""),
     ("commit_delay 200 us, 1 sibling", "cycles", 64, 4,
      "ALTER DATABASE {0} SET commit_delay = 200; ALTER DATABASE {0} SET commit_siblings = 1"),
     ("commit_delay 1 ms, 1 sibling", "cycles", 64, 4,
      "ALTER DATABASE {0} SET commit_delay = 1000; ALTER DATABASE {0} SET commit_siblings = 1"),
     ("fillfactor 100", "cycles", 64, 4, "ALTER TABLE onceguard.records SET (fillfactor = 100)"),
     ("an index on expires_at", "cycles", 64, 4, "CREATE INDEX ON onceguard.records (expires_at)"),
     ("256 callers", "cycles", 256, 4, "")),
    (("its statements by libpq alone, 2 connections", "statements:as_they_are", 64, 2, ""),
     ("1 connection: all in one trip", "statements:as_they_are", 64, 1, ""),
     ("4 connections: trips half as large", "statements:as_they_are", 64, 4, ""),
     ("synchronous_commit off", "statements:unflushed", 64, 2, ""),
     ("arrays as text", "statements:text", 64, 2, ""),
     ("a statement for each record", "statements:a_statement_each", 64, 2, ""),
     ("not prepared", "statements:unprepared", 64, 2, ""),
     ("each statement awaited: BEGIN … COMMIT", "statements:awaited", 64, 2, ""),
     ("settles and claims in two commits", "statements:two_commits", 64, 2, ""),
     ("without advisory locks", "statements:unlocked", 64, 2, ""),
     ("without the check of the memory", "statements:unchecked", 64, 2, ""),
     ("without counts of leases", "statements:uncounted", 64, 2, ""),
     ("without comparing the subject", "statements:subjects_uncompared", 64, 2, ""),
     ("rows of eight columns, nothing checked", "bare", 64, 2, "")))


@dataclasses.dataclass
class Sample:
    rate: float
    server: float  # microseconds of processors for one key
    client: float
    wal: float     # bytes for one key
    commit: float  # keys in one commit
    flush: float   # keys in one flush


def processor_seconds(number):
    """Of a process and its children, also of those that have ended."""
    def ticks(path):
        fields = pathlib.Path(path).read_text(encoding="ascii").rpartition(") ")[2].split()
        return sum(map(int, fields[11:15]))
    spent = ticks(f"/proc/{number}/stat")
    for child in pathlib.Path(f"/proc/{number}/task/{number}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            spent += ticks(f"/proc/{child}/stat")
    return spent / TICKS


class Variants(Bench):
    def __init__(self, programs, seconds):
        super().__init__(programs, seconds)
        self.admin = self.server.connect()
        self.made = {}

    def _counts(self):
        """What the server did so far. A session that has ended has said all that it did."""
        wait_until(lambda: self.admin.execute(
            "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
        ).fetchone()[0], 60, "the end of the sessions")
        wal = self.admin.execute("SELECT wal_bytes, wal_sync FROM pg_stat_wal").fetchone()
        client = resource.getrusage(resource.RUSAGE_CHILDREN)
        commits = self.admin.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = %s",
                                     [self.store]).fetchone()[0]
        return (processor_seconds(self.server.process.pid), client.ru_utime + client.ru_stime,
                float(wal[0]), commits, wal[1])

    def measure(self, title, what, callers, connections, typed):
        """One round, on a store of the variant's own."""
        if title not in self.made:
            self.made[title] = name = self.add_store()
            with self.server.connect(name) as at:
                at.execute(typed.format(name) or "SELECT")
        self.store = self.made[title]
        before = self._counts()
        rate = self._run(what, callers, connections)[0]
        spent = [now - then for now, then in zip(self._counts(), before)]
        keys = rate * float(self.seconds)
        server, client, wal = (each / keys for each in spent[:3])
        return Sample(rate, 1e6 * server, 1e6 * client, wal,
                      *(keys / max(each, 1) for each in spent[3:]))

    def waits(self, *variant):
        """What the server's sessions wait for meanwhile, in shares of the time in statements."""
        seen, over = collections.Counter(), threading.Event()

        def watch():
            with self.server.connect() as at:
                while not over.wait(0.01):
                    seen.update(event for event, in at.execute(
                        "SELECT CASE WHEN wait_event_type = 'Client' THEN 'the client' "
                        "ELSE coalesce(wait_event_type || ' ' || wait_event, 'nothing: it runs') "
                        "END FROM pg_stat_activity WHERE datname = %s", [self.store]).fetchall())
        beside = threading.Thread(target=watch)
        beside.start()
        self._run(*variant[1:4])
        over.set()
        beside.join()
        total = sum(seen.values())
        print("  its sessions wait for: " + ", ".join(
            f"{event} {times / total:.0%}" for event, times in seen.most_common(6)))


def measure_pair(bench, first, variant):
    """One after the other, as the machine's speed drifts."""
    base = bench.measure(*first)
    return base, bench.measure(*variant)


def print_line(title, samples, ratios):
    middle = {each.name: statistics.median(getattr(one, each.name) for one in samples)
              for each in dataclasses.fields(Sample)}
    print(f"{title:<46} {middle['rate']:>7,.0f} {statistics.median(ratios):>6.2f} "
          f"({min(ratios):.2f} to {max(ratios):.2f}) {middle['server']:>7.0f} "
          f"{middle['client']:>7.0f} {middle['wal']:>7,.0f} {middle['commit']:>6.1f} "
          f"{middle['flush']:>6.1f}")


def print_group(first, pairs):
    bases = [base for all_of_one in pairs.values() for base, _ in all_of_one]
    middle = statistics.median(base.rate for base in bases)
    print_line(first, bases, [base.rate / middle for base in bases])
    for title, all_of_one in pairs.items():
        print_line(title, [mine for _, mine in all_of_one],
                   [mine.rate / base.rate for base, mine in all_of_one])


def measure_variants(programs, rounds, seconds):
    bench = Variants(programs, seconds)
    with contextlib.closing(bench.server):
        for variant in (variant for group in GROUPS for variant in group):
            bench.measure(*variant)  # warm-up
        pairs = [{title: [] for title, *_ in group[1:]} for group in GROUPS]
        for number in range(rounds):
            for mine, (first, *others) in zip(pairs, GROUPS):
                for variant in others[::-1 if number % 2 else 1]:
                    mine[variant[0]].append(measure_pair(bench, first, variant))
        print(f"{'keys claimed and completed, durable':<46} {'/ s':>7} {'ratio':>6} "
              f"{'':<14} {'server':>7} {'client':>7} {'WAL':>7} {'keys a':>6} {'keys a':>6}\n"
              f"{'':<76} {'us':>7} {'us':>7} {'bytes':>7} {'commit':>6} {'flush':>6}")
        for mine, (first, *_) in zip(pairs, GROUPS):
            print_group(first[0], mine)
            bench.measure(*first)
            bench.waits(*first)
        bench.admin.close()
    print()
