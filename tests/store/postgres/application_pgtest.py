"""The functions for applications: what each state of a key answers, and what they refuse."""

import os
from datetime import timedelta

import psycopg
import pytest

from store.postgres.acts import DAY, HOUR, LEASE, Desk, failure, milliseconds

HEADERS = ["Link", "<a>", "Content-Type", "text/plain", "Link", "<b>"]


def test_a_first_claim_runs_and_a_repeat_gets_its_answer(caller):
    reply = caller.claim("k")
    assert (reply.verdict, reply.attempt) == ("run", 1) and reply.token > 0
    caller.settle("complete", reply.lease, 201, HEADERS, b"paid")
    again = caller.claim("k")
    assert (again.verdict, again.status, again.headers, again.body, again.lease) == \
        ("replay", 201, HEADERS, b"paid", None)


def test_each_state_has_its_verdict(caller, clock):
    caller.completed("done", 200)
    caller.leased("running")
    caller.settle("abandon", caller.leased("lost"))
    caller.settle("fail", caller.leased("failed"))
    caller.settle("release", caller.leased("free"))
    verdicts = {key: caller.claim(key).verdict
                for key in ("done", "running", "lost", "failed", "free", "new")}
    assert verdicts == {"done": "replay", "running": "busy", "lost": "unknown",
                        "failed": "backoff", "free": "run", "new": "run"}
    other = {key: caller.claim(key, fingerprint=b"other").verdict
             for key in ("done", "running", "lost", "failed")}
    assert set(other.values()) == {"mismatch"}
    clock.advance(LEASE)
    assert caller.find("running").state == "unknown"


def test_an_answer_is_kept_byte_for_byte(caller):
    for size in (0, 1, 8_000, 1_048_576):
        body = os.urandom(size)
        caller.completed(f"k{size}", 201, HEADERS, body)
        assert caller.claim(f"k{size}").body == body
    lease = caller.leased("bytes")
    headers = [b"X", bytes(range(256))]
    caller.rows("SELECT onceguard.complete_now(%s, 201, %s, '', NULL)", [lease, headers])
    kept = caller.row("SELECT o.headers FROM onceguard.records r, "
                      "onceguard.read_outcome(r.outcome) o WHERE r.digest = %s",
                      [caller.digest("bytes")])
    assert kept.headers == headers


def test_a_completion_without_an_answer_is_replayed_without_one(caller):
    caller.completed("k")
    reply = caller.claim("k")
    assert (reply.verdict, reply.status, reply.headers, reply.body) == ("replay", None, None, None)


def test_the_work_that_failed_is_run_again_after_its_pause(caller, clock):
    for pause in (1_000, 2_000, 4_000):
        caller.settle("fail", caller.leased("k"))
        reply = caller.claim("k")
        assert (reply.verdict, milliseconds(reply.retry_after)) == ("backoff", pause)
        clock.advance(pause)


def test_unknown_is_held_or_run_again_and_stays_a_doubt(caller, clock):
    first = caller.leased("k")
    clock.advance(LEASE)
    assert caller.claim("k").verdict == "unknown"
    reply = caller.claim("k", unknown="rerun")
    assert (reply.verdict, reply.attempt) == ("run", 2)
    assert failure(caller.settle, "complete", first) == "OG001"
    # What this lease did not do, an earlier one may have done.
    caller.settle("release", reply.lease)
    assert caller.find("k").state == "unknown"


def test_released_is_free_but_not_for_its_own_claim(caller):
    own = os.urandom(16)
    reply = caller.claim("k", claim_id=own)
    for _ in range(2):
        caller.settle("release", reply.lease)
    assert caller.claim("k", claim_id=own).verdict == "refused"
    other = caller.claim("k", fingerprint=b"other")
    assert (other.verdict, other.attempt) == ("run", 2) and other.token > reply.token


def test_the_repeat_of_a_claim_whose_reply_was_lost_gets_its_lease(caller):
    own = os.urandom(16)
    assert caller.claim("k", claim_id=own).lease == caller.claim("k", claim_id=own).lease


def test_only_token_and_claim_id_together_are_the_holder(caller):
    lease = caller.leased("k")
    for wrong in (lease[:84] + ("0" if lease[84] != "0" else "1") + lease[85:],
                  lease[:-1] + ("0" if lease[-1] != "0" else "1")):
        for kind in ("complete", "fail", "release", "abandon"):
            assert failure(caller.settle, kind, wrong) == "OG001"
    assert caller.find("k").state == "in_progress"
    for none in ("", "OG1-", lease + "0", lease.upper(), None):
        assert failure(caller.settle, "complete", none) == "22023"


def test_a_second_completion_counts_within_its_own_transaction_only(caller):
    lease = caller.leased("k")
    with caller.connection.transaction():
        caller.settle("complete", lease, 201, None, b"first")
        caller.settle("complete", lease, 500, None, b"second")
    before = caller.stored("k")
    assert failure(caller.settle, "complete", lease, 500) == "OG001"
    assert failure(caller.settle, "fail", lease) == "OG001"
    assert failure(caller.settle, "release", lease) == "OG001"
    assert caller.stored("k") == before and caller.claim("k").body == b"first"


def test_duplicates_write_nothing(caller):
    caller.completed("done", 200)
    caller.leased("running")
    with caller.connection.transaction():
        assert caller.claim("done").verdict == "replay"
        assert caller.claim("running").verdict == "busy"
        assert caller.claim("done", fingerprint=b"other").verdict == "mismatch"
        assert caller.value("SELECT pg_current_xact_id_if_assigned()") is None


def test_every_write_leaves_a_seal_that_fits(caller, clock):
    for key in ("a", "b", "c", "d", "e"):
        lease = caller.leased(key)
        if key < "d":
            caller.settle({"a": "fail", "b": "release", "c": "abandon"}[key], lease)
        elif key == "d":
            caller.settle("save_progress", lease, "first", b"done")
    clock.advance(LEASE)
    for key in ("a", "b", "c", "d", "e"):
        caller.completed(key, 201, HEADERS, b"paid") if key < "c" else \
            caller.settle("complete", caller.leased(key, unknown="rerun"), 204)
    assert caller.value("SELECT bool_and(onceguard.readable(r)) FROM onceguard.records r")
    assert caller.value("SELECT count(*) FROM onceguard.keys WHERE state = 'completed'") == 5


# ---- what an application can't do -----------------------------------------------------------
@pytest.fixture
def application(caller, connect, database):
    """A service that was granted `onceguard_app` and nothing else."""
    caller.rows("DO $$ BEGIN IF to_regrole('a_service') IS NULL THEN "
                "CREATE ROLE a_service LOGIN IN ROLE onceguard_app; END IF; END $$")
    return Desk(connect(database, user="a_service"))


@pytest.mark.parametrize("kind", ["credential", "header:x-tenant", "jwt:sub", "none", "", None,
                                  "applications", "application" + "x" * 250])
def test_no_key_of_a_gateways_client_can_be_claimed(application, kind):
    assert failure(application.claim, "k", scope_kind=kind) == "22023"
    raw = "SELECT * FROM onceguard.claim_now(%s, 's', 'k', %s, %s, 1000, 1000, false, false)"
    assert failure(application.row, raw,
                   [kind.encode() if kind is not None else None, bytes(32), bytes(16)]) == "22023"
    assert application.claim("k", scope_kind="application:billing").verdict == "run"


def test_an_application_writes_by_functions_alone(application, caller):
    caller.leased("k")
    for sql in ("SELECT * FROM onceguard.records", "DELETE FROM onceguard.records",
                "UPDATE onceguard.records SET expires_at = 0", "SELECT * FROM onceguard.keys",
                "INSERT INTO onceguard.must_settle VALUES ('', 0, '')"):
        assert failure(application.rows, sql) == "42501"
    application.completed("mine", 200)
    assert application.claim("mine").verdict == "replay"


def test_a_length_of_time_is_of_100_years_at_most_and_none_wraps(application):
    longest, longer = timedelta(days=36525), timedelta(days=36525, milliseconds=1)
    for wrong in (longer, timedelta(milliseconds=-1), None):
        assert failure(application.claim, "k", lease_length=wrong) == "22023"
        assert failure(application.claim, "k", retention=wrong) == "22023"
    lease = application.leased("k", lease_length=longest, retention=longest)
    for wrong in (longer, None):
        assert failure(application.settle, "fail", lease, wrong, longest) == "22023"
        assert failure(application.settle, "fail", lease, longest, wrong) == "22023"
        assert failure(application.settle, "save_progress", lease, "one", b"", wrong) == "22023"
    application.settle("save_progress", lease, "one", b"", longest)
    assert milliseconds(application.claim("k").retry_after) > 36_000 * DAY
    application.settle("fail", lease, longest, longest)
    assert milliseconds(application.claim("k").retry_after) > 36_000 * DAY


def test_a_long_back_off_that_doubles_does_not_wrap(application):
    longest, pause = timedelta(days=36525), timedelta(0)
    for _ in range(3):
        lease = application.leased("k")
        application.settle("fail", lease, pause, longest)
    lease = application.leased("k")
    application.settle("fail", lease, timedelta(days=20_000), longest)
    assert milliseconds(application.claim("k").retry_after) > 36_000 * DAY


@pytest.mark.parametrize("key", ["", "x" * 256, None])
def test_a_key_has_1_to_255_bytes(application, key):
    assert failure(application.claim, key) == "22023"
    assert application.claim("x" * 255).verdict == "run"


# ---- how long an answer is kept -------------------------------------------------------------
def kept(caller, key):
    row = caller.find(key)
    return row.expires_at - row.settled_at


def test_an_answer_is_kept_as_the_claim_says_unless_the_completion_says_otherwise(caller):
    week = timedelta(days=7)
    caller.completed("a day")
    caller.settle("complete", caller.leased("a week", retention=week), 201)
    caller.settle("fail", caller.leased("failed", retention=week))
    caller.settle("complete", caller.leased("an hour", retention=week), 201, None, None,
                  timedelta(hours=1))
    assert [kept(caller, key) for key in ("a day", "a week", "failed", "an hour")] == \
        [timedelta(days=1), week, week, timedelta(hours=1)]


def test_what_outlived_its_retention_is_new_again(caller, clock):
    caller.completed("k", 201)
    clock.advance(DAY - 1)
    assert caller.claim("k", fingerprint=b"other").verdict == "mismatch"
    clock.advance(1)
    reply = caller.claim("k", fingerprint=b"other")
    assert (reply.verdict, reply.attempt) == ("run", 1)


def test_what_has_not_ended_is_never_swept(caller, clock):
    caller.leased("running")
    caller.settle("abandon", caller.leased("lost"))
    caller.completed("done", 200)
    caller.settle("release", caller.leased("free"))
    clock.advance(HOUR)
    assert caller.sweep() == 1 and caller.stored("free") == []
    clock.advance(400 * DAY)
    assert caller.sweep(paused=True) == 0
    assert caller.sweep() == 1 and caller.stored("done") == []
    assert [caller.claim(key).verdict for key in ("running", "lost")] == ["unknown"] * 2


def test_work_in_steps_goes_on_behind_its_last_one(caller, clock):
    lease = caller.leased("k")
    caller.settle("save_progress", lease, "reserve", b"seat 4")
    clock.advance(LEASE)
    reply = caller.claim("k", unknown="rerun")
    assert (reply.step, reply.progress) == ("reserve", b"seat 4")
    caller.settle("complete", reply.lease, 201)
    assert caller.stored("k")[0].progress is None


def test_a_failed_statement_says_why(caller):
    with pytest.raises(psycopg.Error, match="status from 200 to 999"):
        caller.settle("complete", caller.leased("k"), 99)
    with pytest.raises(psycopg.Error, match="names and values in turn"):
        caller.settle("complete", caller.leased("k2"), 200, ["a"])


@pytest.mark.parametrize("headers", [["X-A", "a\r\nSet-Cookie: b"], ["X-A: b", "c"], ["", "a"],
                                     ["X-A", "\x01"], ["X-A", "\x7f"], ["Content-Length", "5"],
                                     ["transfer-encoding", "chunked"], ["Connection", "close"]])
def test_headers_that_no_answer_can_have_are_refused(connect, database, headers):
    with connect(database) as session:
        lease = session.execute("SELECT lease FROM onceguard.claim('s', 'k')").fetchone()[0]
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            session.execute("SELECT onceguard.complete(%s, 200, %s)", [lease, headers])
        session.execute("SELECT onceguard.complete(%s, 200, %s)", [lease, ["X-A", "a\tb"]])


@pytest.mark.parametrize("status", [100, 101, 199, 1000])
def test_a_status_that_no_final_answer_has_is_refused(connect, database, status):
    with connect(database) as session:
        lease = session.execute("SELECT lease FROM onceguard.claim('s', 'k')").fetchone()[0]
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            session.execute("SELECT onceguard.complete(%s, %s)", [lease, status])
