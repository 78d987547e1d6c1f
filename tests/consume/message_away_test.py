"""An endpoint answers one message as if it were away, and handles all others: none waits for it.

And an orderly end costs what waits one delivery.
"""

import contextlib
import json

import pika
import pytest

from support.consumer import Consumer
from support.counting_brokers import RabbitServer
from support.waiting import wait_until


@pytest.fixture(scope="module")
def server():
    with contextlib.closing(RabbitServer()) as running:
        yield running


@pytest.fixture
def broker(server):
    return server.renew(20)


@pytest.fixture
def consumer(onceguard, tmp_path, broker, own_upstream):
    own_upstream.plan("/", {"status": 201})
    made = Consumer(onceguard, tmp_path, [{
        "subscriber": "billing", "from": broker.url, "dead_letter": broker.dead_url,
        "to": own_upstream.url + "/events", "attempts": 3, "backoff": "100ms",
        "backoff_max": "200ms", "headers": ["X-Trace-Plan"]}])
    yield made
    made.stop()


def publish(broker, name, status):
    """A message that always gets this status."""
    planned = pika.BasicProperties(message_id=name, delivery_mode=2,
                                   headers={"X-Trace-Plan": json.dumps({"status": status})})
    broker.channel.basic_publish("", broker.work, b"payload", planned)


def handled(upstream):
    """How many of the messages m0, m1 … have arrived."""
    return sum(name.startswith("m") for name in upstream.effects())


def test_a_message_that_alone_gets_503_is_dead_after_its_attempts(broker, own_upstream, consumer):
    publish(broker, "poison", 503)
    broker.publish([f"m{number}" for number in range(20)])
    consumer.start()
    wait_until(lambda: handled(own_upstream) == 20, 30, "the good ones")
    more = iter(range(20, 10_000))

    def is_dead():
        broker.publish([f"m{next(more)}"])
        return consumer.events("message-dead")
    wait_until(is_dead, 30, "its end")
    [dead] = consumer.events("message-dead")
    assert (dead["message"], dead["reason"]) == ("poison", "the endpoint answered 503")
    # A probe that found no other message to try proves nothing, and may have come between.
    failed = [one for one in consumer.events("message-failed") if one["message"] == "poison"]
    assert 2 <= len(failed) == own_upstream.runs("poison") - 1
    wait_until(lambda: broker.left() == (0, 1), 30, "an empty queue")


def test_a_message_that_gets_429_waits_and_is_never_dead(broker, own_upstream, consumer):
    publish(broker, "limited", 429)
    consumer.start()
    more = iter(range(10_000))

    def tried():
        broker.publish([f"m{next(more)}"])
        return own_upstream.runs("limited") >= 6
    wait_until(tried, 30, "more tries than attempts")
    published = next(more)
    wait_until(lambda: handled(own_upstream) == published, 30, "the good ones")
    assert not consumer.events("message-dead")


def test_an_orderly_end_costs_one_delivery(broker, consumer):
    config = consumer.config.read_text().replace('"100ms"', '"1h"').replace('"200ms"', '"1h"')
    consumer.config.write_text(config)
    publish(broker, "m1", 404)
    publish(broker, "m2", 404)
    for _ in range(2):
        consumer.start()
        wait_until(lambda: broker.left()[0] == 0, 30, "the deliveries")
        consumer.stop()
        wait_until(lambda: broker.left()[0] == 2, 30, "what was given back")
    for _ in range(2):
        method, properties, _ = broker.channel.basic_get(broker.work)
        assert properties.headers["x-delivery-count"] == 2
        broker.channel.basic_ack(method.delivery_tag)
