"""A key under two scopes among many records, on PostgreSQL; dead rows of an outbox, by the admin
API, by the commands and in the page."""

import json
import signal

import pytest

from page.conftest import HOSTILE_ID
from page.worker_acts_test import strangers_among_many
from relay.relay_pgtest import relay, shop  # noqa: F401  pylint: disable=unused-import
from support.admin import Admin
from support.waiting import wait_until

VIEWER = "viewer-token-00002"
PATH = "/api/workers/orders/rows"


def test_a_key_under_two_scopes_is_found_among_many(begin_page, act_out, postgres_server,
                                                    database):
    strangers_among_many(begin_page, act_out, store={"url": postgres_server.url(database)})


@pytest.fixture
def dead(shop, relay, own_upstream, tmp_path):  # noqa: F811
    """A relay with two dead rows; it, its listener."""
    admin = Admin("operator-token-0001")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"operator operator-token-0001 alice\nviewer {VIEWER} bob\n")
    tokens.chmod(0o600)
    own_upstream.plan("/", {"status": 422})
    shop.publish(("again", "ada", b"first"), (HOSTILE_ID, None, b"second"))
    running = relay(own_upstream.url, attempts=1, gateway={
        "admin": admin.text, "admin_token_file": str(tokens),
        "audit_log": str(tmp_path / "audit")})
    wait_until(lambda: len(running.events("relay-dead")) == 2, 30, "their end")
    wait_until(lambda: b'onceguard_outbox_dead{relay="orders"} 2' in admin.get("/metrics").body,
               60, "the rows to be counted")
    own_upstream.plan("/", {"status": 204})
    yield running, admin
    admin.close()


def rows_of(admin, **how):
    answer = admin.get(PATH, **how)
    assert answer.status == 200, answer.body
    return {one["message_id"]: one for one in answer.json()["rows"]}


def wanted(*rows):
    return [{name: one[name] for name in ("row", "seen")} for one in rows]


def audited(tmp_path):
    path = tmp_path / "audit"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(one["stage"], one["action"], one["who"], one["key"], one["why"])
            for one in map(json.loads, lines)]


def test_dead_rows_by_the_admin_api(dead, shop, own_upstream, tmp_path):  # noqa: F811
    _, admin = dead
    seen = rows_of(admin, token=VIEWER)
    again, hostile = seen["again"], seen[HOSTILE_ID]
    assert (again["failures"], again["reason"], again["order_key"], again["payload_size"]) == (
        1, "the endpoint answered 422", "ada", 5)
    both = wanted(again, hostile)
    for body, status in (({"rows": both}, 422), ({"reason": "x", "rows": []}, 422),
                         ({"reason": "x", "rows": [{}]}, 422),
                         ({"reason": " ", "rows": both}, 422)):
        assert admin.post(f"{PATH}/retry", body).status == status
    whole = {"reason": "mended", "rows": both}
    assert admin.post("/api/workers/other/rows/retry", whole).status == 404
    assert admin.post(f"{PATH}/drop", whole, token=VIEWER).status == 403
    dry = admin.post(f"{PATH}/drop", whole).json()
    assert dry["dry_run"] and [one["outcome"] for one in dry["rows"]] == ["done", "done"]
    changed = [{**both[0], "seen": str(int(both[0]["seen"]) + 1)}, {"row": "9999", "seen": "1"},
               {"row": "x", "seen": "1"}]
    kept = admin.post(f"{PATH}/drop", {"reason": "x", "rows": changed, "dry_run": False}).json()
    assert [one["outcome"] for one in kept["rows"]] == ["changed", "not_found", "not_found"]
    assert len(rows_of(admin)) == 2 and audited(tmp_path) == []
    done = admin.post(f"{PATH}/retry", {**whole, "rows": both[:1], "dry_run": False}).json()
    assert [one["outcome"] for one in done["rows"]] == ["done"], done
    wait_until(lambda: own_upstream.runs("again") == 2, 30, "the row on its way")
    gone = admin.post(f"{PATH}/drop", {**whole, "rows": both[1:], "dry_run": False}).json()
    assert [one["outcome"] for one in gone["rows"]] == ["done"]
    wait_until(shop.is_empty, 30, "an empty outbox")
    assert len(own_upstream.requests()) == 3 and rows_of(admin) == {}
    assert audited(tmp_path) == [
        (stage, act, "alice", key, "mended")
        for act, key in (("retry", "again"), ("drop", HOSTILE_ID))
        for stage in ("intended", "done")]


def test_a_row_that_a_consumer_holds_stays(dead, shop):  # noqa: F811
    _, admin = dead
    shop.connection.execute("UPDATE events SET held_by = 'x', visible_at = now() + '1 hour'"
                            " WHERE message_id = 'again'")
    body = {"reason": "x", "rows": wanted(rows_of(admin)["again"]), "dry_run": False}
    for act in ("retry", "drop"):
        (one,) = admin.post(f"{PATH}/{act}", body).json()["rows"]
        assert one["outcome"] == "changed", one
    assert len(rows_of(admin)) == 2


def test_dead_rows_by_the_commands(dead, shop, own_upstream, tmp_path):  # noqa: F811
    running, _ = dead
    listed = running.command("outbox", "list", "--json")
    assert listed.returncode == 0, listed
    assert [json.loads(line)["message_id"] for line in listed.stdout.splitlines()] == [
        "again", HOSTILE_ID]
    assert 'refused 1 times  ("the endpoint answered 422")' in running.command(
        "outbox", "list").stdout
    assert running.command("outbox", "retry").returncode == 2
    assert running.command("outbox", "drop", "nobody", "--reason", "x").returncode == 5
    shown = running.command("outbox", "drop", "--all", "--reason", "x")
    assert shown.returncode == 0 and "2 rows; nothing was changed" in shown.stdout
    assert audited(tmp_path) == []
    done = running.command("outbox", "retry", "again", "--reason", "mended")
    assert done.returncode == 0 and done.stdout == "again: it waits for the relay\n", done
    wait_until(lambda: own_upstream.runs("again") == 2, 30, "the row on its way")
    dropped = running.command("outbox", "drop", "--why", "422", "--yes", "--reason", "by hand")
    assert dropped.returncode == 0, dropped
    wait_until(shop.is_empty, 30, "an empty outbox")
    acts = [(stage, act, key, why) for stage, act, _, key, why in audited(tmp_path)]
    assert acts == [("intended", "retry", "again", "mended"), ("done", "retry", "again", "mended"),
                    ("intended", "drop", HOSTILE_ID, "by hand"),
                    ("done", "drop", HOSTILE_ID, "by hand")]
    assert running.stop(signal.SIGTERM) == 0


def test_a_row_is_found_by_its_id_behind_the_first_thousand(dead, shop, tmp_path):  # noqa: F811
    running, _ = dead
    shop.connection.execute(
        "INSERT INTO events (message_id, payload, dead_since)"
        " SELECT 'filler-' || n, 'x'::bytea, now() FROM generate_series(1, 1500) n"
        " UNION ALL SELECT 'late', 'x', now()")
    shop.connection.execute("UPDATE events SET dead_since = NULL, visible_at = now() + '1 hour'"
                            " WHERE message_id = 'again'")
    assert running.command("outbox", "drop", "again", "--reason", "x").returncode == 5
    found = running.command("outbox", "drop", "late", "--reason", "x")
    assert found.returncode == 0 and found.stdout == "late: dropped\n", found
    assert "there may be more" not in found.stderr
    assert shop.rows(where="message_id = 'late'") == [(0,)]
    shown = running.command("outbox", "drop", "--all", "--reason", "x")
    assert "1000 rows; nothing was changed" in shown.stdout and "--limit" in shown.stderr
    assert [act for _, act, _, _, _ in audited(tmp_path)] == 2 * ["drop"]


@pytest.mark.parametrize("act", ["retry", "drop"])
def test_an_id_of_several_rows_is_asked_about(dead, shop, tmp_path, act):  # noqa: F811
    running, _ = dead
    shop.connection.execute(
        "INSERT INTO events (message_id, payload, dead_since, reason)"
        " SELECT 'twice', 'x', now(), 'refused ' || n FROM generate_series(1, 3) n")
    numbers = [number for number, in shop.rows("id", "message_id = 'twice' ORDER BY id")]
    asked = running.command("outbox", act, "twice", "--reason", "mended")
    assert asked.returncode == 2 and asked.stdout == "", asked
    assert "3 dead rows have the id twice; nothing was changed" in asked.stderr
    for number in numbers:
        assert f"row {number}  twice" in asked.stderr, asked.stderr
    assert audited(tmp_path) == []
    by_row = running.command("outbox", act, "--row", str(numbers[1]), "--reason", "mended")
    assert by_row.returncode == 0 and by_row.stdout.startswith("twice: "), by_row
    left = "message_id = 'twice' AND dead_since IS NOT NULL"
    assert shop.rows("id", left + " ORDER BY id") == [(numbers[0],), (numbers[2],)]
    other = running.command("outbox", act, "again", "--row", str(numbers[0]), "--reason", "x")
    assert other.returncode == 5 and "no such row is dead" in other.stderr, other
    both = running.command("outbox", act, "twice", "--yes", "--reason", "mended")
    assert both.returncode == 0 and "2 of 2 rows" in both.stdout, both
    assert shop.rows(where=left) == [(0,)]


def test_dead_rows_in_the_page(dead, shop, act_out, own_upstream):  # noqa: F811
    _, admin = dead
    act_out("dead_rows", {"url": f"http://{admin.text}", "operator": admin.token,
                          "viewer": VIEWER, "hostile": HOSTILE_ID})
    wait_until(shop.is_empty, 30, "an empty outbox")
    assert own_upstream.runs("again") == 2 and len(own_upstream.requests()) == 3
