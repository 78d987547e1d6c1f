"""GET /api/history: what a Prometheus has kept, and what is said where there is none."""

import json
import pathlib
import socket
import threading

import pytest

from support.prometheus import Prometheus, two_days
from support.schema import faults
from support.waiting import Stopwatch, least_seconds, wait_until

DOCUMENT = json.loads((pathlib.Path(__file__).resolve().parents[2] /
                       "src/admin/openapi.json").read_text())


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A Prometheus with two days of a gateway, and with those of another one beside them."""
    folder = tmp_path_factory.mktemp("prometheus")
    running = Prometheus(folder, two_days())
    yield running.start()
    running.close()


class Answering:
    """A server in the place of Prometheus that gives the same bytes to each who connects."""

    def __init__(self, data, pause=0.0):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.data, self.pause, self.asked = data, pause, []
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    self.asked.append(connection.recv(65536))
                    self.closed.wait(self.pause)
                    connection.sendall(self.data)
                except OSError:
                    continue

    def close(self):
        self.closed.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def answer_of(body, status="200 OK"):
    return (f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            .encode() + body)


def samples_with(history, name):
    return [one["outcomes"][name] for one in history if name in one["outcomes"]]


@pytest.mark.parametrize("span, interval_s, covered_s", [
    ("6h", 60, 6 * 3600), ("1d", 240, 24 * 3600), ("7d", 1680, 48 * 3600)])
def test_two_days_are_read(begin_admin, kept, span, interval_s, covered_s):
    _, admin = begin_admin(prometheus_url=kept.url, prometheus_labels='job="onceguard"')
    assert admin.get("/api/overview").json()["longer_history"] is True
    answer = admin.get(f"/api/history?span={span}")
    assert answer.status == 200, answer.body
    seen = answer.json()
    assert faults(seen, {"$ref": "#/components/schemas/LongerHistory"}, DOCUMENT) == []
    assert seen["interval_ms"] == interval_s * 1000 and len(seen["history"]) == 360
    ran = samples_with(seen["history"], "ran")
    assert abs(len(ran) - covered_s / interval_s) < 5
    middle = seen["history"][-5]  # behind the first rates, which see only a part of their window
    assert middle["outcomes"]["ran"] == pytest.approx(2 * interval_s, rel=0.1)
    assert middle["outcomes"]["replayed"] == pytest.approx(0.5 * interval_s, rel=0.1)
    for step in ("request", "claim", "settle"):
        median, most = middle["times_us"][step]
        assert median == pytest.approx(10_000, rel=0.05)
        assert most == pytest.approx(49_200, rel=0.05)
    times = [one["at"] for one in seen["history"]]
    assert times == sorted(set(times))


def test_series_of_others_are_left_out(begin_admin, kept):
    _, admin = begin_admin(prometheus_url=kept.url + "/", prometheus_labels='job="another"')
    seen = admin.get("/api/history?span=6h").json()
    assert all(one["outcomes"] == {} and one["times_us"] == {} for one in seen["history"])


def test_what_is_scraped_is_seen(begin_admin, fresh_key, tmp_path):
    running = None
    try:
        gateway, admin = begin_admin(prometheus_url="http://127.0.0.1:1")
        running = Prometheus(tmp_path / "prometheus", targets=[admin.text]).start()
        gateway.write_config({**gateway.config, "gateway": {
            **gateway.config["gateway"], "prometheus_url": running.url}})
        gateway.stop()
        gateway.start()
        assert gateway.post(key=fresh_key()).status == 201
        wait_until(lambda: running.ask('count_over_time(onceguard_requests_total'
                                       '{outcome="ran"}[1m]) >= 2'), 60, "two scrapes")
        for _ in range(5):
            assert gateway.post(key=fresh_key()).status == 201
        wait_until(lambda: running.ask("sum(rate(onceguard_request_seconds_count[5m] offset 2s))"
                                       " > 0"), 60, "a rate that is seen in whole seconds, too")
        last = admin.get("/api/history?span=6h").json()["history"][-1]
        assert last["outcomes"]["ran"] > 0
        for step in ("request", "claim", "settle"):
            assert 0 < last["times_us"][step][0] <= last["times_us"][step][1]
    finally:
        if running:
            running.close()


@pytest.mark.parametrize("data, status, why", [
    (answer_of(b"<html>"), 502, "what it answered is none of Prometheus's"),
    (answer_of(b'{"status":"success","data":{"resultType":"vector","result":[]}}'), 502,
     "none of Prometheus's"),
    (answer_of(b'{"status":"error","errorType":"timeout","error":"query timed out"}', "503 No"),
     502, "status 503, it refused: query timed out"),
    (answer_of(b"", "401 No"), 502, "status 401"),
    (answer_of(b'{"status":"partial","data":{"resultType":"matrix","result":[]}}'), 502,
     "none of Prometheus's"),
    (answer_of(b"[" * 5_000_000), 502, "a long answer came"),
    (b"SSH-2.0-x\r\n", 502, "no HTTP answer came"),
    (answer_of(b"x" * 10)[:-5], 502, "the answer broke off")],
    ids=["markup", "vector", "refusal", "unauthorised", "partial", "long", "ssh", "half"])
def test_what_is_no_history_is_said(begin_admin, data, status, why):
    stand_in = Answering(data)
    try:
        _, admin = begin_admin(prometheus_url=stand_in.url)
        answer = admin.get("/api/history?span=1d")
        assert answer.status == status and why in answer.json()["detail"], answer.body
        assert stand_in.url.removeprefix("http://") in answer.json()["detail"]
        assert admin.get("/healthz").status == 200
    finally:
        stand_in.close()


def test_a_prometheus_that_does_not_answer_is_waited_for_once(begin_admin):
    def seconds_of_the_overview():
        stand_in = Answering(b"", pause=30)
        try:
            gateway, admin = begin_admin(prometheus_url=stand_in.url)
            answers = []
            callers = [threading.Thread(target=lambda: answers.append(
                admin.get("/api/history?span=6h"))) for _ in range(10)]
            watch = Stopwatch()
            for one in callers:
                one.start()
            assert admin.get("/api/overview").status == 200
            passed = watch.seconds
            for one in callers:
                one.join()
            assert [one.status for one in answers] == 10 * [504]
            assert "no answer in time" in answers[0].json()["detail"]
            assert len(stand_in.asked) == 1
            gateway.stop()
            return passed
        finally:
            stand_in.close()
    assert least_seconds(seconds_of_the_overview, enough=4, tries=3) < 4


def test_nobody_listens_there(begin_admin):
    _, admin = begin_admin(prometheus_url="http://127.0.0.1:1")
    answer = admin.get("/api/history?span=6h")
    assert answer.status == 504 and "127.0.0.1:1" in answer.json()["detail"], answer.body


def test_without_a_prometheus_and_with_a_wrong_span(begin_admin):
    _, admin = begin_admin()
    assert admin.get("/api/overview").json()["longer_history"] is False
    answer = admin.get("/api/history?span=6h")
    assert answer.status == 404 and "prometheus_url" in answer.json()["detail"]
    _, admin = begin_admin(prometheus_url="http://127.0.0.1:1")
    for query in ("", "?span=", "?span=2h", "?span=6h%00"):
        assert admin.get(f"/api/history{query}").status == 400


def test_one_question_serves_all_who_ask_within_seconds(begin_admin):
    empty = answer_of(b'{"status":"success","data":{"resultType":"matrix","result":[]}}')
    stand_in = Answering(empty)
    try:
        _, admin = begin_admin(prometheus_url=stand_in.url + "/prometheus/",
                               prometheus_labels='env=~"live|test"')
        for _ in range(5):
            assert admin.get("/api/history?span=30d").status == 200
        asked, = stand_in.asked
        assert asked.startswith(b"GET /prometheus/api/v1/query_range?query=")
        assert b"env%3D~%22live%7Ctest%22" in asked and b"&step=7200&" in asked
    finally:
        stand_in.close()
