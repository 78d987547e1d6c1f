"""The page: how long each call of its views takes among many records, and what ten open pages cost
the gateway.

Usage: page.py [--records N] [--binary FILE] [sqlite] [postgresql]

The first part fills a store by SQL (tests/support/filled.py), and measures it without and with the
index by key of `onceguard keys index`. The plan of each query of PostgreSQL that took too long is
printed, with what it read. `./dev bench page` measures the second part, too."""

import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

import attention
from support import filled
from support.ports import Port
from support.postgres import Postgres
from support.views import calls_by_key, calls_of_views

GOALS_MS = {"sqlite": 200, "postgresql": 100}
PAGES, RATE_GOAL, PAINT_GOAL_MS = 10, 0.97, 1_000
LATEST = 20  # keys that ran before the calls
SETTINGS = {"shared_buffers": "'256MB'", "max_wal_size": "'2GB'", "autovacuum_naptime": "'10s'",
            "session_preload_libraries": "auto_explain", "auto_explain.log_analyze": "on",
            "auto_explain.log_buffers": "on", "log_line_prefix": "''",
            "auto_explain.log_min_duration": f"{GOALS_MS['postgresql']}"}


def ask(port, target):
    """The answer, and its milliseconds at the server with the way there and back."""
    start = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{target}", timeout=60) as answer:
        body = answer.read()
    return json.loads(body), 1_000 * (time.monotonic() - start)


def measure_calls(name, admin, calls, rounds):
    """The names of the calls that missed the goal."""
    slow = []
    for view, target, least in calls:
        answers = [ask(admin, target) for _ in range(rounds)]
        assert len(answers[0][0].get("records", "")) >= least, (view, answers[0])
        times = [took for _, took in answers]
        met = statistics.median(times) <= GOALS_MS[name]
        if not met:
            slow.append(f"{name}: {view}")
        print(f"  {view:<28} {min(times):>9.1f} {statistics.median(times):>9.1f} "
              f"{max(times):>9.1f}"
              f"{'' if met else '   missed'}", flush=True)
    return slow


def pieces_until_the_end(admin, target):
    """How many calls and seconds a search takes to the end of the store."""
    begun, calls, cursor = time.monotonic(), 0, ""
    while calls == 0 or cursor:
        cursor = ask(admin, target + (f"&cursor={cursor}" if cursor else ""))[0].get("cursor", "")
        calls += 1
    return calls, time.monotonic() - begun


def measure(name, store, folder, options, fill):
    with attention.gateway(options.binary, store, folder):
        pass
    begun = time.monotonic()
    fill(options.records)
    print(f"{name}: {options.records:,} records, filled in {time.monotonic() - begun:,.0f} s; the "
          f"time of a call, least, median and most of {options.rounds}, in ms; goal <= "
          f"{GOALS_MS[name]}",
          flush=True)
    slow = []
    with contextlib.closing(Port()) as admin:
        with attention.gateway(options.binary, store, folder, "--audit-log", "audit.log",
                               "--store-timeout", "20s",
                               "--admin", f"127.0.0.1:{admin.number}") as port:
            load = attention.Requests(port)
            connection = attention.http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for number in range(LATEST):
                assert load.post(connection, "/charges", f"ran-{number}") == 200
                assert load.post(connection, "/broken", f"unknown-{number}") == 500
            ran = ask(admin.number, f"/api/recent?key=ran-{LATEST - 1}")[0]["requests"][0]["record"]
            slow += measure_calls(name, admin.number, calls_of_views(ran, options.records),
                                  options.rounds)
            calls, seconds = pieces_until_the_end(
                admin.number, "/api/records?limit=1000&route=/nowhere")
            print(f"  to the end of the store a route is looked for in {calls:,} calls, "
                  f"{seconds:,.0f} s", flush=True)
            begun = time.monotonic()
            subprocess.run([options.binary, "keys", "index", "--store", store], check=True,
                           cwd=folder)
            print(f"  with an index by key, made in {time.monotonic() - begun:,.0f} s beside the "
                  "gateway:", flush=True)
            key = filled.key_of(options.records // 2).decode()
            slow += measure_calls(name, admin.number, calls_by_key(key, 1), options.rounds)
    return slow


def print_plans(log):
    """The plan of the slowest call of each query."""
    plans = {}
    for took, plan in re.findall(r"duration: ([\d.]+) ms  plan:\n((?:\t.*\n)+)", log):
        query = re.search(r"Query Text: (.{0,200})", plan)[1]
        if "onceguard." in query and float(took) > plans.get(query, (0, ""))[0]:
            plans[query] = float(took), plan
    for took, plan in plans.values():
        lines = [line for line in plan.splitlines() if "Query Text" not in line]
        print(f"  {took:,.0f} ms:", *lines, sep="\n    ", flush=True)


def bench_calls(options):
    """The names of the calls that missed their goal."""
    slow = []
    with tempfile.TemporaryDirectory(prefix="onceguard-page-") as folder:
        if "sqlite" in options.stores:
            file = os.path.join(folder, "store.db")
            slow += measure("sqlite", "sqlite:" + file, folder, options,
                            lambda records: filled.fill_sqlite(file, records))
        if "postgresql" in options.stores:
            with contextlib.closing(Postgres(SETTINGS).start()) as server:
                store = server.create_store()
                slow += measure("postgresql", server.url(store), folder, options,
                                lambda records: filled.fill_postgres(server, store, records))
                print_plans(server.log())
    return slow


def read_overview(port, known):
    history = ask(port, f"/api/overview?after={known.get('number', 0)}")[0]["history"]
    known["number"] = history[-1]["number"] if history else known.get("number", 0)


def read_changes(port, known):
    ask(port, "/api/changes")
    after = f"&after={known['newest']}" if known.get("newest") else ""
    known["newest"] = ask(port, f"/api/audit?limit=1000{after}")[0]["newest"]


def read_attention(port, _):
    ask(port, "/api/records?attention=true")


def read_conspicuous(port, _):
    ask(port, "/api/recent?outcome=mismatch&event=other-scope&limit=500")


# Each five seconds and each ten, as tests/page/open_scenarios.mjs holds the page to it.
PACE = 5
VIEWS = [(read_overview, read_changes), (read_attention, read_conspicuous)]


@contextlib.contextmanager
def open_pages(port, count=PAGES):
    """Asks as that many pages do, half of them at the overview, the others at what needs
    attention."""
    over = threading.Event()
    reads = [0] * count

    def look(number):
        known = {}
        often, rarely = VIEWS[number % len(VIEWS)]
        while not over.wait(PACE * (0.9 + number / count / 5)):
            often(port, known)
            if reads[number] % 2 == 0:
                rarely(port, known)
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

    scenarios = pathlib.Path(filled.__file__).parent.parent / "page/scenarios.mjs"
    wanted = {"name": "paint", "facts": {"url": f"http://127.0.0.1:{ports[0]}"}}
    painted = subprocess.run(["node", scenarios], capture_output=True, text=True,
                             input=json.dumps(wanted), check=True)
    times = json.loads(painted.stdout.splitlines()[0])["said"]
    print(f"first paint on a slow phone, ms: {min(times):.0f} to {max(times):.0f}, median "
          f"{statistics.median(times):.0f} (goal {PAINT_GOAL_MS})")
    with open_pages(ports[0]):
        compare("guarded first requests", rounds, side(on, "unique.lua"), side(off, "unique.lua"),
                RATE_GOAL)
    print()


if __name__ == "__main__":
    if missed := bench_calls(attention.arguments()):
        raise SystemExit(f"slower than the goal: {missed}")
