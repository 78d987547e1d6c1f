"""A stream of Redis for each test, and `onceguard consume` on it."""

import itertools
import signal

import pytest

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
