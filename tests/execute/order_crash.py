"""An order in four steps, killed after each step, inside each and at random moments: all of it takes
effect once, or each of its finished steps and then its compensation once."""

import collections
import contextlib
import os
import pathlib
import random
import sqlite3
import subprocess

import psycopg
import pytest

from support.cards import Cards
from support.waiting import scaled

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILT = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard").parent
LEASE = "300"  # milliseconds
STOCK = 10_000
TRY_AGAIN = 75

# Article and price of an order, its answer, and what it leaves behind: entries, and at the provider.
Kind = collections.namedtuple("Kind", "article cents answer entries charges refunds stock")
WAY_BACK = ["reserved", "paid", "refunded", "stock returned"]
KINDS = {
    "confirmed": Kind("clock", "4200", "201 order {} is confirmed",
                      ["reserved", "paid", "shipment created", "confirmed"], 1, 0, -1),
    "declined": Kind("clock", "20000", "402 card declined", ["reserved", "stock returned"], 0, 0, 0),
    "too heavy": Kind("anvil", "900", "422 too heavy to be shipped", WAY_BACK, 1, 1, 0),
    "another price": Kind("clock", "4300", "409 the price has changed",
                          [*WAY_BACK, "shipment created", "shipment cancelled"], 1, 1, 0),
}

STEPS = ["reserve stock", "charge card", "create shipment", "confirm"]
FORWARD = [f"{where} {step}" for step in STEPS for where in ("before", "inside", "after")]
BACK = [f"{where} undoing {step}" for step in STEPS[:3] for where in ("before", "inside")]
STOPS = [("confirmed", point) for point in FORWARD]
STOPS += [("another price", point) for point in [*FORWARD[:10], *BACK]]
STOPS += [("too heavy", point) for point in [*FORWARD[:7], *BACK[:4]]]
STOPS += [("declined", point) for point in [*FORWARD[:3], *BACK[:2]]]


class Shop:
    """A database with articles, and the provider of its card payments."""

    def __init__(self, name, connect, records):
        self.name, self.connect, self.records = name, connect, records
        self.cards = Cards()
        self.placed = {}  # the kind of each order
        with contextlib.closing(connect()) as at:
            at.execute("CREATE TABLE articles (name text, stock integer, price integer)")
            at.execute("CREATE TABLE entries (number text, entry text)")
            at.execute(f"INSERT INTO articles VALUES ('clock', {STOCK}, 4200), ('anvil', {STOCK}, 900)")
            at.commit()

    def words(self, number, kind):
        self.placed[number] = kind
        return [self.name, self.cards.url, number, "ada", KINDS[kind].article, KINDS[kind].cents, LEASE]

    def start(self, program, *words):
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", BUILT / program, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill_at(self, point, number, kind):
        process = self.start("tests/order_stops", *self.words(number, kind), point)
        with process:
            assert process.stdout.readline() == f"at {point}\n"
            process.kill()

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
        expected = collections.Counter(
            (number, entry) for number, kind in self.placed.items() for entry in KINDS[kind].entries)
        assert self.entries() == expected
        kinds = [KINDS[kind] for kind in self.placed.values()]
        assert set(self.cards.charges.values()) <= {1}
        assert self.cards.charges.total() == sum(kind.charges for kind in kinds)
        assert set(self.cards.refunds.values()) <= {1}
        assert self.cards.refunds.total() == sum(kind.refunds for kind in kinds)
        assert self.cards.refunds.keys() <= self.cards.charges.keys()
        stock = self.query("SELECT sum(stock) FROM articles")[0][0]
        assert stock == 2 * STOCK + sum(kind.stock for kind in kinds)


@pytest.fixture(params=["postgresql", "sqlite"])
def shop(request, tmp_path):
    if request.param == "sqlite":
        path = tmp_path / "shop.db"
        with contextlib.closing(sqlite3.connect(path)) as at:
            at.execute("PRAGMA journal_mode = WAL")
        made = Shop(str(path), lambda: sqlite3.connect(path, timeout=20), "onceguard_records")
    else:
        server = request.getfixturevalue("postgres_server")
        database = server.create_store()
        made = Shop(server.url(database), lambda: psycopg.connect(server.conninfo(database)),
                    "onceguard.records")
    yield made
    made.cards.close()


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_that_is_not_killed_is_placed_or_taken_back_as_a_whole(shop, kind):
    answer = KINDS[kind].answer.format("order-1")
    assert shop.place("order-1", kind) == answer
    assert shop.place("order-1", kind) == answer + " (replayed)"
    shop.check()


def test_killed_at_each_point_of_an_order(shop):
    """Before, inside and after each step, and before and inside each compensation."""
    for number, (kind, point) in enumerate(STOPS):
        shop.kill_at(point, f"order-{number}", kind)
    for number, (kind, point) in enumerate(STOPS):
        answer = KINDS[kind].answer.format(f"order-{number}")
        assert shop.place(f"order-{number}", kind) == answer, (kind, point)
        assert shop.place(f"order-{number}", kind) == answer + " (replayed)", (kind, point)
    shop.check()


def test_killed_at_each_compensation_of_one_order_in_turn(shop):
    """The attempts of one order end one after the other, each a compensation further."""
    kind = "another price"
    for step in reversed(STEPS[:3]):
        for where in ("before", "inside"):
            shop.kill_at(f"{where} undoing {step}", "order-1", kind)
    assert shop.place("order-1", kind) == KINDS[kind].answer
    shop.check()


def test_killed_at_random_moments_while_a_second_process_places_the_same(shop):
    """60 kills a database, and each seventh answer of the provider is lost on its way."""
    rng = random.Random(shop.records)
    shop.cards.drop_each = 7
    kinds = list(KINDS)
    orders = [(f"order-{n}", kinds[n % len(kinds)]) for n in range(scaled(16, least=8))]
    for _ in range(scaled(30, least=8)):
        number, kind = rng.choice(orders)
        pair = [shop.start("examples/order/order", *shop.words(number, kind)) for _ in range(2)]
        for process in pair:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.002, 0.06))
            process.kill()
            process.communicate()
    for number, kind in orders:
        answer = KINDS[kind].answer.format(number)
        assert shop.place(number, kind).removesuffix(" (replayed)") == answer
    shop.check()


def test_without_its_record_the_same_order_takes_effect_twice(shop):
    """The control: what is counted here would show a step that runs again."""
    shop.kill_at("after create shipment", "order-1", "confirmed")
    shop.forget()
    shop.place("order-1", "confirmed")
    assert shop.entries()["order-1", "reserved"] == 2
    with pytest.raises(AssertionError):
        shop.check()
