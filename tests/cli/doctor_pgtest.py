"""`onceguard doctor` on PostgreSQL."""

import contextlib

import pytest

from support.doctor import certificate, examine
from support.pgbouncer import PgBouncer
from support.postgres import Postgres
from support.postgres_standby import Standby
from support.waiting import wait_until


@pytest.fixture(scope="module")
def safe_server():
    """A server with the settings of one that may be trusted."""
    server = Postgres({"fsync": "on", "max_connections": "12"})
    try:
        yield server.start()
    finally:
        server.close()


def test_a_server_that_is_ready_has_no_fault(onceguard, safe_server):
    report = examine(onceguard, "--store", safe_server.url(safe_server.create_store()))
    assert report.code == 0
    found = report.one("store-reach")
    assert found["level"] == "ok" and "(PostgreSQL 15." in found["text"]
    assert report.level("store-clock") == "ok"
    assert not report.all("store-durability") and not report.all("store-pooler")
    assert report.level("store-connections") == "note", "4 of 12"


def test_a_standby_that_no_commit_waits_for(onceguard):
    with contextlib.ExitStack() as running:
        primary = running.enter_context(contextlib.closing(Postgres())).start()
        url = primary.url(primary.create_store())
        assert examine(onceguard, "--store", url).level("store-replication") == "ok", "none"
        running.enter_context(contextlib.closing(Standby(primary))).start().follows()
        found = examine(onceguard, "--store", url).one("store-replication")
        assert found["level"] == "warning" and "1 standby, and no commit waits" in found["text"]
        assert "synchronous_standby_names" in found["remedy"]
        with primary.connect() as session:
            session.autocommit = True
            session.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            session.execute("SELECT pg_reload_conf()")
            wait_until(lambda: session.execute("SHOW synchronous_standby_names").fetchone()[0],
                       what="the setting")
        found = examine(onceguard, "--store", url).one("store-replication")
        assert found["level"] == "ok" and "commits wait for *" in found["text"]


def test_a_server_without_fsync_is_weak(onceguard, postgres_server, database):
    report = examine(onceguard, "--store", postgres_server.url(database))
    found = report.one("store-durability")
    assert found["level"] == "warning" and "fsync is off" in found["text"]
    assert found["remedy"] == "type: ALTER SYSTEM SET fsync = on"
    assert not report.all("store-connections")


def test_a_server_that_is_not_there(onceguard):
    report = examine(onceguard, "--store", "postgresql://me:secret@127.0.0.1:9/none")
    found = report.one("store-reach")
    assert found["level"] == "fault" and "127.0.0.1:9" in found["text"]
    assert "secret" not in str(report.findings)


def test_a_schema_that_is_missing(onceguard, postgres_server):
    url = postgres_server.url(postgres_server.create_database())
    found = examine(onceguard, "--store", url).one("store-reach")
    assert found["level"] == "fault"
    assert "run: onceguard migrate --store" in found["text"]


def test_a_right_that_is_missing(onceguard, postgres_server, database):
    with postgres_server.connect() as admin:
        admin.execute("DROP ROLE IF EXISTS doctor_stranger")
        admin.execute("CREATE ROLE doctor_stranger LOGIN")
    found = examine(onceguard, "--store",
                    postgres_server.url(database, "doctor_stranger")).one("store-reach")
    assert found["level"] == "fault"
    assert 'GRANT onceguard_gateway TO "doctor_stranger"' in found["text"]


def test_a_pooler_in_front(onceguard, postgres_server, database):
    pooler = PgBouncer(postgres_server)
    with contextlib.closing(pooler.start()):
        report = examine(onceguard, "--store",
                         f"postgresql://postgres@127.0.0.1:{pooler.port.number}/{database}")
    assert report.level("store-reach") == "ok"
    assert report.level("store-pooler") == "note"


@pytest.mark.parametrize("days, level", [(400, "ok"), (10, "warning"), (0, "fault")])
def test_certificates_and_when_they_end(onceguard, postgres_server, database, tmp_path, days,
                                        level):
    proof, key = certificate(tmp_path, days)
    report = examine(onceguard, "--store", postgres_server.url(database) +
                     f"?sslmode=prefer&sslrootcert={proof}&sslcert={proof}&sslkey={key}")
    found = report.all("store-certificate")
    assert [one["level"] for one in found] == [level] * 2, found
    assert report.level("store-key") == "ok"


def test_certificates_that_can_not_be_read(onceguard, postgres_server, database, tmp_path):
    (tmp_path / "empty.pem").write_text("nothing")
    report = examine(onceguard, "--store", postgres_server.url(database) +
                     f"?sslmode=disable&sslrootcert={tmp_path}/empty.pem&sslcert={tmp_path}/no.pem"
                     f"&sslkey={tmp_path}/no.key")
    texts = [one["text"] for one in report.all("store-certificate") + report.all("store-key")]
    assert "holds no certificate" in texts[0]
    assert all("can't be read: No such file or directory" in text for text in texts[1:]), texts
    assert len(texts) == 3
