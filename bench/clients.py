"""The clients part of run.py: Express with the client of `onceguard serve` over several stores,
beside the middleware of articles and the packages of npm; and what each of them loses when its
process is killed amid the work."""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from express import start_express
from postgres import DURABLE
from support.postgres import Postgres
from support.redis import Redis

LEASE = 1.0  # seconds, where a middleware has such a thing
ROUNDS, REQUESTS = 6, 12  # kills of each service, and requests under way at each


class Side:
    """One middleware: how its Express is started, again after each kill."""

    def __init__(self, name, folder, environment, service=None):
        self.name, self.folder, self.environment = name, folder, environment
        self.service = service  # the command of `onceguard serve`, and its socket
        self.id = re.sub(r"\W+", "-", name)

    def serve(self, servers):
        if self.service is None:
            return None
        command, path = self.service
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        servers.running.append(process)
        until = time.monotonic() + 10
        while not os.path.exists(path):
            if time.monotonic() > until or process.poll() is not None:
                raise SystemExit(f"{' '.join(command)}: does not listen at {path}")
            time.sleep(0.01)
        return process


def sides_of(servers, binary, redis, postgres):
    at_redis = {"REDIS_PORT": str(redis.port.number)}
    yield Side("article, PostgreSQL", "express-postgres",
               {"DATABASE_URL": postgres.url(postgres.create_store())})
    yield Side("article, Redis", "express-redis",
               {**at_redis, "LEASE_MS": str(int(1000 * LEASE))})
    for package in ("express-idempotency", "node-idempotency"):
        yield Side(f"{package}, Redis", "express-packages", {**at_redis, "MIDDLEWARE": package})
    stores = {"SQLite": f"sqlite:{servers.dir}/serve.db",
              "PostgreSQL": postgres.url(postgres.create_store()),
              "Redis": f"redis://127.0.0.1:{redis.port.number}"}
    for title, url in stores.items():
        path = f"{servers.dir}/{title}.sock"
        settings = f"{servers.dir}/{title}.toml"
        pathlib.Path(settings).write_text(
            f'[serve]\nlisten = "unix:{path}"\n[store]\nurl = "{url}"\n'
            f'[defaults]\nlease = "{LEASE:g}s"\n', encoding="ascii")
        command = [binary, "serve", "--config", settings, "--log-level", "error"]
        yield Side(f"onceguard, {title}", "express-packages",
                   {"MIDDLEWARE": "onceguard", "SERVICE": f"unix:{path}"}, (command, path))


# --- how fast


def measure_rates(servers, sides, rounds, seconds, wrk, send_once):
    ports = {}
    for side in sides:
        side.serve(servers)
        ports[side.name] = start_express(servers, side.folder, side.environment)
    print(f"{'Express, 64 connections':<30} {'first/s':>9} {'replay/s':>9}"
          f" {'p50 of 1, ms':>13}")
    first, replay, alone = (collections.defaultdict(list) for _ in range(3))
    for port in ports.values():
        wrk(port, "unique.lua", seconds), send_once(port)
    for _ in range(rounds):
        for name, port in ports.items():
            first[name].append(wrk(port, "unique.lua", seconds).rate)
        for name, port in ports.items():
            replay[name].append(wrk(port, "repeat.lua", seconds).rate)
        for name, port in ports.items():
            alone[name].append(wrk(port, "unique.lua", 1, 1).p50)
    for name in ports:
        print(f"{name:<30} {statistics.median(first[name]):>9,.0f}"
              f" {statistics.median(replay[name]):>9,.0f} {statistics.median(alone[name]):>13.2f}")
    print()

    def compare(title, table, ours, theirs, goal):
        ratio = statistics.median(o / t for o, t in zip(table[ours], table[theirs]))
        print(f"{title:<64} {ratio:>6.2f}   >= {goal} {'met' if ratio >= goal else 'MISSED'}")
    compare("first requests, onceguard on SQLite / the article on PostgreSQL", first,
            "onceguard, SQLite", "article, PostgreSQL", 2)
    compare("first requests, onceguard on SQLite / the article on Redis", first,
            "onceguard, SQLite", "article, Redis", 1)
    compare("replays, onceguard on SQLite / the article on PostgreSQL", replay,
            "onceguard, SQLite", "article, PostgreSQL", 3)
    print(flush=True)


# --- what is lost


def post(port, key, timeout):
    """The status, and whether a problem says that nobody knows what the first attempt did."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", "/charges", json.dumps({"amount": 500, "currency": "eur"}),
                           {"Content-Type": "application/json", "Authorization": "Bearer bench",
                            "Idempotency-Key": key})
        answer = connection.getresponse()
        return answer.status, b"outcome-unknown" in answer.read()
    except (OSError, http.client.HTTPException):
        return 0, False
    finally:
        connection.close()


def insist(port, key, patience):
    """Sends one request until it is done, or for so long. What became of it."""
    until = time.monotonic() + patience
    status, held = 0, False
    while time.monotonic() < until:
        status, held = post(port, key, patience)
        if 200 <= status < 300 or held:
            break
        time.sleep(0.05)
    return "done" if 200 <= status < 300 else "held" if held else "refused"


def lose(servers, side, work_ms):
    """Kills the service amid its work, again and again, while clients insist. Counts effects."""
    charges = pathlib.Path(servers.dir, f"charges-{side.id}")
    environment = {**side.environment, "CHARGES": str(charges), "WORK_MS": str(work_ms)}
    seed = random.Random(17)
    fates = collections.Counter()
    side.serve(servers)
    for number in range(ROUNDS):
        keys = [f"{side.id}-{number}-{i}" for i in range(REQUESTS)]
        port = start_express(servers, side.folder, environment)
        service = servers.running[-1]
        with concurrent.futures.ThreadPoolExecutor(REQUESTS) as clients:
            for key in keys:
                clients.submit(post, port, key, 2)
                time.sleep(work_ms / 1000 / REQUESTS)
            time.sleep(seed.random() * work_ms / 2000)
            service.kill()
            service.wait()
        port = start_express(servers, side.folder, environment)
        with concurrent.futures.ThreadPoolExecutor(REQUESTS) as clients:
            ends = list(clients.map(lambda key: insist(port, key, 4 * LEASE), keys))
        servers.running[-1].kill()
        effects = collections.Counter(charges.read_text(encoding="ascii").split())
        for key, end in zip(keys, ends):
            fates[end] += 1
            fates["twice"] += effects[key] > 1
            fates["never, though answered"] += end == "done" and effects[key] == 0
    return fates


def measure_losses(servers, sides, work_ms=60):
    print(f"of {ROUNDS * REQUESTS} charges, the service killed {ROUNDS} times (kill -9)")
    columns = ("done", "twice", "held", "refused", "never, though answered")
    print(f"{'':<30} " + " ".join(f"{title:>10}" for title in columns[:-1]) + f"  {columns[-1]}")
    for side in sides:
        fates = lose(servers, side, work_ms)
        print(f"{side.name:<30} " + " ".join(f"{fates[title]:>10}" for title in columns[:-1])
              + f"  {fates[columns[-1]]}", flush=True)
    print("held: a problem says that nobody knows what the first attempt did; a person or a probe "
          "decides\nrefused: still 409 after four times the lease, and nobody is told why\n")


def measure_clients(servers, rounds, seconds, wrk, send_once, binary):
    if shutil.which("node") is None:
        raise SystemExit("needs node")
    with contextlib.ExitStack() as ends:
        redis, postgres = Redis().start(), Postgres(DURABLE).start()
        ends.callback(redis.close)
        ends.callback(postgres.close)
        measure_rates(servers, list(sides_of(servers, binary, redis, postgres)), rounds, seconds,
                      wrk, send_once)
        for process in servers.running[2:]:
            process.terminate()
            process.wait()
        for old in pathlib.Path(servers.dir).glob("*.sock"):
            old.unlink(missing_ok=True)
        measure_losses(servers, sides_of(servers, binary, redis, postgres))
