#!/usr/bin/env python3
"""Measures the gateway beside nginx, in one run on one machine, and prints ratios.

Same load generator (wrk), same upstream (nginx answering directly), same requests. Each figure is
the median of several short rounds taken in turn, A B A B, so that a machine whose speed drifts
slows both.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from side_by_side import compare

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
WHAT = ("gateway", "memory", "sqlite", "cost", "sizes", "watched", "redis", "postgres",
        "postgres-soak", "postgres-large", "attention", "page", "library", "inbox", "patterns",
        "tls", "exec", "clients", "sealed")
BINARY = os.environ.get("ONCEGUARD_BIN", os.path.join(ROOT, "build/release/onceguard"))
SQLITE_BENCH = os.path.join(os.path.dirname(BINARY), "bench/sqlite_bench")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"a server ended at its start with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.02)
    raise SystemExit(f"nothing listens on port {port}")


NGINX = """
{user} daemon off; master_process on; worker_processes {workers};
pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p;
  fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
  keepalive_requests 100000000; keepalive_timeout 600s;
  {body}
}}
"""

UPSTREAM = """
  server {{ listen 127.0.0.1:{port} backlog=4096;
    default_type application/json; add_header Cache-Control "max-age=3600";
    set $answer '{{"id":"ch_1","amount":500,"currency":"eur","status":"succeeded","note":"{pad}"}}';
    location / {{ return 201 $answer; }}
    location /cached {{ return 200 $answer; }} }}
"""

PROXY = """
  upstream up {{ server 127.0.0.1:{upstream}; keepalive 128; keepalive_requests 100000000; }}
  proxy_cache_path {dir}/cache keys_zone=one:10m;
  server {{ listen 127.0.0.1:{port} backlog=4096;
    proxy_http_version 1.1; proxy_set_header Connection "";
    location / {{ proxy_pass http://up; }}
    location /cached {{ proxy_pass http://up; proxy_cache one; proxy_cache_valid any 1h; }} }}
"""


class Servers:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="onceguard-bench-")
        self.running = []

    def __enter__(self):
        self.upstream = free_port()
        self.nginx("upstream", 1, UPSTREAM.format(port=self.upstream, pad="x" * 100), self.upstream)
        self.proxy = free_port()
        self.nginx("proxy", 1, PROXY, self.proxy)
        return self

    def nginx(self, name, workers, body, port):
        place = os.path.join(self.dir, name)
        os.makedirs(place)
        if body is PROXY:
            body = PROXY.format(dir=place, port=port, upstream=self.upstream)
        path = os.path.join(place, "nginx.conf")
        with open(path, "w", encoding="ascii") as file:
            # Started by root, its workers would not be let into a folder of root's.
            user = "user root;" if os.geteuid() == 0 else ""
            file.write(NGINX.format(user=user, workers=workers, dir=place, body=body))
        self.start([shutil.which("nginx") or "/usr/sbin/nginx", "-p", place, "-c", path], port)

    def start(self, command, port):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append(process)
        wait_for(port, process)
        return process

    def gateway(self, name, *flags, store=None, level="error", binary=None):
        port = free_port()
        store = store or "sqlite:" + os.path.join(self.dir, name + ".db")
        process = self.start([binary or BINARY, "gateway", "--listen", f"127.0.0.1:{port}",
                              "--upstream", f"http://127.0.0.1:{self.upstream}", "--store", store,
                              "--threads", "1", "--log-level", level, *flags], port)
        return port, process

    def __exit__(self, *_):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


def send_once(port):
    """The first request of the key that repeat.lua repeats."""
    body = b'{"amount":500,"currency":"eur","card":"tok_visa","description":"' + b"x" * 135 + b'"}'
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"POST /charges HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
                       b"Content-Type: application/json\r\nAuthorization: Bearer bench\r\n"
                       b'Idempotency-Key: "bench-repeat"\r\nContent-Length: %d\r\n\r\n'
                       % (port, len(body)) + body)
        while client.recv(4096):
            pass


class Result:
    def __init__(self, text):
        self.rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
        self.p50 = latency(text, "50%")
        self.p99 = latency(text, "99%")
        self.bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        self.errors = re.search(r"Socket errors: (.*)", text)
        if self.bad or self.errors:
            raise SystemExit("the load met errors:\n" + text)


def latency(text, which):
    number, unit = re.search(re.escape(which) + r"\s+([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def wrk(port, script, seconds, connections=64, path="/charges", scheme="http"):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
    if script:
        command += ["-s", os.path.join(HERE, "load", script)]
    command.append(f"{scheme}://127.0.0.1:{port}{path}")
    # A run's number makes its keys unique over all runs.
    env = dict(os.environ, BENCH_RUN=str(time.monotonic_ns()))
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit("wrk failed:\n" + done.stdout + done.stderr)
    return Result(done.stdout)


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


def latencies(title, port, script, seconds, path="/charges"):
    for connections in (1, 64):
        r = wrk(port, script, seconds, connections, path)
        print(f"{title:<34} {connections:>4} connections   "
              f"p50 {r.p50:8.3f} ms   p99 {r.p99:8.3f} ms")
    sys.stdout.flush()


def resident_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


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


def cpu_seconds(process):
    """User and system time of a process and of its children, as far as they still run."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        all_of_them = [process.pid, *map(int, file.read().split())]
    times = []
    for pid in all_of_them:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        times.append([int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:13]])
    return [sum(kind) for kind in zip(*times)]


def bench_postgres(wanted, servers):
    # Only here, as it needs psycopg.
    import postgres
    programs = os.path.dirname(BINARY)
    if "postgres" in wanted.what:
        postgres.bench_postgres(servers, wanted.rounds, wanted.seconds, wrk, send_once, programs)
    if "postgres-soak" in wanted.what:
        postgres.bench_soak()
    if "postgres-large" in wanted.what:
        postgres.bench_large(wanted.rounds, wanted.seconds, programs)


def bench_redis(wanted, servers):
    import redis
    redis.bench_redis(servers, wanted.rounds, wanted.seconds, wrk, send_once,
                      os.path.dirname(BINARY))


def bench_page(wanted, servers):
    import attention  # finds what the tests share
    import page
    page.bench_pages(servers, wanted.rounds, wanted.seconds, wrk, cpu_seconds, free_port)
    page.bench_calls(attention.arguments(["--binary", BINARY]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["gateway", "memory"], metavar="WHAT",
                        help=", ".join(WHAT))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--old", metavar="BINARY",
                        help="cost: another onceguard, measured in turn with this one")
    wanted = parser.parse_args()
    if wanted.old and "cost" not in wanted.what:
        parser.error("--old is for cost")
    if unknown := set(wanted.what) - set(WHAT):
        parser.error(f"nothing is measured as {sorted(unknown)}; choose of {WHAT}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    with Servers() as servers:
        if "gateway" in wanted.what:
            bench_gateway(servers, wanted.rounds, wanted.seconds)
        if "sqlite" in wanted.what and "gateway" not in wanted.what:
            bench_sqlite(servers, wanted.rounds, wanted.seconds)
        if "cost" in wanted.what:
            import cost
            cost.measure_cost(servers, wanted.rounds, wanted.seconds, wrk, cpu_seconds, wanted.old)
        if "memory" in wanted.what:
            bench_memory(servers, wanted.seconds, wanted.requests)
        if any(what.startswith("postgres") for what in wanted.what):
            bench_postgres(wanted, servers)
        if "library" in wanted.what:
            import library
            library.bench_library(servers, wanted.rounds, wanted.seconds, wrk, send_once, free_port,
                                  os.path.dirname(BINARY))
        if "sizes" in wanted.what:
            import sizes
            sizes.bench_sizes(servers, wanted.seconds, wrk)
        if "watched" in wanted.what:
            import watched
            watched.bench_watched(servers, wanted.rounds, wanted.seconds, wrk, send_once,
                                  cpu_seconds, free_port)
        if "tls" in wanted.what:
            import encrypted
            encrypted.measure_encrypted(servers, wanted.rounds, wanted.seconds, wrk, free_port,
                                        BINARY)
        if "sealed" in wanted.what:
            import sealed
            sealed.bench_sealed(servers, wanted.rounds, wanted.seconds, wrk, cpu_seconds,
                                free_port, BINARY, lambda port, size: UPSTREAM.format(
                                    port=port, pad="x" * size))
        if "redis" in wanted.what:
            bench_redis(wanted, servers)
        if "attention" in wanted.what:
            import attention
            attention.bench_attention(attention.arguments(["--binary", BINARY]))
        if "page" in wanted.what:
            bench_page(wanted, servers)
        if "exec" in wanted.what:
            import commands
            commands.measure_commands(BINARY, wanted.rounds)
        if "clients" in wanted.what:
            import clients
            clients.measure_clients(servers, wanted.rounds, wanted.seconds, wrk, send_once, BINARY)
        if "inbox" in wanted.what:
            import inbox
            inbox.measure_inbox(os.path.dirname(BINARY), wanted.rounds, wanted.seconds)
        if "patterns" in wanted.what:
            import postgres  # finds what the tests share
            import patterns
            patterns.measure_patterns(os.path.dirname(BINARY))


if __name__ == "__main__":
    main()
