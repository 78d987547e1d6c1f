"""Claims and settles as applications call them, on one connection or many."""

from datetime import timedelta

import psycopg
from psycopg.rows import namedtuple_row

LEASE = 30_000
DAY = 86_400_000
HOUR = 3_600_000

# So many completed records with keys of their own, as the one of `like`: faster than by claims.
COPY = """
INSERT INTO onceguard.records (digest, claim_id, token, deadline_at, expires_at, state, subject,
                               outcome)
SELECT d.digest, r.claim_id, r.token + n, r.deadline_at, r.expires_at, r.state,
       s.content || onceguard.seal(d.digest, r.claim_id, s.content),
       o.content || onceguard.seal(d.digest, r.claim_id, o.content)
FROM onceguard.records r
CROSS JOIN LATERAL onceguard.read_subject(r.subject) about
CROSS JOIN generate_series(1, %s) n
CROSS JOIN LATERAL (SELECT convert_to('copy ' || n, 'UTF8') AS key) k
CROSS JOIN LATERAL (SELECT onceguard.record_digest(about.scope, k.key) AS digest) d
CROSS JOIN LATERAL (SELECT '\\x0173'::bytea || about.scope || onceguard.sized(about.scope_kind)
  || onceguard.sized(k.key) || onceguard.sized(about.method) || onceguard.sized(about.path)
  || onceguard.sized(about.route) || onceguard.sized(about.print_method) || about.print
  || substr(r.subject, length(r.subject) - 15, 8) AS content) s
CROSS JOIN LATERAL (SELECT substr(r.outcome, 1, length(r.outcome) - 8) AS content) o
WHERE r.digest = %s
"""


class Desk:
    """Calls of the functions that applications call, in the scope `s`."""

    def __init__(self, connection):
        self.connection = connection

    def rows(self, sql, values=()):
        with self.connection.cursor(row_factory=namedtuple_row) as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def row(self, sql, values=()):
        found = self.rows(sql, values)
        assert len(found) == 1, found
        return found[0]

    def value(self, sql, values=()):
        return self.row(sql, values)[0]

    def claim(self, key, **named):
        """named: arguments of onceguard.claim by their names."""
        others = "".join(f", {name} => %s" for name in named)
        return self.row(f"SELECT * FROM onceguard.claim('s', %s{others})", [key, *named.values()])

    def leased(self, key, **named):
        reply = self.claim(key, **named)
        assert reply.verdict == "run", reply
        return reply.lease

    def settle(self, kind, lease, *arguments):
        others = ", %s" * len(arguments)
        self.rows(f"SELECT onceguard.{kind}(%s{others})", [lease, *arguments])

    def completed(self, key, *answer):
        self.settle("complete", self.leased(key), *answer)

    def find(self, key):
        """The record for people; what can't be read has no key."""
        found = self.rows("SELECT * FROM onceguard.keys WHERE record = encode(%s, 'hex')",
                          [self.digest(key)])
        return found[0] if found else None

    def digest(self, key):
        return self.value("SELECT onceguard.application_digest('application', 's', %s)",
                          [key.encode()])

    def stored(self, key):
        return self.rows("SELECT * FROM onceguard.records WHERE digest = %s", [self.digest(key)])

    def copies(self, key, number):
        """So many completed records more; their keys: copy 1, copy 2 …"""
        self.rows(COPY, [number, self.digest(key)])

    def sweep(self, most=1000, paused=False):
        return self.value("SELECT onceguard.sweep(%s, %s)", [most, paused])


class Clock:
    """Stands in the place of the database's clock and moves when the test moves it."""

    def __init__(self, caller):
        self.caller = caller
        self.now = caller.value("SELECT onceguard.now_ms()")
        caller.rows("CREATE TABLE public.test_clock (now bigint)")
        caller.rows("INSERT INTO public.test_clock VALUES (%s)", [self.now])
        caller.rows("CREATE OR REPLACE FUNCTION onceguard.now_ms() RETURNS bigint LANGUAGE sql "
                    "VOLATILE AS 'SELECT now FROM public.test_clock'")

    def advance(self, length):
        self.now += length
        self.caller.rows("UPDATE public.test_clock SET now = %s", [self.now])


def milliseconds(length):
    return length // timedelta(milliseconds=1)


def failure(call, *arguments, **named):
    """The SQLSTATE that a call ends with."""
    try:
        reply = call(*arguments, **named)
    except psycopg.Error as error:
        return error.sqlstate
    raise AssertionError(f"no error: {reply}")
