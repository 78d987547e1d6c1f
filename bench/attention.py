"""What needs a person among many records: how long the list of it takes, as a call of the store and
as the whole command `keys list --attention`, while a gateway on the same store answers requests.

Usage: attention.py [--records N] [--unknown N] [--binary FILE] [sqlite] [postgresql]

The store is filled by SQL with completed records, and some keys are made unknown by requests."""

import argparse
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.ports import Port
from support.postgres import Postgres
from support.waiting import wait_until

DAY_MS = 86_400_000
RECORDS, UNKNOWN, ROUNDS = 10_000_000, 200, 20
GOALS_MS = {"sqlite": 200, "postgresql": 100}  # of the call


class Upstream(http.server.BaseHTTPRequestHandler):
    """Answers 500 below /broken, else 200."""
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one packet

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(500 if self.path.startswith("/broken") else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Requests:
    """A client of the gateway that goes on until it is stopped."""

    def __init__(self, port):
        self.port, self.done, self.stopped = port, 0, False
        self.thread = threading.Thread(target=self.run)

    def post(self, connection, path, key):
        connection.request("POST", path, b"{}", {"Idempotency-Key": key})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self.stopped:
            assert self.post(connection, "/charges", f"load-{self.done}-{os.getpid()}") == 200
            self.done += 1


def fill_sqlite(file, records):
    """Copies of the one record, under other digests. The index of digests is made at the end."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as at:
        at.execute("PRAGMA synchronous = OFF")
        boot, record = at.execute("SELECT boot, record FROM records").fetchone()
        expires = at.execute("SELECT max(expires_at) FROM records").fetchone()[0] + DAY_MS
        at.execute("DROP INDEX records_by_digest")
        for first in range(0, records, 1_000_000):
            at.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                "INSERT INTO records (digest, state, expires_at, boot, record) "
                "SELECT randomblob(32), 4, ? + i, ?, ? FROM n",
                (min(1_000_000, records - first), expires + first, boot, record))
        at.execute("CREATE UNIQUE INDEX records_by_digest ON records (digest)")
        at.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def fill_postgres(server, store, records):
    """Records with the subject and outcome of the one record, sealed for their digests."""
    with server.connect(store) as at:
        at.execute("SET synchronous_commit = off")
        for first in range(0, records, 1_000_000):
            at.execute(
                "INSERT INTO onceguard.records (token, deadline_at, expires_at, state, digest,"
                " claim_id, subject, outcome) SELECT t.token - n.i, t.deadline_at,"
                " t.expires_at + %s, 'completed', n.digest, t.claim_id,"
                " t.about || onceguard.seal(n.digest, t.claim_id, t.about),"
                " t.result || onceguard.seal(n.digest, t.claim_id, t.result)"
                " FROM (SELECT r.*, substr(r.subject, 1, length(r.subject) - 8) AS about,"
                " substr(r.outcome, 1, length(r.outcome) - 8) AS result FROM onceguard.records r"
                " ORDER BY r.token DESC LIMIT 1) t,"
                " (SELECT i, sha256(int8send(i)) AS digest"
                "  FROM generate_series(%s::bigint, %s::bigint) i) n",
                (DAY_MS, first + 1, min(first + 1_000_000, records)))
        at.execute("ANALYZE onceguard.records")


@contextlib.contextmanager
def gateway(binary, store, folder, *more):
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    taken = Port()
    port = taken.number
    process = subprocess.Popen(
        [binary, "gateway", "--listen", f"127.0.0.1:{port}", "--store", store, "--scope", "none",
         "--upstream", f"http://127.0.0.1:{upstream.server_address[1]}", *more],
        cwd=folder, stderr=subprocess.DEVNULL)

    def answers():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.suppress(OSError):
            return Requests(port).post(connection, "/charges", "first") == 200
        return False

    try:
        wait_until(answers, timeout=60)
        yield port
    finally:
        process.terminate()
        process.wait()
        upstream.shutdown()
        upstream.server_close()
        taken.close()


def listed_by_command(binary, store, folder):
    start = time.monotonic()
    listed = subprocess.run([binary, "keys", "list", "--attention", "--json", "--store", store],
                            check=True, capture_output=True, cwd=folder)
    took = 1_000 * (time.monotonic() - start)
    return len(listed.stdout.splitlines()), took


def measure(name, binary, store, folder, options, fill):
    begun = time.monotonic()
    with gateway(binary, store, folder):
        pass
    fill(options.records)
    filled = time.monotonic() - begun
    lister = os.path.join(os.path.dirname(binary), "bench/list_bench")
    with gateway(binary, store, folder) as port:
        load = Requests(port)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for number in range(options.unknown):
            assert load.post(connection, "/broken", f"unknown-{number}") == 500
        load.thread.start()
        try:
            call = subprocess.run([lister, store, str(options.rounds), "50"], check=True,
                                  capture_output=True, text=True, cwd=folder).stdout.split()
            commands = [listed_by_command(binary, store, folder) for _ in range(options.rounds)]
        finally:
            load.stopped = True
            load.thread.join()
    assert {int(call[0]), *(found for found, _ in commands)} == {options.unknown}, (call, commands)
    times = [took for _, took in commands]
    print(f"{name:<11} {options.records:,} records, filled in {filled:,.0f} s; {options.unknown} "
          f"unknown are listed in {float(call[1]):,.1f} ms, at most {float(call[2]):,.1f} ms   "
          f"goal <= {GOALS_MS[name]}\n{'':<11} the whole command takes "
          f"{statistics.median(times):,.0f} ms, at most {max(times):,.0f} ms; meanwhile "
          f"{load.done} requests ran", flush=True)


def bench_attention(options):
    with tempfile.TemporaryDirectory(prefix="onceguard-attention-") as folder:
        if "sqlite" in options.stores:
            file = os.path.join(folder, "store.db")
            measure("sqlite", options.binary, "sqlite:" + file, folder, options,
                    lambda records: fill_sqlite(file, records))
        if "postgresql" in options.stores:
            with contextlib.closing(Postgres().start()) as server:
                store = server.create_store()
                measure("postgresql", options.binary, server.url(store), folder, options,
                        lambda records: fill_postgres(server, store, records))


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgresql"])
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--unknown", type=int, default=UNKNOWN)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--binary", default=str(HERE.parent / "build/release/onceguard"))
    return parser.parse_args(given)


if __name__ == "__main__":
    bench_attention(arguments())
