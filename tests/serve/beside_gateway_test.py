"""A gateway with a [serve]: one store and one engine, one reload, one drain, one upgrade."""

import os
import signal
import stat
import threading
import time

import pytest

from support.client import ask
from support.decisions import DecisionService, busy, fresh
from support.ports import Port
from support.upgrading import Descendant, adopting_orphans
from support.waiting import least_seconds, wait_until


class Beside(DecisionService):
    """A gateway in front of the upstream, with a decision service."""

    def __init__(self, binary, folder, upstream, config=None):
        self.gateway_port = Port()
        self.upstream = upstream
        super().__init__(binary, folder, config, command="gateway")

    def write_config(self, config=None):
        config = config or {}
        address = f"127.0.0.1:{self.gateway_port.number}"
        super().write_config({
            **config, "gateway": {"listen": address, **config.get("gateway", {})},
            "defaults": {"scope": "none", "lease": "8s", **config.get("defaults", {})},
            "upstream": [{"name": "shop", "url": self.upstream.url}]})

    def post(self, key, body=b"x"):
        fields = [("Idempotency-Key", key), ("Content-Type", "text/plain")]
        return ask(("127.0.0.1", self.gateway_port.number), "POST", "/pay", fields, body)

    def close(self):
        super().close()
        self.gateway_port.close()


def as_request(key, body="x"):
    return {"method": "POST", "target": "/pay", "body": body, "headers": [
        ["Host", "shop.test"], ["Idempotency-Key", key], ["Content-Type", "text/plain"]]}


@pytest.fixture
def start(onceguard, tmp_path, own_upstream):
    made = []

    def begin(config=None):
        made.append(Beside(onceguard, tmp_path, own_upstream, config))
        return made[-1].start()

    yield begin
    for one in made:
        one.close()


def test_one_key_has_one_record_whichever_way_it_came(start):
    service = start()
    key = fresh()
    assert service.post(key).status == 201
    with service.client() as client:
        replay = client.claim(request=as_request(key)).json()
        assert (replay["verdict"], replay["reply"]["status"]) == ("replay", 201)
        assert client.claim(request=as_request(key, "y")).json()["verdict"] == "mismatch"
        other = fresh()
        running = client.claim(request=as_request(other)).json()
        assert running["verdict"] == "run"
        assert service.post(other).status == 409
        client.complete(running["operation"], 201, "by the client")
        again = service.post(other)
        assert (again.status, again.body) == (201, b"by the client")


def test_a_waiter_of_the_gateway_hears_of_a_settle_at_once(start):
    service = start({"defaults": {"on_busy": "wait", "wait": "20s"}})

    def seconds_after_the_settle():
        key, came = fresh(), []
        with service.client() as client:
            running = client.claim(request=as_request(key)).json()
            waiting = threading.Thread(
                target=lambda: came.append((service.post(key), time.monotonic())))
            waiting.start()
            busy(client)
            client.complete(running["operation"], 201, "by the client")
            settled = time.monotonic()
            waiting.join(60)
        answer, when = came[0]
        assert (answer.status, answer.body) == (201, b"by the client")
        return when - settled

    assert least_seconds(seconds_after_the_settle, enough=0.5) < 0.5


def test_a_reload_is_one_of_both(start):
    service = start()
    service.write_config({"policy": [{"name": "later", "lease": "20s"}]})
    assert service.reload() == "reloaded"
    with service.client() as client:
        assert client.run(key=fresh(), policy="later")["lease_ms"] > 10_000
    service.write_config({"policy": [{"name": "later", "lease": "nothing"}]})
    assert service.reload() == "reload-refused"
    with service.client() as client:
        assert client.run(key=fresh(), policy="later")


def test_a_drain_waits_for_what_runs_and_takes_nothing_new(start):
    service = start({"gateway": {"drain": "60s"}})
    key = fresh()
    with service.client() as client, service.client() as other:
        running = client.run(key=key)
        other.ask("GET", "/healthz")
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: service.events("draining"), 20, "the drain")
        refused = other.claim(key=fresh())
        assert (refused.status, refused.json()["type"].rsplit(":", 1)[1]) == (503, "draining")
        busy(client)
        assert service.process.poll() is None
        assert client.complete(running["operation"]).json()["outcome"] == "settled"
        assert service.process.wait(60) == 0
    service.process = None
    assert service.events("stopped")
    assert not os.path.exists(service.address)


def test_a_route_that_asks_the_application_holds_what_is_unknown_here(start):
    service = start({"defaults": {"unknown": "probe",
                                  "probe": "http://127.0.0.1:9/{scope}/{key}"}})
    key = fresh()
    with service.client() as client:
        running = client.claim(request=as_request(key)).json()
        client.settle(running["operation"], "abandon")
        assert client.claim(request=as_request(key)).json()["verdict"] == "unknown"


def test_the_decision_service_goes_on_when_the_gateway_becomes_another_process(start):
    with adopting_orphans():
        service = start({"gateway": {"drain": "60s"}})
        inode = os.stat(service.address).st_ino
        with service.client() as client:
            key = fresh()
            running = client.run(key=key)
            former = service.process
            former.send_signal(signal.SIGUSR2)
            wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
            service.process = Descendant(service.events("handed-over")[-1]["pid"])
            # The new one answers at the same socket, and knows what runs.
            with service.client() as other:
                assert other.claim(key=key).json()["verdict"] == "busy"
                assert other.run(key=fresh())
            assert client.complete(running["operation"]).json()["outcome"] == "settled"
        assert former.wait(60) == 0
        assert os.stat(service.address).st_ino == inode
        assert stat.S_ISSOCK(os.stat(service.address).st_mode)
        with service.client() as other:
            assert other.claim(key=key).json()["verdict"] == "replay"
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
        service.process = None
    assert not os.path.exists(service.address), "the last process removes the socket's file"
