"""How PostgreSQL carries out the queries of the page: none passes the whole table of records."""

import contextlib
import json
import subprocess

import pytest

from support import filled
from support.postgres import Postgres
from support.views import calls_by_key, calls_of_views
from support.waiting import wait_until

RECORDS = 12_000
SETTINGS = {"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0",
            "auto_explain.log_format": "json", "auto_explain.log_analyze": "on",
            "log_line_prefix": "''",
            "auto_explain.log_level": "log", "autovacuum": "off"}
COUNT = "SELECT s.state, count(*)"
END = "plans are read until here"


@pytest.fixture(scope="module")
def explaining_server():
    with contextlib.closing(Postgres(SETTINGS).start()) as server:
        yield server


def plans(log):
    """The plans in a server's log."""
    decoder = json.JSONDecoder()
    for part in log.split("  plan:\n\t")[1:]:
        yield decoder.raw_decode(part.replace("\n\t", "\n"))[0]


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


class Explained:
    def __init__(self, server, database):
        self.server, self.database = server, database
        self.read = 0

    def scans(self):
        """How the table of records was read since the last call, but for the count in the
        background: node and index."""
        return {(node["Node Type"], node.get("Index Name")) for node in self.nodes()}

    def rows(self):
        """The indexes that were read meanwhile, each with the rows that the planner's node gave,
        those that a filter took out included."""
        return [(node.get("Index Name"), node["Actual Loops"] * node["Actual Rows"] +
                 node.get("Rows Removed by Filter", 0)) for node in self.nodes()]

    def nodes(self):
        with self.server.connect(self.database) as at:
            at.execute(f"SELECT '{END}'")
        wait_until(lambda: END in self.server.log()[self.read:], 30, "the log")
        log = self.server.log()[self.read:]
        self.read += len(log)
        return [node for found in plans(log) if COUNT not in found["Query Text"]
                for node in nodes(found["Plan"]) if node.get("Relation Name") == "records"]


@pytest.fixture
def views(begin_page, explaining_server):
    """A gateway on a filled store, its admin listener, the calls, and how they are explained."""
    database = explaining_server.create_store()
    gateway, admin, _ = begin_page(store={"url": explaining_server.url(database)},
                                   gateway={"metrics_records_interval": "1h"})
    # What a gateway looks through once, behind its start, ends while the store is empty.
    wait_until(lambda: "counted_at" in admin.get("/api/overview").json()["records"], 60)
    filled.fill_postgres(explaining_server, database, RECORDS)
    record = filled.record_id(filled.scope_of(7), filled.key_of(7)).hex()
    return gateway, admin, calls_of_views(record, RECORDS), Explained(explaining_server, database)


def call(admin, target, least):
    page = admin.get(target)
    assert page.status == 200, page.body
    assert len(page.json().get("records", "")) >= least, (target, page.body)


def test_no_view_passes_the_whole_table(views):
    _, admin, calls, explained = views
    explained.scans()
    for name, target, least in calls:
        # From the sixth time on, a statement may have a plan for all values.
        for _ in range(7):
            call(admin, target, least)
        scans = explained.scans()
        assert "Seq Scan" not in {node for node, _ in scans}, (name, scans)
        searched = name.startswith("search, ") and "its scope" not in name
        # A piece of the table, from page to page.
        assert ("Tid Range Scan" in {node for node, _ in scans}) == searched, (name, scans)


def test_a_search_by_key_reads_the_index_where_there_is_one(views):
    gateway, admin, _, explained = views
    assert gateway.command("keys", "index").returncode == 0
    explained.scans()
    for name, target, least in calls_by_key(filled.key_of(RECORDS // 2).decode(), 1):
        for _ in range(7):
            call(admin, target, least)
        scans = explained.scans()
        assert "records_by_key" in {index for _, index in scans}, (name, scans)
        assert {node for node, _ in scans} <= {"Index Scan", "Bitmap Heap Scan"}, (name, scans)
    assert gateway.command("keys", "index", "--drop").returncode == 0
    explained.scans()
    call(admin, f"/api/records?key={filled.key_of(7).decode()}", 1)
    assert {node for node, _ in explained.scans()} == {"Tid Range Scan"}


LIKE_KEYS = 100_000
COPIES = ("INSERT INTO onceguard.records (token, deadline_at, expires_at, state, digest, "
          "claim_id, subject) SELECT r.token, r.deadline_at, 0, 'failed', sha256(n::text::bytea), "
          "r.claim_id, r.subject FROM (SELECT * FROM onceguard.records WHERE digest = %s) r, "
          "generate_series(1, %s) n")


@pytest.mark.parametrize("analyzed", [False, True])
def test_a_page_of_very_many_like_keys_reads_a_page(explaining_server, views, analyzed):
    gateway, admin, _, explained = views
    key = filled.key_of(7)
    with explaining_server.connect(explained.database) as at:
        at.execute("ALTER DOMAIN onceguard.sealed_subject DROP CONSTRAINT sealed_subject_check")
        at.execute(COPIES, [filled.record_id(filled.scope_of(7), key), LIKE_KEYS])
    assert gateway.command("keys", "index").returncode == 0
    with explaining_server.connect(explained.database) as at:
        at.execute("ANALYZE onceguard.records" if analyzed else
                   "DELETE FROM pg_statistic WHERE starelid IN ("
                   "'onceguard.records'::regclass, 'onceguard.records_by_key'::regclass)")
        explained.scans()
    target = f"/api/records?limit=100&key={key.decode()}"
    cursor = ""
    for _ in range(8):  # from the sixth time on, a statement may have a plan for all values
        listed = admin.get(target + cursor)
        assert listed.status == 200, listed.body
        cursor = "&cursor=" + listed.json()["cursor"]
        for index, rows in explained.rows():
            assert rows <= 101, (index, rows)


def test_the_command_says_what_is_missing(explaining_server, views):
    gateway, *_ = views
    url = explaining_server.url("nowhere")
    done = subprocess.run([gateway.binary, "keys", "index", "--store", url], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 4 and "nowhere" in done.stderr, done
