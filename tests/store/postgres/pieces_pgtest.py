"""Large tables are looked through in pieces: by operators' lists, and before a partition goes."""

import json
import subprocess

import pytest

from store.postgres.acts import DAY, REPLAY, claim_of, digest_of
from support.waiting import wait_until

HOUR = 3_600_000
PIECE = 5_000      # of a partition that is judged
EXAMINED = 20_000  # by one call of a list

# As many more completed records as asked for, born a number after the one of `of_digest` each.
COPY = """
CREATE OR REPLACE PROCEDURE public.copy(of_digest bytea, copies integer) LANGUAGE plpgsql AS $$
DECLARE
  nothing onceguard.records;
  r onceguard.records := onceguard.look_up(of_digest);
BEGIN
  FOR i IN 1 .. copies LOOP
    r.key := convert_to('copy ' || i, 'UTF8');
    r.digest := sha256('record '::bytea || r.key);
    r.born := r.born + 1;
    IF NOT onceguard.put(nothing, r) THEN RAISE 'copy % is there already', i; END IF;
  END LOOP;
END
$$
"""


def copies(caller, key, number):
    caller.on.execute(COPY)
    caller.rows("CALL public.copy(%s, %s)", [digest_of(key), number])


def listed(caller, key=None, after=0, page=100):
    """One call: the keys that it found, and where the next goes on."""
    found = caller.rows("SELECT * FROM onceguard.list_piece(NULL, %s, NULL, %s, %s, false)",
                      [key, after, page])
    goes_on = found.pop().born if found and found[-1].problem == 3 else None
    return [row.key.decode() for row in found], goes_on


def test_a_list_examines_a_piece_and_returns_a_cursor(caller):
    caller.completed(claim_of("first"))
    copies(caller, "first", EXAMINED + 500)
    last = b"copy %d" % (EXAMINED + 500)
    seen, after = listed(caller, last)
    assert seen == [] and after is not None  # how far it comes in a second, this machine says
    calls = 1
    while after is not None:
        more, before = listed(caller, last, after), after
        seen, after = seen + more[0], more[1]
        assert after is None or after > before
        calls += 1
    assert seen == [last.decode()] and calls >= 2


def test_a_full_page_of_a_list_goes_on_behind_its_last(caller):
    caller.completed(claim_of("first"))
    copies(caller, "first", 9)
    seen, after = listed(caller, page=4)
    assert seen == ["first", "copy 1", "copy 2", "copy 3"]
    assert listed(caller, after=after) == ([f"copy {i}" for i in range(4, 10)], None)


def counted(caller, after=0):
    """One call: how many of each state, and where the next goes on."""
    query = "SELECT state, records FROM onceguard.counts_piece(%s, false)"
    found = dict(caller.rows(query, [after]))
    return found, found.pop(None, None)


def test_counts_go_on_behind_each_piece(caller, clock):
    assert counted(caller) == ({}, None)
    caller.completed(claim_of("first"))
    copies(caller, "first", EXAMINED - 2)
    assert counted(caller) == ({4: EXAMINED - 1}, None)
    clock.advance(1)  # born behind them all
    caller.claim(claim_of("running"))
    last = caller.value("SELECT max(born) FROM onceguard.records")
    assert counted(caller) == ({2: 1, 4: EXAMINED - 1}, last)
    assert counted(caller, last) == ({}, None)
    for i in range(5):
        caller.claim(claim_of(f"running {i}"))
    assert counted(caller, last) == ({2: 5}, None)
    clock.advance(2 * DAY)  # what has expired is in a piece, but not counted
    assert counted(caller) == ({4: 0, 7: 1}, last)
    assert counted(caller, last) == ({7: 5}, None)


def test_stats_adds_up_the_pieces(caller, server, database, onceguard):
    caller.completed(claim_of("first"))
    copies(caller, "first", EXAMINED + 500)
    told = subprocess.run([onceguard, "stats", "--json", "--store", server.url(database)],
                          capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(told.stdout)["completed"] == EXAMINED + 501


@pytest.mark.parametrize("layout", ["time:1h"])
def test_a_large_partition_goes_when_all_its_pieces_are_over(caller, clock):
    caller.completed(claim_of("first"))
    copies(caller, "first", 2 * PIECE)
    kept = digest_of(f"copy {PIECE + PIECE // 2}")  # in the second piece
    caller.rows("UPDATE onceguard.records SET expires_at = expires_at + %s WHERE digest = %s",
              [DAY, kept])
    caller.rows("UPDATE onceguard.records r SET checksum = onceguard.checksum_of(r) "
              "WHERE digest = %s", [kept])
    old = caller.value("SELECT tableoid::regclass::text FROM onceguard.records WHERE digest = %s",
                     [kept])
    clock.advance(26 * HOUR)
    gone = []

    def dropped():
        gone.append(caller.sweep())
        return caller.value("SELECT to_regclass(%s) IS NULL", [old])

    wait_until(dropped, what="the partition going")
    assert max(gone) == 999  # as many as a call may tell
    assert caller.value("SELECT count(*) FROM onceguard.records") == 1
    again = claim_of(f"copy {PIECE + PIECE // 2}")
    assert caller.claim(again).verdict == REPLAY
    assert caller.value("SELECT count(*) FROM onceguard.sweep_hands WHERE part = %s", [old]) == 0


@pytest.mark.parametrize("layout", ["time:1h"])
def test_when_the_time_is_up_a_proof_goes_on_at_the_next_call(caller, clock):
    caller.completed(claim_of("first"))
    copies(caller, "first", 2 * PIECE)
    clock.advance(26 * HOUR)
    part = caller.value("SELECT tableoid::regclass::text FROM onceguard.records LIMIT 1")

    def prove():
        """One call whose time is up when it begins; what it has looked through, of all calls."""
        caller.value("SELECT onceguard.prove_partition(%s, 1000, %s, clock_timestamp())",
                   [part, clock.now])
        return caller.value("SELECT held FROM onceguard.sweep_hands WHERE part = %s", [part])

    assert [prove() for _ in range(4)] == [0, PIECE, 2 * PIECE, 2 * PIECE + 1]


@pytest.mark.parametrize("layout", ["plain"])
def test_when_the_time_is_up_a_sweep_goes_on_at_the_next_call(caller, clock):
    caller.completed(claim_of("first"))
    copies(caller, "first", EXAMINED)  # on more pages than are swept at once
    clock.advance(26 * HOUR)
    left = []
    for _ in range(2):
        caller.value("SELECT onceguard.sweep_part('onceguard.records', 1000000, %s, "
                   "clock_timestamp())", [clock.now])
        left.append(caller.value("SELECT count(*) FROM onceguard.records"))
    assert EXAMINED > left[0] > left[1] > 0
