"""Each alert fires for what it is about: the series are those of a real gateway, before and after,
and Prometheus' own tool evaluates the rules over them."""

import contextlib
import os
import pathlib
import re
import sqlite3
import threading

import pytest

from support.admin import Admin
from support.alerts import RULES, assert_fires, wait_for
from support.certificates import Authority
from support.client import fields_for
from support.samples import Samples, scrape, wait_for_free_slots
from support.waiting import Stopwatch, wait_until


@contextlib.contextmanager
def write_lock(gateway):
    """As another process has it that does not let go; what is read goes on."""
    with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("alert, lasts", [("OnceguardNotReady", 6), ("OnceguardStoreAway", 6)])
def test_a_store_that_takes_no_writes_for_a_minute_and_a_half(begin_admin, tmp_path, alert, lasts):
    gateway, admin = begin_admin({"store": {"timeout": "500ms"}})
    before = wait_for(admin, "onceguard_ready", 1)
    with write_lock(gateway):
        wait_for(admin, "onceguard_ready", 0)
        after = wait_for(admin, "onceguard_store_up", 0)
    assert_fires(alert, before, after, tmp_path, lasts)
    wait_for(admin, "onceguard_ready", 1)


def test_a_gateway_that_is_gone(begin_admin, tmp_path):
    gateway, admin = begin_admin()
    before = Samples("up 1") if scrape(admin) else None
    gateway.stop()
    with pytest.raises(OSError):
        scrape(admin)
    assert_fires("OnceguardDown", before, Samples("up 0"), tmp_path)


@pytest.mark.parametrize("rule", ["refuse", "flag"])
def test_a_loss_that_a_start_notices(begin_admin, fresh_key, tmp_path, rule):
    gateway, admin = begin_admin({"store": {"after_loss": rule}}, state_dir=str(tmp_path))
    assert gateway.post(key=fresh_key()).status == 201
    before = wait_for(admin, "onceguard_ready", 1)
    wait_until(lambda: list(tmp_path.glob("*")), what="the witness")
    gateway.stop()
    for file in gateway.folder.glob(gateway.database.name + "*"):
        file.unlink()
    gateway.start()
    # The counter is at 1 before a scrape may have seen it at 0.
    after = wait_for(admin, "onceguard_store_losses_total", 1)
    assert after.value("onceguard_store_forgot") == 1
    assert_fires("OnceguardStoreLostItsMemory", before, after, tmp_path)
    # A restart makes nothing safe again.
    gateway.restart()
    wait_for(admin, "onceguard_store_forgot", 1)


def test_an_outcome_that_stays_unknown(begin_admin, fresh_key, tmp_path):
    gateway, admin = begin_admin(metrics_records_interval="1s")
    before = wait_for(admin, "onceguard_oldest_unknown_seconds", 0)
    gateway.post(key=fresh_key(), plan={"status": 500})
    after = wait_until(lambda: (scrape(admin).value("onceguard_oldest_unknown_seconds") or 0) > 0
                       and scrape(admin), 30, "the age")
    assert_fires("OnceguardUnknownOutcomes", before, after, tmp_path)


def test_records_that_are_damaged(begin_admin, fresh_key, tmp_path):
    gateway, admin = begin_admin(metrics_records_interval="1s")
    gateway.post(key=fresh_key())
    before = wait_for(admin, "onceguard_records", 1, state="completed")
    with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:
        other.execute("UPDATE records SET record = x'00'")
    after = wait_for(admin, "onceguard_records", 1, state="unreadable")
    assert_fires("OnceguardUnreadableRecords", before, after, tmp_path)


def test_the_first_request_of_a_route_that_runs_without_a_record(begin_admin, fresh_key, tmp_path):
    gateway, admin = begin_admin({"store": {"timeout": "300ms"},
                                  "route": [{"path": "/open", "store_failure": "open"}]})
    before = wait_for(admin, "onceguard_unguarded_total", 0, route="/open", reason="store")
    with write_lock(gateway):
        assert gateway.post("/open", key=fresh_key()).status == 201
    after = wait_for(admin, "onceguard_unguarded_total", 1, route="/open", reason="store")
    assert_fires("OnceguardUnguardedRuns", before, after, tmp_path)


def test_a_record_that_is_gone_when_its_operation_ends(begin_admin, own_upstream, key, tmp_path):
    gateway, admin = begin_admin()
    before = wait_for(admin, "onceguard_incidents_total", 0)
    running = gateway.begin_post(key=key, plan={"gate": key})
    own_upstream.arrived(key=key)
    with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:
        other.execute("DELETE FROM records")
    own_upstream.open(key)
    assert running.read().status == 201
    running.close()
    after = wait_for(admin, "onceguard_incidents_total", 1)
    assert_fires("OnceguardIncidents", before, after, tmp_path)


def test_work_that_outlives_its_lease(begin_admin, own_upstream, key, tmp_path):
    gateway, admin = begin_admin()
    before = wait_for(admin, "onceguard_leases_lost_total", 0)
    running = gateway.begin_post(key=key, plan={"gate": key})
    own_upstream.arrived(key=key)
    released = gateway.command("keys", "release", key, "--force")
    assert released.returncode == 0, released
    assert gateway.post(key=key).status == 201
    own_upstream.open(key)
    running.read()
    running.close()
    after = wait_for(admin, "onceguard_leases_lost_total", 1)
    assert_fires("OnceguardLeasesLost", before, after, tmp_path)


def test_keys_that_are_used_for_different_requests(begin_admin, key, tmp_path):
    gateway, admin = begin_admin()
    before = wait_for(admin, "onceguard_requests_total", 0, route="/", outcome="mismatch")
    gateway.post(key=key)
    assert gateway.post(key=key, body=b"another").status == 422
    after = wait_for(admin, "onceguard_requests_total", 1, route="/", outcome="mismatch")
    assert_fires("OnceguardMismatches", before, after, tmp_path)


def test_connections_that_are_nearly_all_taken(begin_admin, tmp_path):
    gateway, admin = begin_admin(max_connections=4)
    wait_for_free_slots(gateway, admin)
    before = scrape(admin)
    held = [gateway.connect() for _ in range(4)]
    after = wait_for(admin, "onceguard_connections", 4)
    for one in held:
        one.close()
    assert_fires("OnceguardConnectionsFull", before, after, tmp_path)


def test_buffers_that_are_nearly_full(begin_admin, own_upstream, fresh_key, tmp_path):
    """Of answers that nobody reads."""
    gateway, admin = begin_admin(max_buffered="4MiB", replay_cache="0", threads=1)
    before = wait_for(admin, "onceguard_buffered_bytes", 0)
    gate = fresh_key()
    with contextlib.ExitStack() as held:
        for key in (fresh_key() for _ in range(12)):
            connection = held.enter_context(gateway.connect(receive_buffer=4096))
            connection.send_request("POST", "/charges",
                                    fields_for(key, {"gate": gate, "size": 1 << 20}), b"x")
            own_upstream.arrived(key=key)
        own_upstream.open(gate)

        def full():
            seen = scrape(admin)
            share = seen.value("onceguard_buffered_bytes") / \
                seen.value("onceguard_buffered_limit_bytes")
            return seen if share > 0.8 else None
        after = wait_until(full, 30, "buffers that are nearly full")
    assert_fires("OnceguardBuffersFull", before, after, tmp_path)
    wait_for(admin, "onceguard_buffered_bytes", 0)


def test_claims_that_take_long(begin_admin, key, tmp_path):
    gateway, admin = begin_admin({"store": {"timeout": "20s"}})
    wait_until(admin.is_ready, what="readiness")
    before = scrape(admin)
    sent = threading.Thread(target=lambda: gateway.post(key=key))
    with write_lock(gateway):
        sent.start()
        clock = Stopwatch()
        wait_until(lambda: clock.seconds > 1.2, what="a claim that waits")
    sent.join()
    after = wait_until(lambda: scrape(admin).value("onceguard_claim_seconds_count", route="/") == 1
                       and scrape(admin), what="the claim")
    assert_fires("OnceguardSlowClaims", before, after, tmp_path)


def test_records_that_were_never_counted(start_gateway, own_upstream, tmp_path):
    admin = Admin()
    start_gateway(own_upstream, {"gateway": {"admin": admin.text}},
                  database=tmp_path / "missing" / "keys.db")
    after = scrape(admin)
    begun = after.value("onceguard_records_counted_timestamp_seconds")
    # Its series has to be there from the first scrape on, at the time of the start.
    assert_fires("OnceguardRecordsNotCounted", Samples(""), after, tmp_path, now=begun)
    admin.close()


def test_a_reload_that_is_refused(begin_admin, tmp_path):
    gateway, admin = begin_admin()
    before = scrape(admin)
    gateway.reload({"gateway": {"admin": admin.text}, "defaults": {"lease": "5ms"}})
    after = wait_for(admin, "onceguard_reload_refused", 1)
    assert after.value("onceguard_reloads_refused_total") == 1
    assert_fires("OnceguardReloadRefused", before, after, tmp_path)
    gateway.reload({"gateway": {"admin": admin.text}})
    assert wait_for(admin, "onceguard_reload_refused", 0).value(
        "onceguard_reloads_refused_total") == 1


def test_keys_and_certificates_that_are_refused_or_end(begin_admin, tmp_path):
    certificate, private = Authority(tmp_path / "pki").issue("api")
    keys = tmp_path / "jwks.json"
    keys.write_text('{"keys": [{"kty": "oct", "alg": "HS256", "k": "' + "c2VjcmV0" * 8 + '"}]}')
    gateway, admin = begin_admin({"jwt": {"keys_file": str(keys)}}, tls_certificate=certificate,
                                 tls_key=private)
    before = scrape(admin)
    for path in (certificate, str(keys)):
        assert before.value("onceguard_file_refused", path=path) == 0
    # It is made for nine days.
    end = before.value("onceguard_certificate_end_timestamp_seconds", path=certificate)
    now = before.value("process_start_time_seconds")
    assert 8.9 < (end - now) / 86_400 < 9.1
    assert_fires("OnceguardCertificateEnds", Samples(""), before, tmp_path, now=now)
    for path in (certificate, str(keys)):
        good = pathlib.Path(path).read_bytes()
        replace(path, b"nonsense")
        after = wait_for(admin, "onceguard_file_refused", 1, path=path)
        assert_fires("OnceguardFileRefused", before, after, tmp_path)
        replace(path, good)
        wait_for(admin, "onceguard_file_refused", 0, path=path)


def replace(path, content):
    following = pathlib.Path(path + ".next")
    following.write_bytes(content)
    os.rename(following, path)


def test_what_each_alert_looks_at_is_there_from_the_first_scrape(begin_admin):
    """Before any request, any count and any fault; of the accelerator only where there is one."""
    _, admin = begin_admin()
    there = {name for name, _ in scrape(admin)}
    text = RULES.read_text().partition("name: onceguard-accelerator")[0]
    # The records are counted a moment after the start, and files are there where they are used.
    later = {"onceguard_records", "onceguard_oldest_unknown_seconds", "onceguard_file_refused",
             "onceguard_certificate_end_timestamp_seconds"}
    assert set(re.findall(r"\bonceguard_\w+", text)) - later - there == set()
