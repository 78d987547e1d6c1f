"""The gateway that everybody looks at, against the same gateway that nobody looks at."""
import contextlib
import statistics
import threading
import urllib.request

GOAL = 0.95


@contextlib.contextmanager
def scraped(port):
    """Reads the metrics each second meanwhile, as Prometheus at its most eager; in the end, checks
    that each try gave metrics."""
    over = threading.Event()
    sizes = []

    def run():
        while not over.wait(1):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as got:
                    sizes.append(len(got.read()))
            except OSError:
                sizes.append(0)
    reader = threading.Thread(target=run)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()
    if not sizes or not all(sizes):
        raise SystemExit("the metrics were not there at every scrape")


def run_round(port, process, script, seconds, wrk, cpu_seconds):
    """Requests per second, and the microseconds of CPU that the gateway took for each."""
    before = sum(cpu_seconds(process))
    rate = wrk(port, script, seconds).rate
    return rate, (sum(cpu_seconds(process)) - before) / (rate * seconds) * 1e6


def compare(title, rounds, watched, unwatched, goal=GOAL):
    """Pair by pair, each pair in the other order than the one before; prints medians."""
    watched(), unwatched()  # warm-up
    pairs = []
    for number in range(rounds):
        first, second = (watched, unwatched) if number % 2 else (unwatched, watched)
        results = {first: first(), second: second()}
        pairs.append((results[watched], results[unwatched]))
    columns = [[statistics.median(pair[side][what] for pair in pairs) for side in (0, 1)]
               for what in (0, 1)]
    rate = statistics.median(on[0] / off[0] for on, off in pairs)
    cost = statistics.median(off[1] / on[1] for on, off in pairs)
    print(f"{title:<34} {columns[0][0]:>9.0f} {columns[0][1]:>9.0f} {rate:>7.3f}   "
          f"{columns[1][0]:>7.1f} {columns[1][1]:>7.1f} {cost:>7.3f}   >= {goal}", flush=True)


def bench_watched(servers, rounds, seconds, wrk, send_once, cpu_seconds, free_port):
    """With the access log of all requests in a file and the metrics scraped each second, against
    none of it. wrk and the upstream run beside both, so a rate alone says less than its CPU."""
    print(f"{'':<34} {'requests per second':>27}   {'us of CPU a request':>23}\n"
          f"{'64 connections':<34} {'watched':>9} {'without':>9} {'ratio':>7}   "
          f"{'watched':>7} {'without':>7} {'ratio':>7}   goal")
    for store in ("memory:", None):
        name = "memory" if store else "sqlite"
        admin = free_port()
        on = servers.gateway(
            f"watched-{name}", "--admin", f"127.0.0.1:{admin}", "--access-log", "all",
            "--log-file", f"{servers.dir}/watched-{name}.log", store=store, level="info")
        off = servers.gateway(f"unwatched-{name}", "--access-log", "off", store=store)

        def side(gateway, script):
            return lambda: run_round(*gateway, script, seconds, wrk, cpu_seconds)

        with scraped(admin):
            compare(f"guarded first requests, {name}", rounds, side(on, "unique.lua"),
                    side(off, "unique.lua"))
            if store is None:
                continue
            send_once(on[0]), send_once(off[0])
            compare("replays", rounds, side(on, "repeat.lua"), side(off, "repeat.lua"))
            compare("unguarded", rounds, side(on, "plain.lua"), side(off, "plain.lua"))
    print()
