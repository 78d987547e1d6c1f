"""Ids of messages on real brokers: CloudEvents of the CNCF's SDK, composed ids, two ids."""

import json
import pathlib
import signal
import subprocess

import pytest

from support.consumer import Consumer, outcomes, settled
from support.node import NODE

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def sent():
    return json.loads(subprocess.run([NODE, HERE / "cloud_events.mjs"], check=True, timeout=60,
                                     capture_output=True, text=True).stdout)


@pytest.fixture
def begin(onceguard, tmp_path, own_upstream):
    made = []

    def start(queues, **table):
        table = {"subscriber": "billing", "to": own_upstream.url, **queues.tables, **table}
        made.append(Consumer(onceguard, tmp_path, [table]))
        return made[-1].start()

    yield start
    for consumer in made:
        consumer.stop(signal.SIGKILL)


@pytest.mark.parametrize("mode", ["http-binary", "http-structured", "kafka-binary",
                                  "kafka-structured", "mqtt-binary"])
def test_two_sources_may_have_the_same_id(broker, begin, own_upstream, sent, mode):
    queues = broker()
    for _ in range(2):
        for event in sent[mode]:
            queues.send(event["body"], headers=[tuple(pair) for pair in event["headers"]])
    consumer = begin(queues, id="cloudevents")
    settled(consumer, 4)
    keys = sorted(request["key"] for request in own_upstream.requests())
    assert keys == ["/shops/a|1", "/shops/b|1"]
    assert sorted(outcomes(consumer)) == ["duplicate"] * 2 + ["handled"] * 2


def test_an_id_that_is_there_twice_is_none(broker, begin, own_upstream):
    queues = broker()
    # The headers of RabbitMQ are a table: there it takes two spellings.
    other = "Event-Id" if "amqp" in queues.tables["from"] else "event-id"
    queues.send("x", headers=[("event-id", "a"), (other, "b")])
    consumer = begin(queues, id="header:event-id")
    settled(consumer, 1)
    (dead,) = consumer.events("message-dead")
    assert "event-id" in dead["reason"] and "twice" in dead["reason"]
    assert own_upstream.requests() == []
    listed = consumer.command("messages", "list", "--json", "--wait", "1500ms").stdout
    (letter,) = [json.loads(line) for line in listed.splitlines()]
    assert letter["state"] == "keyless" and "twice" in letter["reason"]


def two_queues(onceguard, folder, broker, own_upstream, **table):
    queues = [broker(), broker()]
    for one in queues:
        one.send("x", "m1")
    return Consumer(onceguard, folder, [
        {"subscriber": "billing", "to": own_upstream.url, **one.tables, **table}
        for one in queues])


def test_one_subscriber_of_two_queues_is_refused_unless_said(broker, onceguard, tmp_path,
                                                             own_upstream):
    consumer = two_queues(onceguard, tmp_path, broker, own_upstream)
    refused = consumer.command("check")
    assert refused.returncode == 3 and "shares_subscriber" in refused.stdout + refused.stderr
    assert consumer.command("consume").returncode == 3
    consumer = two_queues(onceguard, tmp_path, broker, own_upstream, shares_subscriber=True)
    try:
        consumer.start()
        settled(consumer, 2)
        assert sorted(outcomes(consumer)) == ["duplicate", "handled"]
    finally:
        consumer.stop(signal.SIGKILL)


def test_an_id_over_the_limit_is_cut_where_it_is_shown(broker, begin, own_upstream):
    queues = broker()
    long = "\u00e9" * 5_000
    queues.send("x", headers=[("event-id", long)])
    consumer = begin(queues, id="header:event-id")
    settled(consumer, 1)
    (dead,) = consumer.events("message-dead")
    assert dead["message"] == "\u00e9" * 32 + "\u2026 (10000 bytes)"
    assert "has 1 to 255 bytes, and this one has 10000" in dead["reason"]
    assert own_upstream.requests() == []
    shown = consumer.command("messages", "list", "--wait", "1500ms").stdout
    assert "(10000 bytes)" in shown and len(shown) < 1_000
