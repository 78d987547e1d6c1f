"""The batch functions: what the store sends, and what comes back."""

import os

from store.postgres.acts import (ABANDON, BACKOFF, BUSY, COMPLETE, COMPLETED, DAY, DONE, FAIL,
                                 HEADERS, IN_PROGRESS, INCIDENT, LEASE, LOST, MISMATCH, NO_SUBJECT,
                                 PROBING, REFUSED, RELEASE, RELEASED, REMAKE, REPLAY, RUN, STALE,
                                 UNKNOWN, UNREADABLE, claim_of, digest_of, extend_of, settle_of)

HOLD, PROBE, RERUN = range(3)


def without_subject(item):
    return item._replace(scope=None, scope_kind=None, key=None, method=None, path=None, route=None,
                         print_method=None, print=None, run_timeout=None)


def test_first_claims_of_a_batch_run_and_their_repeats_are_replayed(caller):
    claims = [claim_of(f"k{i}") for i in range(64)]
    told = caller.claims(claims)
    assert {row.verdict for row in told} == {RUN}
    assert len({row.token for row in told}) == 64
    assert all(row.attempt == 1 and not row.probe and not row.started for row in told)
    settled = caller.settles([settle_of(c, t.token) for c, t in zip(claims, told)])
    assert {(row.problem, row.outcome) for row in settled} == {(0, DONE)}
    for row in caller.claims([claim_of(f"k{i}") for i in range(64)]):
        assert (row.verdict, row.status, row.headers, row.body) == (REPLAY, 201, HEADERS, b"paid")
        assert 0 < row.retention_left <= DAY


def test_each_item_of_a_mixed_batch_gets_its_own_answer(caller):
    done, running, lost = claim_of("done"), claim_of("running"), claim_of("lost")
    caller.completed(done)
    held = caller.leased(running)
    caller.settle(settle_of(lost, caller.leased(lost).token, ABANDON, why=2, why_status=500))
    told = caller.claims([claim_of("new"), claim_of("done"), claim_of("running"), running,
                        claim_of("lost"), claim_of("running", b"other"),
                        claim_of("done", print_method=b"none")])
    assert [row.verdict for row in told] == [RUN, REPLAY, BUSY, RUN, UNKNOWN, MISMATCH, REMAKE]
    assert told[3].token == held.token
    assert (told[4].why, told[4].why_status) == (2, 500)
    assert told[6].print_method == b"exact"


def test_an_answer_is_kept_byte_for_byte(caller):
    for size in (0, 1, 8_000, 1_048_576):
        claim, body = claim_of(f"k{size}"), os.urandom(size)
        caller.completed(claim, body=body, headers=[b"X", bytes(range(256))])
        told = caller.claim(claim_of(f"k{size}"))
        assert (told.body, told.headers) == (body, [b"X", bytes(range(256))])


def test_completed_without_an_answer_says_why(caller):
    caller.completed(claim_of("k"), status=None, headers=None, body=None, kept=2)
    told = caller.claim(claim_of("k"))
    assert (told.verdict, told.status, told.kept, told.body) == (REPLAY, None, 2, None)


def test_the_work_that_failed_is_run_again_after_its_pause(caller, clock):
    for pause in (1_000, 2_000, 4_000):
        claim = claim_of("k")
        caller.settle(settle_of(claim, caller.leased(claim).token, FAIL))
        told = caller.claim(claim_of("k"))
        assert (told.verdict, told.retry_after) == (BACKOFF, pause)
        clock.advance(pause)


def test_unknown_is_held_probed_or_run_again_by_policy(caller, clock):
    first = claim_of("k")
    token = caller.leased(first).token
    clock.advance(LEASE)
    held = caller.claim(claim_of("k", unknown=HOLD))
    assert (held.verdict, held.why, held.since, held.retry_after) == (UNKNOWN, 1, LEASE, 0)
    assert caller.find("k").observed == LOST
    young = caller.claim(claim_of("k", unknown=PROBE, probe_after=LEASE + 5))
    assert (young.verdict, young.retry_after) == (UNKNOWN, 5)
    asker = claim_of("k", unknown=PROBE)
    probe = caller.leased(asker)
    assert probe.probe and probe.token > token
    assert caller.stored("k")[0].claimed_at == clock.now - LEASE
    assert caller.find("k").observed == PROBING and caller.find("k").earlier_unknown
    assert caller.claim(claim_of("k", unknown=PROBE)).verdict == BUSY
    assert caller.settle(settle_of(first, token)).outcome == STALE
    assert caller.extend(extend_of(asker, probe.token, dispatch=True)).extended
    assert not caller.find("k").earlier_unknown
    clock.advance(LEASE)
    again = claim_of("k", unknown=RERUN)
    rerun = caller.leased(again)
    assert (rerun.attempt, rerun.probe) == (3, False)
    # What this lease did not do, an earlier one may have done.
    caller.settle(settle_of(again, rerun.token, RELEASE))
    assert caller.find("k").observed == LOST


def test_released_is_free_but_not_for_its_own_claim(caller):
    claim = claim_of("k")
    told = caller.leased(claim)
    assert caller.settle(settle_of(claim, told.token, RELEASE)).outcome == DONE
    assert caller.settle(settle_of(claim, told.token, RELEASE)).outcome == DONE
    assert caller.find("k").print == bytes(32)
    assert caller.claim(claim).verdict == REFUSED
    other = caller.leased(claim_of("k", b"other"))
    assert other.attempt == 2 and other.token > told.token


def test_a_claim_id_alone_releases_and_refuses_what_comes_after(caller):
    claim = claim_of("k")
    caller.settle(settle_of(claim, 0, RELEASE))
    assert caller.claim(claim).verdict == REFUSED
    running = claim_of("other")
    caller.leased(running)
    assert caller.settle(settle_of(claim_of("other"), 0, RELEASE)).outcome == DONE
    assert caller.find("other").state == IN_PROGRESS
    caller.settle(settle_of(running, 0, RELEASE))
    assert caller.find("other").state == RELEASED


def test_a_complete_without_its_record_is_an_incident(caller):
    claim = claim_of("k")
    assert caller.settle(without_subject(settle_of(claim, 7))).problem == NO_SUBJECT
    assert caller.settle(settle_of(claim, 7)).outcome == INCIDENT
    assert caller.find("k").incident and caller.claim(claim_of("k")).verdict == REPLAY
    released = claim_of("released")
    token = caller.leased(released).token
    caller.settle(settle_of(released, token, RELEASE))
    assert caller.settle(settle_of(released, token)).outcome == INCIDENT
    assert caller.find("released").observed == COMPLETED


def test_a_subject_is_not_needed_where_the_record_stands(caller):
    claim = claim_of("k")
    token = caller.leased(claim).token
    assert caller.settle(without_subject(settle_of(claim, token))).outcome == DONE
    assert caller.find("k").key == b"k"


def test_only_token_and_nonce_together_are_the_holder(caller):
    claim = claim_of("k")
    token = caller.leased(claim).token
    other = claim_of("k")
    for wrong in (settle_of(claim, token + 1), settle_of(other, token)):
        assert caller.settle(wrong).outcome == STALE
    for wrong in (extend_of(claim, token + 1), extend_of(other, token)):
        assert not caller.extend(wrong).extended
    caller.settle(settle_of(claim, token))
    told = caller.settle(settle_of(other, token))
    assert (told.outcome, told.state, told.body) == (STALE, COMPLETED, b"paid")


def test_a_repeated_settle_is_done_and_writes_nothing(caller):
    for kind in (COMPLETE, FAIL, RELEASE):
        claim = claim_of(f"k{kind}")
        settle = settle_of(claim, caller.leased(claim).token, kind)
        assert caller.settle(settle).outcome == DONE
        before = caller.stored(claim.key.decode())
        assert caller.settle(settle).outcome == DONE
        assert caller.stored(claim.key.decode()) == before


def test_duplicates_write_nothing_and_take_no_number(caller):
    caller.completed(claim_of("done"))
    caller.leased(claim_of("running"))
    before = caller.row("SELECT * FROM onceguard.vitals()")
    with caller.on.transaction():
        told = caller.claims([claim_of("done"), claim_of("running")])
        assert [row.verdict for row in told] == [REPLAY, BUSY]
        assert caller.claim(claim_of("done", b"other")).verdict == MISMATCH
        assert caller.value("SELECT pg_current_xact_id_if_assigned()") is None
        assert caller.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    assert caller.row("SELECT * FROM onceguard.vitals()").generation == before.generation


def test_an_unreadable_record_is_an_error_and_stays(caller):
    spoil = {"checksum": "body = 'x'", "format": "format = 2"}
    for key, change in spoil.items():
        claim = claim_of(key)
        token = caller.leased(claim).token
        if key == "checksum":
            caller.settle(settle_of(claim, token))
        caller.rows(f"UPDATE onceguard.records SET {change}, expires_at = 1 WHERE digest = %s",
                  [digest_of(key)])
        before = caller.stored(key)
        neighbour = claim_of(f"beside {key}")
        told = caller.claims([claim_of(key), neighbour])
        assert (told[0].problem, told[0].verdict) == (UNREADABLE, None)
        assert told[1].verdict == RUN
        settled = caller.settles([settle_of(claim, token), settle_of(neighbour, told[1].token)])
        assert (settled[0].problem, settled[1].outcome) == (UNREADABLE, DONE)
        assert caller.extend(extend_of(claim, token)).problem == UNREADABLE
        assert caller.find(key).problem == UNREADABLE
        resolve = "SELECT * FROM onceguard.resolve(%s, true, null, null, null, %s, 1000, false)"
        assert caller.row(resolve, [digest_of(key), False]).problem == UNREADABLE
        assert caller.sweep() == 0
        assert caller.stored(key) == before
        # Only who says that they know better ends it.
        assert caller.row(resolve, [digest_of(key), True]).outcome == DONE
        assert not caller.find(key).problem


def test_every_write_leaves_a_checksum_that_fits(caller, clock):
    claims = [claim_of(f"k{i}", into_started=i == 1, unknown_retention=i) for i in range(6)]
    tokens = [row.token for row in caller.claims(claims)]
    caller.settles([settle_of(claims[i], tokens[i], i) for i in range(4)])
    caller.extends([extend_of(claims[4], tokens[4], dispatch=True)])
    clock.advance(LEASE)
    caller.claims([claim_of(f"k{i}", unknown=RERUN) for i in range(6)])
    unfit = caller.rows("SELECT * FROM onceguard.records r WHERE NOT onceguard.readable(r)")
    assert unfit == [] and caller.value("SELECT count(*) FROM onceguard.records") == 6


def test_an_empty_batch_is_answered(caller):
    assert caller.rows("SELECT * FROM onceguard.claim_batch('{}', false)") == []
    assert caller.rows("SELECT * FROM onceguard.settle_batch('{}', false)") == []
    assert caller.rows("SELECT * FROM onceguard.extend_batch('{}')") == []
