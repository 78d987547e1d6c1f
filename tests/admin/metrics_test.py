"""The metrics, by what requests got, and by Prometheus' own tool."""

import json
import pathlib
import re
import subprocess

import pytest

from support.admin import Admin
from support.client import all_at_once, fields_for, request_bytes
from support.ports import Port
from support.samples import Samples, wait_for_free_slots
from support.samples import scrape_text as scrape
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]


def count(admin, outcome, route="/"):
    return Samples(scrape(admin)).value("onceguard_requests_total", route=route, outcome=outcome)


def test_each_outcome_is_counted_by_its_route(begin_admin, fresh_key):
    gateway, admin = begin_admin({"route": [{"path": "/keyed", "required": True}]})
    key = fresh_key()
    gateway.post(key=key)
    gateway.post(key=key)
    gateway.post(key=key, body=b'{"amount":101}')
    gateway.post()
    gateway.get()
    gateway.post("/keyed")
    expected = {"ran": 1, "replayed": 1, "mismatch": 1, "unguarded": 2}
    wait_until(lambda: all(count(admin, name) == n for name, n in expected.items()),
               what=f"{expected}")
    wait_until(lambda: count(admin, "refused", "/keyed") == 1, what="the refusal")
    samples = Samples(scrape(admin))
    assert samples.value("onceguard_unguarded_total", route="/", reason="no_key") == 1
    assert samples.value("onceguard_unguarded_total", route="/", reason="method") == 1
    assert samples.value("onceguard_runs_total") == 1
    assert samples.value("onceguard_request_seconds_count", route="/") == 5
    assert samples.value("onceguard_upstream_seconds_count", route="/") == 3
    assert samples.value("onceguard_settle_seconds_count", route="/") == 1
    assert samples.value("onceguard_request_seconds_bucket", route="/", le="+Inf") == 5


def test_requests_of_all_threads_are_counted(begin_admin, fresh_key):
    gateway, admin = begin_admin(threads=4)
    sent = [request_bytes("POST", "/charges", fields_for(fresh_key()), b"{}") for _ in range(60)]
    assert {a.status for a in all_at_once(gateway.address, sent)} == {201}
    wait_until(lambda: count(admin, "ran") == 60, what="60 runs")


def test_what_observe_mode_counts_is_measured_by_route(begin_admin, fresh_key):
    gateway, admin = begin_admin({"route": [{"path": "/seen", "observe": True}]})
    key = fresh_key()
    for body in (b"{}", b"{}", b'{"other":1}'):
        gateway.post("/seen", key=key, body=body)
    for _ in range(2):
        gateway.post("/seen", body=b'{"amount":1}')

    def observed(name, **labels):
        samples = Samples(scrape(admin))
        return samples.value(f"onceguard_observed_{name}total", route="/seen", **labels)
    wait_until(lambda: observed("", would_be="unguarded") == 2, what="5 requests")
    assert observed("", would_be="ran") == observed("", would_be="replayed") == 1
    assert observed("", would_be="mismatch") == observed("repeats_") == 1
    assert observed("contents_repeated_", key="none") == 1
    assert observed("contents_repeated_", key="another") == 0
    assert (observed("run_again_"), observed("not_compared_")) == (2, 0)
    assert count(admin, "observed", "/seen") == 5


def test_log_lines_that_the_rate_limit_leaves_out_are_counted(begin_admin):
    nobody = Port()
    gateway, admin = begin_admin(upstream=f"http://127.0.0.1:{nobody.number}")

    def left_out():
        return Samples(scrape(admin)).value("onceguard_log_lines_left_out_total")
    assert left_out() == 0
    sent = [request_bytes("GET", "/charges", [], b"")] * 60

    def refused_at_once():
        assert {answer.status for answer in all_at_once(gateway.address, sent)} == {502}
        return left_out() > 0
    wait_until(refused_at_once, what="lines that are left out")
    nobody.close()
    assert Samples(scrape(admin)).value("onceguard_log_lines_dropped_total") == 0


def test_connections_beyond_the_limit_are_counted(begin_admin):
    gateway, admin = begin_admin(max_connections=2, threads=1)
    wait_for_free_slots(gateway, admin)

    def refused():
        return Samples(scrape(admin)).value("onceguard_connections_refused_total")
    with gateway.connect(), gateway.connect():
        before = refused()
        with gateway.connect():
            wait_until(lambda: refused() > before, what="the refusal")


def test_a_store_that_is_missing_has_one_log_line_for_each_count(start_gateway, own_upstream,
                                                                tmp_path):
    admin = Admin()
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": admin.text, "metrics_records_interval": "1h"}},
        database=tmp_path / "missing" / "keys.db")
    gateway.logged("records-not-counted")
    assert gateway.stop() == 0
    assert len(gateway.logged("records-not-counted")) == 1
    admin.close()


def test_requests_whose_spans_no_collector_takes_are_counted(start_gateway, own_upstream,
                                                            fresh_key):
    admin, nobody = Admin(), Port()
    gateway = start_gateway(own_upstream, {"gateway": {"admin": admin.text}}, started=False)
    gateway.environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{nobody.number}",
        "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BSP_MAX_QUEUE_SIZE": "1"}
    gateway.start()
    for _ in range(5):
        gateway.post(key=fresh_key())
    wait_until(lambda: Samples(scrape(admin)).value("onceguard_spans_dropped_total") >= 1,
               what="spans that are dropped")
    nobody.close()
    admin.close()


def test_no_metric_has_a_key_in_it(begin_admin, fresh_key):
    gateway, admin = begin_admin()
    key = fresh_key()
    gateway.post("/charges/of-a-customer", key=key)
    text = scrape(admin)
    assert key not in text and "of-a-customer" not in text


def test_records_are_counted_by_state_with_the_age_of_the_oldest_unknown(begin_admin, fresh_key):
    gateway, admin = begin_admin(metrics_records_interval="1s")
    gateway.post(key=fresh_key())
    gateway.post(key=fresh_key(), plan={"status": 500})

    def counted():
        samples = Samples(scrape(admin))
        return samples.value("onceguard_records", state="completed") == 1 and \
            samples.value("onceguard_records", state="unknown") == 1 and samples
    samples = wait_until(counted, 20, "both records")
    assert 0 < samples.value("onceguard_oldest_unknown_seconds") < 600
    assert samples.value("onceguard_records", state="unreadable") == 0


def test_the_process_tells_of_itself(begin_admin):
    gateway, admin = begin_admin()
    wait_until(admin.is_ready, what="readiness")
    samples = Samples(scrape(admin))
    for name in ("onceguard_ready", "onceguard_store_up"):
        assert samples.value(name) == 1, name
    assert samples.value("onceguard_connections_limit") == 10000
    assert samples.value("onceguard_buffered_limit_bytes") == 256 << 20
    held = [gateway.connect() for _ in range(3)]
    wait_until(lambda: Samples(scrape(admin)).value("onceguard_connections") == 3, what="3")
    for one in held:
        one.close()
    assert samples.value("process_open_fds") > 5
    assert samples.value("process_start_time_seconds") > 1.7e9
    assert any(name == "onceguard_build_info" for name, _ in samples)


def test_prometheus_finds_no_fault_in_the_text(begin_admin, fresh_key):
    gateway, admin = begin_admin(metrics_records_interval="1s")
    gateway.post(key=fresh_key())
    wait_until(lambda: "onceguard_records{" in scrape(admin), what="a count of the records")
    done = subprocess.run(["promtool", "check", "metrics"], input=scrape(admin), text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done


def test_prometheus_finds_no_fault_in_the_alert_rules():
    done = subprocess.run(["promtool", "check", "rules", "docs/monitoring/alerts.yml"], cwd=ROOT,
                          text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done


def test_every_alert_fires_once():
    done = subprocess.run(["promtool", "test", "rules", "alerts_test.yml"],
                          cwd=ROOT / "tests/admin", text=True, capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done
    rules = (ROOT / "docs/monitoring/alerts.yml").read_text()
    fired = (ROOT / "tests/admin/alerts_test.yml").read_text()
    for name in re.findall(r"- alert: (\w+)", rules):
        assert f'alertname="{name}"' in fired, f"{name} never fires in a test"


def test_every_alert_has_a_section_that_says_what_to_do():
    rules = (ROOT / "docs/monitoring/alerts.yml").read_text()
    page = (ROOT / "docs/alerts.md").read_text()
    for name in re.findall(r"- alert: (\w+)", rules):
        assert f"\n## {name}\n" in page
        assert f"runbook_url: docs/alerts.md#{name.lower()}\n" in rules


@pytest.mark.parametrize("file", ["alerts.yml", "grafana.json"])
def test_what_is_watched_is_what_is_measured(begin_admin, fresh_key, file):
    gateway, admin = begin_admin(metrics_records_interval="1s")
    gateway.post(key=fresh_key())
    wait_until(lambda: "onceguard_records{" in scrape(admin), what="a count of the records")
    wait_until(lambda: count(admin, "ran") == 1, what="the request")
    measured = {name for name, _ in Samples(scrape(admin))}
    text = (ROOT / "docs/monitoring" / file).read_text()
    if file.endswith(".json"):
        panels = json.loads(text)["panels"]
        text = "\n".join(t["expr"] for panel in panels for t in panel["targets"])
    watched = set(re.findall(r"\b(?:onceguard|process)_\w+", text))
    # These are there where there is an accelerator, a certificate, a file of keys: see
    # alerts_fire_test.py.
    others = {name for name in watched if name.startswith(
        ("onceguard_accelerator_", "onceguard_certificate_", "onceguard_file_"))}
    assert watched - others - measured == set() != watched - others
