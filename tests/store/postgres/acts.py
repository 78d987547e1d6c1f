"""Claims and settles as the store sends them, on one connection or many."""

import hashlib
import os
from collections import namedtuple

import psycopg
from psycopg.rows import namedtuple_row

RUN, REPLAY, BUSY, MISMATCH, BACKOFF, UNKNOWN, REMAKE, REFUSED = range(8)
COMPLETE, FAIL, RELEASE, ABANDON = range(4)
DONE, INCIDENT, STALE = range(3)
LOCKED, UNREADABLE, NO_SUBJECT = 1, 2, 3
STARTED, IN_PROGRESS, PROBING, COMPLETED, FAILED, RELEASED, LOST = range(1, 8)
LEASE = 30_000
DAY = 86_400_000

SCOPE = hashlib.sha256(b"scope").digest()
HEADERS = [b"Link", b"<a>", b"Content-Type", b"text/plain", b"Link", b"<b>"]

Claim = namedtuple("Claim", "digest nonce scope scope_kind key method path route print_method "
                            "print run_timeout lease into_started unknown probe_after "
                            "unknown_retention maybe_repeated")
Settle = namedtuple("Settle", "digest token nonce kind status headers body kept retention backoff "
                              "backoff_max why why_status probe_pause scope scope_kind key method "
                              "path route print_method print run_timeout by_application")
Extend = namedtuple("Extend", "digest token nonce lease dispatch")


def digest_of(key):
    return hashlib.sha256(b"record " + key.encode()).digest()


def claim_of(key, content=b"body", **other):
    made = Claim(digest_of(key), os.urandom(16), SCOPE, b"header:x-tenant", key.encode(), b"POST",
                 b"/v1/payments", b"/v1", b"exact", hashlib.sha256(content).digest(), 60_000,
                 LEASE, False, 0, 0, 0, False)
    return made._replace(**other)


def settle_of(claim, token, kind=COMPLETE, **other):
    made = Settle(claim.digest, token, claim.nonce, kind, None, None, None, 4, DAY, 1_000, 60_000,
                  0, 0, 0, *claim[2:11], None)
    if kind == COMPLETE:
        made = made._replace(status=201, headers=HEADERS, body=b"paid", kept=0)
    return made._replace(**other)


def extend_of(claim, token, **other):
    return Extend(claim.digest, token, claim.nonce, LEASE, False)._replace(**other)


def rows_of(items, kind):
    """One SQL array expression of composites, and its parameters."""
    name = f"onceguard.{kind.__name__.lower()}_item"
    row = "ROW(" + ", ".join(["%s"] * len(kind._fields)) + f")::{name}"
    array = "ARRAY[" + ", ".join([row] * len(items)) + f"]::{name}[]"
    return array, [value for item in items for value in item]


class Desk:
    """Calls of the functions that the store calls. The answers stand in the items' order."""

    def __init__(self, connection):
        self.on = connection

    def rows(self, sql, values=()):
        with self.on.cursor(row_factory=namedtuple_row) as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def row(self, sql, values=()):
        found = self.rows(sql, values)
        assert len(found) == 1, found
        return found[0]

    def value(self, sql, values=()):
        return self.row(sql, values)[0]

    def _batch(self, call, items, kind, *more):
        array, values = rows_of(items, kind)
        extra = "".join(", %s" for _ in more)
        told = self.rows(f"SELECT * FROM onceguard.{call}({array}{extra})", [*values, *more])
        told.sort(key=lambda row: row.item)
        assert [row.item for row in told] == list(range(1, len(items) + 1)), told
        return told

    def claims(self, items, paused=False):
        return self._batch("claim_batch", items, Claim, paused, None, None)

    def claim(self, item, paused=False):
        return self.claims([item], paused)[0]

    def settles(self, items, paused=False):
        return self._batch("settle_batch", items, Settle, paused)

    def settle(self, item, paused=False):
        return self.settles([item], paused)[0]

    def extends(self, items):
        return self._batch("extend_batch", items, Extend)

    def extend(self, item):
        return self.extends([item])[0]

    def leased(self, item):
        told = self.claim(item)
        assert (told.problem, told.verdict) == (0, RUN), told
        return told

    def completed(self, item, **other):
        told = self.leased(item)
        settled = self.settle(settle_of(item, told.token, **other))
        assert (settled.problem, settled.outcome) == (0, DONE), settled
        return told

    def find(self, key, paused=False):
        found = self.rows("SELECT * FROM onceguard.find(%s, %s)", [digest_of(key), paused])
        return found[0] if found else None

    def stored(self, key):
        """The rows of a key, whatever partition they are in."""
        return self.rows("SELECT * FROM onceguard.records WHERE digest = %s", [digest_of(key)])

    def sweep(self, most=1000, paused=False):
        return self.value("SELECT onceguard.sweep(%s, %s)", [most, paused])

    def sweep_through(self):
        """As often as a partition needs to be judged and to go; how many rows went."""
        return sum(self.sweep() for _ in range(3))

    def lease_text(self, claim, token):
        return self.value("SELECT onceguard.lease_text(%s, %s, %s)",
                          [claim.digest, token, claim.nonce])


class Clock:
    """Stands in the place of the database's clock and moves when it is told to."""

    def __init__(self, caller):
        self.caller = caller
        self.now = caller.value("SELECT onceguard.now_ms()")
        caller.rows("CREATE TABLE IF NOT EXISTS public.test_clock (now bigint)")
        caller.rows("DELETE FROM public.test_clock")
        caller.rows("INSERT INTO public.test_clock VALUES (%s)", [self.now])
        caller.rows("CREATE OR REPLACE FUNCTION onceguard.now_ms() RETURNS bigint LANGUAGE sql "
                  "VOLATILE AS 'SELECT now FROM public.test_clock'")

    def advance(self, by):
        self.now += by
        self.caller.rows("UPDATE public.test_clock SET now = %s", [self.now])


def failure(call, *arguments):
    """The error that a call ends with."""
    try:
        told = call(*arguments)
    except psycopg.Error as error:
        return error
    raise AssertionError(f"no error: {told}")
