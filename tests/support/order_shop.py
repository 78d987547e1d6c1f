"""A shop that places the orders of examples/order, and counts what they leave behind."""

import collections
import contextlib
import os
import pathlib
import sqlite3
import subprocess

import psycopg

from support.cards import Cards
from support.waiting import Stopwatch, wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILT = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard").parent
LEASE = "300"  # milliseconds
STOCK = 10_000
TRY_AGAIN = 75

# Article and price of an order, its answer, and what it leaves behind: entries in the database, and
# effects at the provider.
Kind = collections.namedtuple("Kind", "article cents answer entries charges refunds stock")
WAY_BACK = ["reserved", "paid", "refunded", "stock returned"]
KINDS = {
    "confirmed": Kind("clock", "4200", "201 order {} is confirmed",
                      ["reserved", "paid", "shipment created", "confirmed"], 1, 0, -1),
    "declined": Kind("clock", "20000", "402 card declined", ["reserved", "stock returned"],
                     0, 0, 0),
    "too heavy": Kind("anvil", "900", "422 too heavy to be shipped", WAY_BACK, 1, 1, 0),
    "another price": Kind("clock", "4300", "409 the price has changed",
                          [*WAY_BACK, "shipment created", "shipment cancelled"], 1, 1, 0),
}


class Shop:
    """A database with articles and the records of its orders."""

    def __init__(self, name, connect, records, cards):
        self.name, self.connect, self.records, self.cards = name, connect, records, cards
        self.placed = {}  # the kind of each order
        with contextlib.closing(connect()) as at:
            at.execute("CREATE TABLE articles (name text, stock integer, price integer)")
            at.execute("CREATE TABLE entries (number text, entry text)")
            at.execute("INSERT INTO articles "
                       f"VALUES ('clock', {STOCK}, 4200), ('anvil', {STOCK}, 900)")
            at.commit()

    def words(self, number, kind):
        self.placed[number] = kind
        it = KINDS[kind]
        return [self.name, self.cards.url, number, "ada", it.article, it.cents, LEASE]

    def start(self, program, *words):
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", BUILT / program, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill_at(self, point, number, kind):
        """Kills the order there. An attempt whose lease was over before goes no further."""
        def killed():
            clock = Stopwatch()
            process = self.start("tests/order_stops", *self.words(number, kind), point)
            with process:
                said = process.stdout.readline()
                late = clock.seconds > int(LEASE) / 1000
                process.kill()
            assert said == f"at {point}\n" or late, said
            return said == f"at {point}\n"
        wait_until(killed, 30, f"the order {point}")

    def place(self, number, kind):
        """Places the order until its outcome is known."""
        for _ in range(100):
            with self.start("examples/order/order", *self.words(number, kind)) as process:
                out, fault = process.communicate(timeout=60)
            if process.returncode == 0:
                return out.strip()
            assert process.returncode == TRY_AGAIN, fault
        raise AssertionError(f"order {number} does not come to an end: {out}{fault}")

    def query(self, sql):
        with contextlib.closing(self.connect()) as at:
            return at.execute(sql).fetchall()

    def forget(self):
        with contextlib.closing(self.connect()) as at:
            at.execute(f"DELETE FROM {self.records}")
            at.commit()

    def entries(self):
        return collections.Counter(self.query("SELECT number, entry FROM entries"))

    def check(self):
        assert self.entries() == entries_of(self.placed)
        kinds = [KINDS[kind] for kind in self.placed.values()]
        assert set(self.cards.charges.values()) <= {1}
        assert self.cards.charges.total() == sum(kind.charges for kind in kinds)
        assert set(self.cards.refunds.values()) <= {1}
        assert self.cards.refunds.total() == sum(kind.refunds for kind in kinds)
        assert self.cards.refunds.keys() <= self.cards.charges.keys()
        stock = self.query("SELECT sum(stock) FROM articles")[0][0]
        assert stock == 2 * STOCK + sum(kind.stock for kind in kinds)


def entries_of(placed):
    """What these orders, with their kinds, have to leave in the database."""
    return collections.Counter(
        (number, entry) for number, kind in placed.items() for entry in KINDS[kind].entries)


def sqlite_shop(path, cards):
    with contextlib.closing(sqlite3.connect(path)) as at:
        at.execute("PRAGMA journal_mode = WAL")
    return Shop(str(path), lambda: sqlite3.connect(path, timeout=20), "onceguard_records", cards)


def postgres_shop(server, cards):
    database = server.create_store()
    return Shop(server.url(database), lambda: psycopg.connect(server.conninfo(database)),
                "onceguard.records", cards)
