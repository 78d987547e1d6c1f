"""The page: how long each call of its views takes among many records, and what ten open pages cost
the gateway.

Usage: page.py [--records N] [--binary FILE] [sqlite] [postgresql]

The first part fills a store by SQL with completed records, as attention.py does; some keys are made
unknown by requests, and others ran. `./dev bench page` measures the second part, too."""

import contextlib
import json
import os
import statistics
import tempfile
import threading
import time
import urllib.request

import attention
from support.ports import Port
from support.postgres import Postgres

GOALS_MS = {"sqlite": 200, "postgresql": 100}
PAGES, RATE_GOAL = 10, 0.97
LATEST = 20  # keys that ran before the calls


def ask(port, target):
    """The answer, and its milliseconds at the server with the way there and back."""
    start = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{target}", timeout=60) as answer:
        body = answer.read()
    return json.loads(body), 1_000 * (time.monotonic() - start)


def calls_of_views(port):
    """Each call that a view makes: its name and its target."""
    record = ask(port, f"/api/recent?key=ran-{LATEST - 1}")[0]["requests"][0]["record"]
    return [
        ("overview", "/api/overview?after=0"),
        ("attention", "/api/records?attention=true&limit=1000"),
        ("search, anything", "/api/records?limit=100"),
        ("search, a key", f"/api/records?limit=100&key=ran-{LATEST - 1}"),
        ("search, no such key", "/api/records?limit=100&key=nobody"),
        ("search, a part of a key", f"/api/records?limit=100&text=ran-{LATEST - 1}"),
        ("search, a state", "/api/records?limit=100&state=unknown"),
        ("search, a route", "/api/records?limit=100&route=/"),
        ("search, no such route", "/api/records?limit=100&route=/nowhere"),
        ("search, younger", "/api/records?limit=100&younger=1h"),
        ("search, older", "/api/records?limit=100&older=1h"),
        ("one key", f"/api/records/{record}?body=no"),
        ("one key, its answer", f"/api/records/{record}?body=yes"),
        ("one key, its requests", f"/api/recent?record={record}&limit=2000"),
    ]


def measure_calls(name, port, admin, options):
    load = attention.Requests(port)
    connection = attention.http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(LATEST):
        assert load.post(connection, "/charges", f"ran-{number}") == 200
        assert load.post(connection, "/broken", f"unknown-{number}") == 500
    print(f"{name}: {options.records:,} records; the time of a call, median and most of "
          f"{options.rounds}, in ms; goal <= {GOALS_MS[name]}", flush=True)
    slow = []
    for view, target in calls_of_views(admin):
        times = [ask(admin, target)[1] for _ in range(options.rounds)]
        met = statistics.median(times) <= GOALS_MS[name]
        if not met:
            slow.append(view)
        print(f"  {view:<26} {statistics.median(times):>9.1f} {max(times):>9.1f}"
              f"{'' if met else '   missed'}", flush=True)
    return slow


def measure(name, store, folder, options, fill):
    with attention.gateway(options.binary, store, folder):
        pass
    fill(options.records)
    with contextlib.closing(Port()) as admin:
        with attention.gateway(options.binary, store, folder,
                               "--admin", f"127.0.0.1:{admin.number}") as port:
            return measure_calls(name, port, admin.number, options)


def bench_calls(options):
    """The names of the calls that missed their goal."""
    slow = []
    with tempfile.TemporaryDirectory(prefix="onceguard-page-") as folder:
        if "sqlite" in options.stores:
            file = os.path.join(folder, "store.db")
            slow += measure("sqlite", "sqlite:" + file, folder, options,
                            lambda records: attention.fill_sqlite(file, records))
        if "postgresql" in options.stores:
            with contextlib.closing(Postgres().start()) as server:
                store = server.create_store()
                slow += measure("postgresql", server.url(store), folder, options,
                                lambda records: attention.fill_postgres(server, store, records))
    return slow


@contextlib.contextmanager
def open_pages(port, count=PAGES):
    """Polls as that many pages do, half of them at the overview, the others where records are."""
    over = threading.Event()
    reads = [0] * count

    def look(number):
        interval, targets = (2, ["/api/overview?after=0"]) if number % 2 else (
            5, ["/api/records?attention=true&limit=200", "/api/recent?limit=200"])
        while not over.wait(interval * (0.9 + number / count / 5)):
            for target in targets:
                ask(port, target)
            reads[number] += 1

    lookers = [threading.Thread(target=look, args=(number,)) for number in range(count)]
    for one in lookers:
        one.start()
    try:
        yield
    finally:
        over.set()
        for one in lookers:
            one.join()
    if not all(reads):
        raise SystemExit(f"a page read nothing: {reads}")


def bench_pages(servers, rounds, seconds, wrk, cpu_seconds, free_port):
    """A gateway at which ten pages look, against one with the same listener and no page."""
    from watched import compare, run_round
    print(f"{'64 connections, SQLite':<34} {'10 pages':>9} {'none':>9} {'ratio':>7}   "
          f"{'us, 10':>7} {'none':>7} {'ratio':>7}   goal")
    ports = [free_port(), free_port()]
    on, off = (servers.gateway(name, "--admin", f"127.0.0.1:{port}", "--access-log", "off")
               for name, port in zip(("looked-at", "not-looked-at"), ports))

    def side(gateway, script):
        return lambda: run_round(*gateway, script, seconds, wrk, cpu_seconds)

    with open_pages(ports[0]):
        compare("guarded first requests", rounds, side(on, "unique.lua"), side(off, "unique.lua"),
                RATE_GOAL)
    print()


if __name__ == "__main__":
    if missed := bench_calls(attention.arguments()):
        raise SystemExit(f"slower than the goal: {missed}")
