"""A stream of Redis for each test, and `onceguard consume` on it."""

import itertools
import signal

import pytest

from support.brokers import KINDS
from support.consumer import Consumer, Stream
from support.redis import Redis

COUNTER = itertools.count()


@pytest.fixture(scope="module")
def redis():
    running = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    yield running
    running.close()


@pytest.fixture
def stream(redis):
    return Stream(redis, f"stream-{next(COUNTER)}")


@pytest.fixture
def consume(onceguard, tmp_path, stream):
    made = []

    def begin(started=True, ready="broker-connected", store=None, **table):
        table = {"subscriber": "billing", "from": stream.url, "dead_letter": stream.dead_url,
                 "backoff": "100ms", "backoff_max": "200ms", "attempts": 3, **table}
        consumer = Consumer(onceguard, tmp_path, [table], store)
        made.append(consumer)
        return consumer.start(ready) if started else consumer

    yield begin
    for consumer in made:
        consumer.stop(signal.SIGKILL)


@pytest.fixture(scope="module", params=KINDS)
def broker(request):
    kind = KINDS[request.param]
    server = kind.server_type().start()
    yield lambda: kind(server)
    server.close()


@pytest.fixture
def queues(broker):
    return broker()


@pytest.fixture
def billing(onceguard, tmp_path, queues, own_upstream):
    """`begin(...)` starts a consumer whose messages go to the upstream."""
    made = []

    def begin(**table):
        table = {"subscriber": "billing", "to": own_upstream.url, "attempts": 2,
                 "backoff": "100ms", "backoff_max": "100ms", **queues.tables, **table}
        consumer = Consumer(onceguard, tmp_path, [table],
                            gateway={"audit_log": str(tmp_path / "audit")})
        made.append(consumer)
        return consumer.start()

    yield begin
    for consumer in made:
        consumer.stop(signal.SIGKILL)
