"""Endpoint and store are away while a broker counts deliveries: nothing is lost or doubled.

At the scale 1: 10,000 messages, and two minutes for each outage.
"""

import contextlib

import pytest

from support.consumer import Consumer, outcomes, settled
from support.counting_brokers import NatsServer, RabbitServer
from support.redis import Redis
from support.waiting import SCALE, Stopwatch, scaled, wait_until

MESSAGES = scaled(10_000)
OUTAGE = max(2.5, 120 * SCALE * SCALE)  # seconds


@pytest.fixture
def store():
    running = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    yield running
    running.close()


@pytest.fixture(scope="module", params=[(RabbitServer, 20), (NatsServer, 3)],
                ids=["rabbitmq", "nats"])
def server(request):
    kind, limit = request.param
    with contextlib.closing(kind()) as running:
        yield running, limit


@pytest.fixture
def broker(server):
    running, limit = server
    return running.renew(limit)


@pytest.fixture
def consumer(onceguard, tmp_path, broker, store, own_upstream):
    table = {"subscriber": "billing", "from": broker.url, "dead_letter": broker.dead_url,
             "to": own_upstream.url + "/events", "attempts": 2, "backoff": "100ms",
             "backoff_max": "200ms"}
    made = Consumer(onceguard, tmp_path, [table], f"redis://127.0.0.1:{store.port.number}")
    yield made
    made.stop()


def effect_count(upstream):
    return upstream.effects_path.read_bytes().count(b"\n") if upstream.effects_path.exists() else 0


def outage(consumer, event):
    """Lasts as long as it has to, and until it was noticed."""
    lasted = Stopwatch()
    wait_until(lambda: lasted.seconds >= OUTAGE and consumer.events(event), OUTAGE + 10,
               "the end of the outage")


def test_nothing_is_lost_or_doubled_over_outages_of_endpoint_and_store(
        broker, store, own_upstream, consumer):
    ids = [f"m{number}" for number in range(MESSAGES)]
    own_upstream.plan("/", {"status": 201})
    consumer.start()
    broker.publish(ids[:MESSAGES // 3])
    # An endpoint that goes away amid a request leaves its outcome unknown: that is another test.
    wait_until(lambda: effect_count(own_upstream) >= MESSAGES // 3, 60, "the first effects")
    own_upstream.refuse()
    broker.publish(ids[MESSAGES // 3:2 * MESSAGES // 3])
    outage(consumer, "consume-circuit-open")
    before = effect_count(own_upstream)
    own_upstream.listen()
    wait_until(lambda: effect_count(own_upstream) > before, 60, "effects after the outage")
    store.crash()
    broker.publish(ids[2 * MESSAGES // 3:])
    outage(consumer, "store-away")
    store.start()
    wait_until(lambda: effect_count(own_upstream) >= MESSAGES and broker.left()[0] == 0,
               max(60, 300 * SCALE), "all messages")
    effects = own_upstream.effects()
    assert sorted(effects) == sorted(ids), "none is lost"
    assert set(effects.values()) == {1}, "none is doubled"
    assert broker.left() == (0, 0), "no dead letters"
    assert not consumer.events("message-dead")
    assert not consumer.events("message-unknown")


def test_attempts_are_not_spent_while_the_endpoint_is_away(broker, own_upstream, consumer):
    """The own two attempts and NATS's limit of three deliveries are fewer than the tries."""
    own_upstream.plan("/", {"status": 503})
    consumer.start()
    broker.publish(["m1"])
    wait_until(lambda: len(consumer.events("message-failed")) >= 5, 60, "five tries")
    assert len(consumer.events("consume-circuit-open")) == 1
    own_upstream.plan("/", {"status": 201})
    wait_until(lambda: consumer.events("consume-circuit-closed"), 60, "the circuit closed")
    settled(consumer, 1)
    wait_until(lambda: broker.left()[0] == 0, 30, "the acknowledgement")
    assert outcomes(consumer) == ["handled"]
    assert broker.left() == (0, 0)
