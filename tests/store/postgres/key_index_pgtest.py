"""The index by key that an operator may have: it finds what a pass through all records finds."""

import hashlib
import json
import subprocess
from urllib.parse import quote

import pytest

from support import filled
from support.admin import Admin
from support.gateway import clean_environment
from support.waiting import wait_until

ROW = ("INSERT INTO onceguard.records (token, deadline_at, expires_at, state, digest, claim_id, "
       "subject) SELECT onceguard.now_ms() * 1000 + %(number)s, onceguard.now_ms(), 0, 'failed', "
       "%(digest)s, %(claim)s, %(subject)s::bytea || onceguard.seal(%(digest)s, %(claim)s, "
       "%(subject)s)")
KINDS = ["none", "h" * 48, "h" * 127, "h" * 128, "h" * 130]
KEYS = ["k", "k1", "x' OR 1", "ä" * 20,
        *("k" * (size - 1) + end for size in (47, 48, 61, 62, 63, 64, 65, 127, 128, 200, 255)
          for end in "kl")]  # each two are alike as far as the index knows


def text(content):
    low, high = len(content) & 127, len(content) >> 7
    return (bytes([low | 128, high]) if high else bytes([low])) + content


def insert(connection, number, kind, key):
    scope = hashlib.sha256(kind.encode()).digest()
    subject = b"".join((b"\x01s", scope, text(kind.encode()), text(key.encode()), text(b"POST"),
                        text(b"/"), text(b"/"), text(b"exact"), bytes(32), bytes(8)))
    connection.execute(ROW, {"number": number, "digest": filled.record_id(scope, key.encode()),
                     "claim": bytes(16), "subject": subject})


@pytest.fixture
def run(onceguard, postgres_server, database):
    def command(*words, code=0):
        done = subprocess.run(
            [onceguard, *words, "--store", postgres_server.url(database)], capture_output=True,
            text=True, timeout=120, env=clean_environment(), check=False)
        assert done.returncode == code, done
        return done.stdout + done.stderr
    return command


def valid(admin):
    return admin.execute("SELECT bool_and(indisvalid) FROM pg_index WHERE indexrelid = "
                         "to_regclass('onceguard.records_by_key')").fetchone()[0]


def kinds_of(run, key):
    lines = run("keys", "list", "--key", key, "--json").splitlines()
    found = [json.loads(line) for line in lines]
    assert {one["key"] for one in found} <= {key}
    return sorted(one["scope_kind"] for one in found)


def test_keys_of_every_length_are_found_in_every_scope(run, admin):
    keys = KEYS
    for number, key in enumerate(keys[::2]):
        for kind in KINDS:
            insert(admin, number, kind, key)
    run("keys", "index")
    for number, key in enumerate(keys[1::2]):
        for kind in KINDS:
            insert(admin, number, kind, key)
    for key in keys:
        assert kinds_of(run, key) == sorted(KINDS), key
    assert kinds_of(run, "nobody") == []
    run("keys", "index", "--drop")
    assert valid(admin) is None
    assert all(kinds_of(run, key) == sorted(KINDS) for key in keys[:6])


def test_a_list_by_key_goes_on_page_by_page(start_gateway, own_upstream, postgres_server, database,
                                            run, admin):
    for number in range(25):
        insert(admin, number, f"kind-{number:02}", "shared")
    run("keys", "index")
    listener = Admin()
    try:
        start_gateway(own_upstream, {"store": {"url": postgres_server.url(database)},
                                     "gateway": {"admin": listener.text}})
        found = listener.records("key=shared&limit=7")
        assert sorted(one["scope_kind"] for one in found) == [f"kind-{i:02}" for i in range(25)]
        assert listener.get("/api/records?key=shared&cursor=xyz").status == 400
    finally:
        listener.close()


@pytest.mark.parametrize("again", [False, True])
def test_a_list_goes_on_when_its_index_is_gone(start_gateway, own_upstream, postgres_server,
                                               database, run, admin, again):
    for number in range(25):
        insert(admin, number, f"kind-{number:02}", "shared")
    run("keys", "index")
    listener = Admin()
    try:
        start_gateway(own_upstream, {"store": {"url": postgres_server.url(database)},
                                     "gateway": {"admin": listener.text}})
        first = listener.get("/api/records?key=shared&limit=7").json()
        run("keys", "index", "--drop")
        second = listener.get(f"/api/records?key=shared&limit=7&cursor={quote(first['cursor'])}")
        assert second.status == 200, second.body
        if again:
            run("keys", "index")
        found = [*first["records"], *second.json()["records"]]
        cursor = second.json().get("cursor")
        while cursor:
            page = listener.get(f"/api/records?key=shared&limit=7&cursor={quote(cursor)}").json()
            found += page["records"]
            cursor = page.get("cursor")
        assert sorted(one["scope_kind"] for one in found) == [f"kind-{i:02}" for i in range(25)]
        for wrong in ("xyz+1.1.00", "00+xyz"):
            listed = listener.get(f"/api/records?key=shared&cursor={quote(wrong)}")
            assert listed.status == 400, listed.body
    finally:
        listener.close()


def test_an_index_of_an_earlier_version_is_made_anew(run, admin):
    insert(admin, 1, "none", "k")
    admin.execute("CREATE INDEX records_by_key ON onceguard.records (substr(subject, 36, 64))")
    assert kinds_of(run, "k") == ["none"]
    run("keys", "index")
    columns = admin.execute("SELECT indnkeyatts FROM pg_index WHERE indexrelid = "
                            "'onceguard.records_by_key'::regclass").fetchone()
    assert columns == (2,)
    assert kinds_of(run, "k") == ["none"]


def test_an_index_that_was_not_finished_is_made_anew(run, admin):
    insert(admin, 1, "none", "k")
    run("keys", "index")
    admin.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = "
                  "'onceguard.records_by_key'::regclass")
    assert kinds_of(run, "k") == ["none"]
    run("keys", "index")
    assert valid(admin) is True
    before = admin.execute("SELECT 'onceguard.records_by_key'::regclass::oid").fetchone()
    run("keys", "index")
    assert admin.execute("SELECT 'onceguard.records_by_key'::regclass::oid").fetchone() == before


def test_rows_that_no_onceguard_wrote_are_no_obstacle(run, admin):
    admin.execute("ALTER DOMAIN onceguard.sealed_subject DROP CONSTRAINT sealed_subject_check")
    odd = "INSERT INTO onceguard.records VALUES (1, 1, 0, 'failed', %s, %s, %s)"
    subjects = [b"", b"\x01s", bytes(87), b"\xff" * 88, b"\x01s" + bytes(32) + b"\x2f" * 100,
                b"\x01s" + bytes(32) + b"\x7f" * 60]
    for number, subject in enumerate(subjects[:3]):
        admin.execute(odd, [bytes([number]) * 32, bytes(16), subject])
    insert(admin, 1, "none", "k")
    run("keys", "index")
    for number, subject in enumerate(subjects[3:], 3):
        admin.execute(odd, [bytes([number]) * 32, bytes(16), subject])
    assert "none" in run("keys", "show", "k")


def test_a_gateway_writes_it_without_another_right_and_settles_stay_hot(
        start_gateway, own_upstream, postgres_server, database, run, admin, fresh_key):
    run("keys", "index")
    admin.execute("CREATE ROLE limited_gateway LOGIN IN ROLE onceguard_gateway")
    try:
        gateway = start_gateway(own_upstream, {
            "store": {"url": postgres_server.url(database, "limited_gateway")}})
        keys = [fresh_key() for _ in range(20)]
        for key in keys:
            assert gateway.post(key=key).status == 201
        assert gateway.keys("--key", keys[7])[0]["key"] == keys[7]
        gateway.stop()
        counts = ("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables "
                  "WHERE relname = 'records'")
        wait_until(lambda: admin.execute(counts).fetchone() == (20, 20), 20, "20 HOT updates")
        refused = subprocess.run(
            [gateway.binary, "keys", "index", "--drop", "--store",
             postgres_server.url(database, "limited_gateway")], capture_output=True, text=True,
            env=clean_environment(), check=False)
        assert refused.returncode == 4 and "must be owner" in refused.stderr, refused
    finally:
        admin.execute("DROP ROLE limited_gateway")
