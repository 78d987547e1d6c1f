"""What the database remembers so that no token is given twice and no loss goes unnoticed: the
floor of the tokens, and the counts of granted leases. The clock goes back in most of these."""

import os
from datetime import timedelta

import pytest

from store.postgres.acts import DAY, HOUR, failure

MINUTE_US = 60_000_000


def meta(caller, column):
    return caller.value(f"SELECT {column} FROM onceguard.meta")


def test_a_first_claim_gets_a_token_above_the_floor(caller, clock):
    caller.rows("UPDATE onceguard.meta SET floor = %s", [(clock.now + HOUR) * 1000])
    assert caller.claim("k").token > meta(caller, "floor")


def test_the_next_lease_of_a_key_has_a_later_token_though_the_clock_went_back(caller, clock):
    first = caller.claim("k")
    caller.settle("release", first.lease)
    clock.advance(-HOUR)
    assert caller.claim("k").token > first.token


def test_a_key_that_was_swept_gets_a_later_token_though_the_clock_went_back(caller, clock):
    first = caller.claim("k")
    caller.settle("complete", first.lease, 201)
    clock.advance(DAY)
    assert caller.sweep() == 1
    clock.advance(-DAY - HOUR)
    assert caller.claim("k").token > first.token


def test_an_older_copy_goes_on_above_the_tokens_that_it_lacks(caller, clock):
    known = clock.now * 1000
    clock.advance(-HOUR)
    older = caller.value(
        "SELECT h.older FROM onceguard.hello(%s, %s, %s, '{}', '{}') h",
        [meta(caller, "schema_version"), meta(caller, "identity"), known])
    assert older
    assert caller.claim("k").token > known + MINUTE_US


def test_a_memory_without_a_connection_that_was_granted_leases_is_another_one(caller):
    caller.rows("INSERT INTO onceguard.lease_counts VALUES (7, 3, 0)")
    held = {leases: caller.value("SELECT onceguard.holds(0, '{7}', ARRAY[%s]::bigint[])", [leases])
            for leases in (2, 3, 4)}
    assert held == {2: True, 3: True, 4: False}
    assert not caller.value("SELECT onceguard.holds(0, '{7,8}', '{3,1}')")


def test_leases_of_connections_that_are_long_gone_still_count(caller):
    caller.rows("UPDATE onceguard.meta SET raises = 200, leases = 5, "
                "floor = onceguard.now_ms() * 1000")
    caller.rows("INSERT INTO onceguard.lease_counts VALUES (7, 3, 79), (8, 4, 80)")
    generation = "SELECT v.generation FROM onceguard.vitals(NULL, NULL, NULL, NULL) v"
    before = caller.value(generation)
    caller.sweep()
    assert caller.rows("SELECT connection FROM onceguard.lease_counts") == [(8,)]
    assert caller.value(generation) == before == 12


# ---- what ends, and what does not ------------------------------------------------------------
def test_a_pause_longer_than_the_retention_is_kept(caller, clock):
    minute = timedelta(minutes=1)
    caller.settle("fail", caller.leased("k"), minute, minute, timedelta(seconds=1))
    clock.advance(59_999)
    assert caller.claim("k").verdict == "backoff"
    clock.advance(1)
    assert caller.claim("k").verdict == "run"


def test_a_lease_that_was_given_up_is_not_renewed(caller):
    lease = caller.leased("k")
    caller.settle("save_progress", lease, "first", b"done")
    caller.settle("abandon", lease)
    assert failure(caller.settle, "save_progress", lease, "second", b"done") == "OG001"
    assert caller.find("k").state == "unknown"


def test_a_completion_is_durable_whatever_the_session_says(caller):
    lease = caller.leased("k")
    with caller.connection.transaction():
        caller.rows("SET LOCAL synchronous_commit = off")
        caller.settle("complete", lease, 201)
        assert caller.value("SHOW synchronous_commit") == "on"


@pytest.mark.parametrize("column", ["subject", "outcome"])
def test_what_is_damaged_is_neither_replayed_nor_swept(caller, clock, column):
    caller.completed("k", 201, None, os.urandom(100))
    caller.rows(f"UPDATE onceguard.records SET {column} = "
                f"set_byte({column}, 20, get_byte({column}, 20) # 4)")
    assert failure(caller.claim, "k") == "OG002"
    clock.advance(2 * DAY)
    assert caller.sweep() == 0
    assert failure(caller.claim, "k") == "OG002"
