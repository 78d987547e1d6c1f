"""The server of examples/patterns, which tests start, kill and drive by curl and other clients."""

import contextlib
import http.client
import random
import sqlite3
import subprocess
import threading

from support.client import Connection, all_at_once, ask, request_bytes
from support.example_server import ExampleServer, built_example
from support.waiting import scaled, wait_until


class PatternServer(ExampleServer):
    """With a database that outlives it."""

    def __init__(self, shop, *more):
        self.shop = shop
        program = built_example("patterns", "patterns")
        super().__init__(program, "/movements", (shop.url, *more))

    def ask(self, method, target, body=None, **fields):
        """`If_Match="…"` is the field If-Match."""
        sent = [(name.replace("_", "-"), value) for name, value in fields.items()]
        return ask(self.address, method, target, sent, body, timeout=60)

    def lines(self, target):
        return self.ask("GET", target).body.decode().split()

    def at_once(self, method, target, body, count=32, fields=()):
        return all_at_once(self.address, [request_bytes(method, target, fields, body)] * count)

    def curl(self, target, *words):
        """Status, fields and body, as curl prints them."""
        url = f"http://127.0.0.1:{self.port.number}{target}"
        done = subprocess.run(["curl", "-si", "--max-time", "20", *words, url],
                              capture_output=True, text=True, check=True)
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        first, *lines = head.split("\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body

    # ---- kills
    def amid_kills(self, method, target_of, body_of, took_effect, fields=(), count=30):
        """Sends requests 0, 1 … and kills the server amid each, at moments of a seed; each is sent
        again until it is answered. The seed, and the last answers."""
        seed = random.randrange(1 << 32)
        moments = random.Random(seed)
        pause = threading.Event()
        answers = []
        for number in range(scaled(count, 10)):
            client = Connection(self.address)
            client.send_request(method, target_of(number), fields, body_of(number))
            if number % 5 == 0:  # However slow the machine is, some are killed after their commit.
                wait_until(lambda number=number: took_effect(number), 30, "the effect")
            else:
                pause.wait(moments.choice([0, 0.001, 0.003, 0.01, 0.03]) * moments.random())
            self.kill()
            client.close()
            self.start()
            answers.append(ask(self.address, method, target_of(number), fields,
                               body_of(number), timeout=60))
        return seed, answers


class SqliteShop:
    def __init__(self, folder):
        self.file = folder / "shop.db"
        self.url = f"sqlite:{self.file}"

    def close(self):
        pass

    @contextlib.contextmanager
    def nobody_writes(self, _table):
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as at:
            at.execute("BEGIN IMMEDIATE")
            yield
            at.execute("COMMIT")


class PostgresShop:
    def __init__(self, server):
        self.server = server
        self.database = server.create_database()
        self.url = server.url(self.database)

    def close(self):
        pass

    @contextlib.contextmanager
    def nobody_writes(self, table):
        with self.server.connect(self.database, autocommit=False) as at:
            at.execute(f"LOCK TABLE {table} IN SHARE MODE")
            yield


def race(server, table, method, target, body, count=32):
    """Sends them all while nobody can write, so that each has read before the first one writes."""
    answers = []
    with server.shop.nobody_writes(table):
        sending = threading.Thread(
            target=lambda: answers.extend(server.at_once(method, target, body, count)))
        sending.start()
        for _ in range(20):  # each takes as long as those that only read take
            server.lines("/movements")
    sending.join()
    return answers


class Writer(threading.Thread):
    """A client of Python's own library: adds 1 to a document, by what it has read."""

    def __init__(self, server, target, everybody_has_read):
        super().__init__()
        self.server, self.target = server, target
        self.everybody_has_read = everybody_has_read
        self.statuses = []
        self.failure = None

    def run(self):
        try:
            self.add_one()
        except Exception as failure:  # reported by the test that joins it
            self.failure = failure
            self.everybody_has_read.abort()

    def add_one(self):
        client = http.client.HTTPConnection(*self.server.address, timeout=60)
        while 200 not in self.statuses:
            client.request("GET", self.target)
            seen = client.getresponse()
            value = int(seen.read())
            if not self.statuses:
                self.everybody_has_read.wait(60)
            client.request("PUT", self.target, str(value + 1), {"If-Match": seen.headers["ETag"]})
            answer = client.getresponse()
            answer.read()
            assert answer.status in (200, 412), answer.status
            self.statuses.append(answer.status)
        client.close()
