"""SQL as a client of its own: the examples of clients/sql, and kills amid their transactions."""

import os
import pathlib
import random
import subprocess
import threading

import pytest

from clients.serving import share_of_kills
from support.waiting import scaled

SQL = pathlib.Path(__file__).resolve().parents[2] / "clients/sql"


class Shop:
    """A database with the schema and the table of charges; services connect as `shop`."""

    def __init__(self, server, database, admin):
        self.url = server.url(database, user="shop")
        self.admin = admin
        admin.execute("CREATE TABLE charges (customer text, amount integer)")
        admin.execute("DO $$ BEGIN CREATE ROLE shop LOGIN; "
                      "EXCEPTION WHEN duplicate_object THEN END $$")
        admin.execute("GRANT onceguard_app TO shop")
        admin.execute("GRANT SELECT, INSERT ON charges TO shop")

    def charges(self):
        """How many charges each customer has."""
        return dict(self.admin.execute("SELECT customer, count(*) FROM charges GROUP BY 1"))

    def psql(self, customer, key, amount):
        return subprocess.run(
            ["psql", "-X", "-v", f"customer={customer}", "-v", f"key={key}", "-v",
             f"amount={amount}", "-f", SQL / "payment.sql", self.url],
            capture_output=True, text=True, timeout=60, check=False)

    def begin(self):
        """The program of payment.py, which reads lines."""
        return subprocess.Popen(
            ["/usr/bin/python3", SQL / "payment.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env={**os.environ, "DATABASE_URL": self.url})

    def python(self, *lines):
        with self.begin() as program:
            out, _ = program.communicate("".join(line + "\n" for line in lines), timeout=60)
        assert program.returncode == 0, out
        return out.splitlines()


@pytest.fixture
def shop(postgres_server, database, admin):
    return Shop(postgres_server, database, admin)


def test_psql_charges_once(shop):
    first, again = (shop.psql("ann", "order-17", 1000) for _ in range(2))
    assert (first.returncode, first.stdout, first.stderr) == (0, '{"charged" : 1000}\n', "")
    assert (again.stdout, again.stderr) == (first.stdout, "")
    other = shop.psql("ann", "order-17", 2000)
    assert (other.stdout, other.stderr) == ("", "not charged: mismatch\n")
    assert shop.charges() == {"ann": 1}


def test_python_charges_once_and_finds_what_psql_did(shop):
    answers = shop.python("ann order-1 1000", "ann order-1 1000", "ann order-1 999",
                          "bob order-1 5")
    assert answers == \
        ['{"charged": 1000}', '{"charged": 1000}', "not charged: mismatch", '{"charged": 5}']
    shop.psql("eve", "order-1", 7)
    assert shop.python("eve order-1 7") == ['{"charged" : 7}']
    assert shop.charges() == {"ann": 1, "bob": 1, "eve": 1}


def test_twins_charge_once(shop):
    programs = [shop.begin() for _ in range(6)]
    for program in programs:
        program.stdin.write("ann order-1 1000\n")
        program.stdin.flush()
    answers = [program.communicate(timeout=60)[0] for program in programs]
    assert set(answers) == {'{"charged": 1000}\n'}
    assert shop.charges() == {"ann": 1}


def test_a_client_killed_amid_its_transactions_charges_exactly_once(shop):
    """Each customer orders once; whoever got no answer asks again, until all have one."""
    seed = random.SystemRandom().randrange(1 << 32)
    moments, pause = random.Random(seed), threading.Event()
    answered, number = set(), 0
    for _ in range(share_of_kills(200)):
        program = shop.begin()
        todo = [f"c{one}" for one in range(number + 100) if f"c{one}" not in answered]
        program.stdin.write("".join(f"{one} order-1 1000\n" for one in todo))
        program.stdin.flush()
        assert program.stdout.readline() == '{"charged": 1000}\n', seed
        pause.wait(0.05 * moments.random())
        program.kill()
        rest = program.communicate()[0].count("\n")  # whole lines
        answered.update(todo[:1 + rest])
        number = max(number, *(int(one[1:]) for one in answered))
    customers = [f"c{one}" for one in range(number + 100)]
    assert set(shop.python(*(f"{one} order-1 1000" for one in customers))) == {'{"charged": 1000}'}
    assert shop.charges() == {one: 1 for one in customers}, seed
    assert len(answered) < len(customers)


def test_a_connection_that_dies_amid_them_charges_exactly_once(shop):
    customers = [f"d{one}" for one in range(scaled(2000, 300))]
    orders = [f"{one} order-1 1000\n" for one in customers]
    program = shop.begin()
    program.stdin.write("".join(orders[:-1]))
    program.stdin.flush()
    for _ in range(len(customers) // 3):
        assert program.stdout.readline() == '{"charged": 1000}\n'
    shop.admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                       "WHERE usename = 'shop'")
    program.communicate(orders[-1], timeout=60)  # however far it is by now
    assert program.returncode == 1, "it ends with its connection"
    assert set(shop.python(*(f"{one} order-1 1000" for one in customers))) == {'{"charged": 1000}'}
    assert shop.charges() == {one: 1 for one in customers}
