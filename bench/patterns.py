"""The patterns part of run.py: what one operation costs by each pattern of docs/patterns, the first
time and when it comes again, on PostgreSQL and SQLite, in one run. Prints the table of
docs/patterns/README.md.

Round trips and bytes of PostgreSQL are counted between the program and the server, by the
difference of two runs, so that connecting does not count. Times are measured without that."""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from postgres import DURABLE
from support.postgres import Postgres

PATTERNS = {
    "plain": "an INSERT, and nothing of the kind",
    "natural": "[natural](natural.md): an upsert",
    "unique": "[unique constraint](unique-constraint.md), [client's id](client-ids.md)",
    "transition": "[guard on the state](state-machine.md)",
    "locking": "[optimistic locking](optimistic-locking.md); the repeat gets 412",
    "transaction": "a key [in the transaction](../middleware.md) of an INSERT",
    "guard": "a key for an [effect elsewhere](../library.md); [equal content](content-window.md)",
}
FEW, MANY = 100, 300


class Wire:
    """Between a program and a server: counts bytes, and how often the server had the turn."""

    def __init__(self, port):
        self.port = port
        self.bytes = self.turns = 0
        self.server_is_next = False
        self.lock = threading.Lock()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.number = self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:  # closed
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            for ends, asks in (((client, server), True), ((server, client), False)):
                threading.Thread(target=self.pump, args=(*ends, asks), daemon=True).start()

    def pump(self, source, target, asks):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                with self.lock:
                    self.bytes += len(piece)
                    self.turns += asks and not self.server_is_next
                    self.server_is_next = asks
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.listening.close()


class Bench:
    def __init__(self, programs, url):
        self.program = os.path.join(programs, "bench/patterns_bench")
        self.url = url

    def run(self, pattern, phase, names, count, url=None):
        """The median in microseconds, and the bytes that the program wrote."""
        done = subprocess.run([self.program, url or self.url, pattern, phase, names, str(count)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit("patterns_bench failed:\n" + done.stdout + done.stderr)
        took, written = re.fullmatch(r"([\d.]+) us, (\d+) bytes\n", done.stdout).groups()
        return float(took), int(written)


class PostgresBench(Bench):
    def __init__(self, programs, server):
        self.server, self.database = server, server.create_store()
        super().__init__(programs, server.url(self.database))

    def wal(self):
        with self.server.connect(self.database) as at:
            return at.execute(
                "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')").fetchone()[0]

    def counted(self, pattern, phase, names, count):
        wire = Wire(self.server.port.number)
        before = self.wal()
        self.run(pattern, phase, names, count,
                 self.url.replace(f":{self.server.port.number}/", f":{wire.number}/"))
        wire.close()
        return wire.turns, wire.bytes, float(self.wal() - before)

    def measure(self, pattern):
        """For `first` and `repeat`: microseconds, round trips, bytes on the wire and of the log."""
        out = []
        for names, count in (("t", MANY), ("a", FEW), ("b", MANY)):
            self.run(pattern, "prepare", f"{pattern}-{names}", count)
        for phase in ("first", "repeat"):
            took, _ = self.run(pattern, phase, f"{pattern}-t", MANY)
            few = self.counted(pattern, phase, f"{pattern}-a", FEW)
            many = self.counted(pattern, phase, f"{pattern}-b", MANY)
            # What the server writes meanwhile by itself may be more than the difference.
            out.append((took, *(max(0, b - a) / (MANY - FEW) for a, b in zip(few, many))))
        return out


class SqliteBench(Bench):
    def measure(self, pattern):
        """For `first` and `repeat`: microseconds, bytes written."""
        out = []
        self.run(pattern, "prepare", f"{pattern}-t", MANY)
        for phase in ("first", "repeat"):
            took, written = self.run(pattern, phase, f"{pattern}-t", MANY)
            out.append((took, written / MANY))
        return out


def cell(first, repeat, form="{:,.0f}"):
    return f"{form.format(first)} / {form.format(repeat)}"


def measure_patterns(programs):
    print("| first / repeat | PostgreSQL: µs | round trips | bytes on the wire | bytes of its log "
          "| SQLite: µs | bytes written |\n| --- | --- | --- | --- | --- | --- | --- |")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-bench-"))
    server = Postgres({**DURABLE, "full_page_writes": "off"}).start()
    try:
        postgres = PostgresBench(programs, server)
        sqlite = SqliteBench(programs, f"sqlite:{folder / 'shop.db'}")
        for pattern, title in PATTERNS.items():
            one, two = postgres.measure(pattern)
            three, four = sqlite.measure(pattern)
            print(" | ".join(["| " + title, cell(one[0], two[0]), cell(one[1], two[1]),
                              cell(one[2], two[2]), cell(one[3], two[3]),
                              cell(three[0], four[0]), cell(three[1], four[1])]) + " |",
                  flush=True)
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
