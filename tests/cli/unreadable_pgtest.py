"""A row of a shape that no Onceguard writes counts as unreadable, and stops nobody."""

import json

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

# What a superuser may take away, and then write.
UNGUARDED = """
ALTER DOMAIN onceguard.digest DROP CONSTRAINT digest_check;
ALTER DOMAIN onceguard.claim_id DROP CONSTRAINT claim_id_check;
ALTER DOMAIN onceguard.sealed_subject DROP CONSTRAINT sealed_subject_check;
ALTER DOMAIN onceguard.sealed_outcome DROP CONSTRAINT sealed_outcome_check;
"""
ROW = ("INSERT INTO onceguard.records (token, deadline_at, expires_at, state, digest, claim_id, "
       "subject, outcome) VALUES (%s, 1, %s, %s, %s, %s, %s, %s)")
NEVER, LONG_AGO = 0, 1
ODD = {
    "nothing in it": (1, NEVER, "in_progress", b"", b"", b"", None),
    "a short digest": (2, LONG_AGO, "completed", b"short", bytes(16), b"\x01s" + bytes(90), b""),
    "a long digest": (3, LONG_AGO, "failed", bytes(90), bytes(15), b"x" * 100, b"x" * 20),
    "heads alone": (4, LONG_AGO, "completed", bytes(32), bytes(16), b"\x01s", b"\x01o"),
    "heads and no seal": (5, LONG_AGO, "completed", b"1" * 32, bytes(16), b"\x01s123", b"\x01o12"),
    "another version": (6, NEVER, "started", b"2" * 32, bytes(16), b"\x02s" + bytes(98), None),
    "a token of nobody": (0, LONG_AGO, "released", b"3" * 32, bytes(16), bytes(100), None),
    "far in the future": (2 ** 63 - 1, 2 ** 63 - 1, "completed", b"4" * 32, bytes(16),
                          b"\x01s" + b"\xff" * 98, b"\x01o\xff" + b"\xff" * 20),
}


@pytest.fixture
def gateway(start_gateway, own_upstream, postgres_server, database):
    return start_gateway(own_upstream, {
        "store": {"url": postgres_server.url(database), "timeout": "10s"},
        "gateway": {"replay_cache": "0"},
        "defaults": {"lease": "8s", "upstream_timeout": "4s"},
        "reconcile": {"query": "SELECT 200 WHERE $1 <> '' AND $2 <> ''", "absent": "none"}})


def ended_well(gateway, *words):
    done = gateway.command(*words)
    assert done.returncode == 0, done
    return done.stdout


def test_odd_rows_stop_neither_lists_nor_exports_nor_reconciliation_nor_the_sweep(
        gateway, admin, fresh_key):
    done, lost, gone = fresh_key(), fresh_key(), fresh_key()
    first = assert_first(gateway.post(key=done))
    assert_first(gateway.post(key=gone))
    assert gateway.post(key=lost, plan={"status": 500}).status == 500
    admin.execute(UNGUARDED)
    for row in ODD.values():
        admin.execute(ROW, row)
    admin.execute("UPDATE onceguard.records r SET expires_at = 1 FROM onceguard.keys k "
                  "WHERE k.key = %s AND encode(r.digest, 'hex') = k.record", [gone])

    counts = json.loads(ended_well(gateway, "stats", "--json"))
    assert (counts["completed"], counts["unknown"], counts["unreadable"]) == (1, 1, len(ODD))
    listed = gateway.command("keys", "list", "--json")
    assert listed.returncode in (0, 1)
    assert {done, lost} <= {json.loads(line).get("key") for line in listed.stdout.splitlines()
                            if line.startswith("{")}
    refused = gateway.command("keys", "export", str(gateway.folder / "all"))
    assert refused.returncode != 0 and f"{len(ODD)} records can't be read" in refused.stderr
    ended_well(gateway, "keys", "export", "--force", str(gateway.folder / "all"))
    assert (gateway.folder / "all").read_text().count('"record"') == 2
    reconciled = gateway.command("reconcile", "--config", str(gateway.config_path))
    wait_until(lambda: gateway.command("reconcile", "--config", str(gateway.config_path))
               and state_of(admin, lost) == "completed", 20, f"reconciliation: {reconciled}")
    before = unreadable(admin)
    ended_well(gateway, "sweep")
    assert unreadable(admin) == before and len(before) == len(ODD)
    assert state_of(admin, gone) is None
    assert_replay_of(gateway.post(key=done), first)
    seen = admin.execute("SELECT * FROM onceguard.keys WHERE state = 'unreadable'").fetchall()
    assert len(seen) > 0


def state_of(admin, key):
    row = admin.execute("SELECT state FROM onceguard.keys WHERE key = %s", [key]).fetchone()
    return row and row[0]


def unreadable(admin):
    return admin.execute("SELECT r::text FROM onceguard.records r WHERE NOT onceguard.readable(r) "
                         "ORDER BY r.digest").fetchall()


@pytest.mark.parametrize("damage", [
    "subject = set_byte(subject, 60, get_byte(subject, 60) # 1)",
    "outcome = set_byte(outcome, 20, get_byte(outcome, 20) # 1)",
    "subject = set_byte(subject, 0, 2)", "claim_id = sha256(claim_id)::bytea",
    "outcome = (SELECT o.outcome FROM onceguard.records o WHERE o.digest <> r.digest)",
], ids=["a bit of the subject", "a bit of the outcome", "a later format", "another claim id",
        "the outcome of another key"])
def test_a_damaged_record_is_an_error_for_its_key_alone(gateway, admin, own_upstream, fresh_key,
                                                        damage):
    key, other = fresh_key(), fresh_key()
    answers = {each: assert_first(gateway.post(key=each, plan={"body": each}))
               for each in (key, other)}
    damage = damage.replace("sha256(claim_id)::bytea", "substr(sha256(claim_id), 1, 16)")
    admin.execute(f"UPDATE onceguard.records r SET {damage} FROM onceguard.keys k "
                  "WHERE k.key = %s AND encode(r.digest, 'hex') = k.record", [key])
    rows = unreadable(admin)
    assert len(rows) == 1
    for _ in range(2):
        assert_problem(gateway.post(key=key), 500, "record-unreadable", False)
    assert_replay_of(gateway.post(key=other), answers[other])
    assert own_upstream.runs(key) == 1 and unreadable(admin) == rows
