"""Stores filled by SQL with many records, of every state, of a thousand callers and twenty routes,
with a key each, claimed one after the other within the last day.

Every record is whole: it has its own id, subject and seal, so that each query reads what it would
read of a store that filled by itself."""

import contextlib
import hashlib
import sqlite3
import struct
import time

DAY_MS = 86_400_000
SCOPES, ROUTES = 1_000, 20
PIECE = 500_000  # records in a transaction
COMPLETED, FAILED, RELEASED, IN_PROGRESS = 4, 5, 6, 2
# Of ten thousand records so many are not completed; an unknown one is in progress past its lease.
FAILED_OF, RELEASED_OF, IN_PROGRESS_OF = 60, 30, 2
UNKNOWN = 200  # in all, at even distances
BODY = b'{"id":"ch_1","amount":500,"currency":"eur","status":"succeeded"}'
METHOD, PRINT_METHOD, SCOPE_KIND = b"POST", b"exact", b"header:authorization"
RUN_TIMEOUT_MS = 30_000


def part(content):
    return struct.pack("<Q", len(content)) + content


def text(content):
    assert len(content) < 128
    return bytes([len(content)]) + content


def key_of(number):
    return b"order-%d-%05d" % (number, number * 7919 % 99_991)


def scope_of(number):
    return hashlib.sha256(b"caller %d" % (number % SCOPES)).digest()


def record_id(scope, key):
    return hashlib.sha256(part(b"onceguard record 1") + part(scope) + part(key)).digest()


def state_of(number, records):
    """The state, and whether its lease is over."""
    if number % max(records // UNKNOWN, 1) == 1:
        return IN_PROGRESS, True
    turn = number * 7 % 10_000
    if turn < FAILED_OF:
        return FAILED, True
    if turn < FAILED_OF + RELEASED_OF:
        return RELEASED, True
    return (IN_PROGRESS, False) if turn >= 10_000 - IN_PROGRESS_OF else (COMPLETED, True)


# --- SQLite -----------------------------------------------------------------------------------

def subject_of(scope, key, number):
    route = b"/route-%d" % (number % ROUTES)
    texts = SCOPE_KIND, key, METHOD, route + b"/%d" % number, route, PRINT_METHOD
    return b"".join((scope, *map(text, texts), hashlib.sha256(key).digest(),
                     struct.pack("<q", RUN_TIMEOUT_MS)))


ANSWER = b"".join((b"\xc9\x01\x01", text(b"content-type"), text(b"application/json"), text(BODY)))


def sqlite_rows(first, end, records, boot, now):
    """Records of format 1, whose checksum is made by SHA-256."""
    boot_now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1_000)
    for number in range(first, end):
        state, over = state_of(number, records)
        scope, key = scope_of(number), key_of(number)
        claimed = now - (records - number) * DAY_MS // records
        expires = 0 if state == IN_PROGRESS else claimed + 2 * DAY_MS
        answer = ANSWER if state == COMPLETED else b""
        record = b"".join((
            struct.pack("<5BQ16s3B6q", 1, state, 3 if answer else 1, 0, 0 if answer else 4,
                        claimed * 1_000 + number % 1_000, hashlib.md5(key).digest(), 1, 0, 0,
                        0 if over else boot_now + DAY_MS, 0, claimed,
                        0 if state == IN_PROGRESS else claimed + 40, expires, 0),
            subject_of(scope, key, number), answer))
        yield (record_id(scope, key), state, expires or None, boot,
               record + hashlib.sha256(record).digest()[:8])


def fill_sqlite(file, records):
    """Beside the records that are there. The index of ids is made at the end."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as at:
        at.execute("PRAGMA synchronous = OFF")
        boot, now = at.execute("SELECT (SELECT max(id) FROM boots), last_wall FROM meta"
                               ).fetchone()
        at.execute("DROP INDEX records_by_digest")
        at.execute("DROP INDEX records_by_expiry")
        for first in range(0, records, PIECE):
            at.execute("BEGIN")
            at.executemany(
                "INSERT INTO records (digest, state, expires_at, boot, record)"
                " VALUES (?, ?, ?, ?, ?)",
                sqlite_rows(first, min(first + PIECE, records), records, boot, now))
            at.execute("COMMIT")
        at.execute("CREATE UNIQUE INDEX records_by_digest ON records (digest)")
        at.execute("CREATE INDEX records_by_expiry ON records (expires_at, state)")
        at.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# --- PostgreSQL -------------------------------------------------------------------------------

INSERT = f"""
WITH bases AS MATERIALIZED (SELECT onceguard.now_ms() AS now),
made AS (
  SELECT i, b.now, b.now - (%(records)s - i) * {DAY_MS} / %(records)s AS claimed,
    sha256(convert_to('caller ' || i %% {SCOPES}, 'UTF8')) AS scope,
    convert_to('order-' || i || '-' || lpad((i * 7919 %% 99991)::text, 5, '0'), 'UTF8') AS key,
    convert_to('/route-' || i %% {ROUTES}, 'UTF8') AS route,
    CASE WHEN i %% greatest(%(records)s / {UNKNOWN}, 1) = 1 THEN 'unknown'
      WHEN i * 7 %% 10000 < {FAILED_OF} THEN 'failed'
      WHEN i * 7 %% 10000 < {FAILED_OF + RELEASED_OF} THEN 'released'
      WHEN i * 7 %% 10000 >= {10_000 - IN_PROGRESS_OF} THEN 'in_progress'
      ELSE 'completed' END AS state
  FROM bases b, generate_series(%(first)s::bigint, %(last)s::bigint) i),
sized AS (
  SELECT m.*, substr(sha256(key), 1, 16) AS claim_id,
    '\\x0173'::bytea || scope || %(kind)s::bytea
      || set_byte('\\x00'::bytea, 0, length(key)) || key || %(method)s::bytea
      || set_byte('\\x00'::bytea, 0, length(route) + 1 + length(i::text)) || route
      || convert_to('/' || i, 'UTF8') || set_byte('\\x00'::bytea, 0, length(route)) || route
      || %(print_method)s::bytea || sha256(key) || %(timeout)s::bytea AS subject,
    CASE WHEN state = 'completed' THEN '\\x016f00'::bytea || %(answer)s::bytea END AS outcome
  FROM made m),
whole AS (
  SELECT s.*, sha256(%(record_part)s::bytea || '\\x2000000000000000'::bytea || scope
    || set_byte('\\x0000000000000000'::bytea, 0, length(key)) || key) AS digest FROM sized s),
noted AS (
  INSERT INTO onceguard.attention SELECT digest FROM whole WHERE state = 'unknown'
  ON CONFLICT DO NOTHING)
INSERT INTO onceguard.records
  (token, deadline_at, expires_at, state, digest, claim_id, subject, outcome)
SELECT claimed * 1000 + i %% 1000,
  CASE state WHEN 'in_progress' THEN now + {DAY_MS} ELSE claimed + 40 END,
  CASE WHEN state IN ('in_progress', 'unknown') THEN 0 ELSE claimed + {2 * DAY_MS} END,
  (CASE state WHEN 'unknown' THEN 'in_progress' ELSE state END)::onceguard.state, digest, claim_id,
  subject || substr(sha256(digest || claim_id || subject), 1, 8),
  outcome || substr(sha256(digest || claim_id || outcome), 1, 8)
FROM whole
"""


def fill_postgres(server, store, records):
    with server.connect(store) as at:
        at.execute("SET synchronous_commit = off")
        for first in range(0, records, PIECE):
            at.execute(INSERT, {
                "records": records, "first": first, "last": min(first + PIECE, records) - 1,
                "record_part": part(b"onceguard record 1"), "kind": text(SCOPE_KIND),
                "method": text(METHOD), "print_method": text(PRINT_METHOD), "answer": ANSWER,
                "timeout": struct.pack("<q", RUN_TIMEOUT_MS)})
        at.execute("VACUUM (ANALYZE) onceguard.records")
