"""A Redis whose policy is changed to one that evicts, as a managed service's parameters can be."""

import pytest

from support.expecting import assert_first, assert_problem
from support.redis import Redis
from support.tiered import CACHELESS
from support.waiting import wait_until


@pytest.fixture
def redis():
    """Its memory is a test's own to fill."""
    running = Redis()
    yield running.start()
    running.close()


@pytest.fixture
def gateway(start_gateway, upstream, redis):
    return start_gateway(upstream, {
        "gateway": CACHELESS,
        "store": {"url": redis.create_store(), "after_loss": "refuse", "timeout": "5s"},
        "defaults": {"lease": "60s", "upstream_timeout": "60s"}})


def set_memory(redis, policy, bound):
    assert redis.run(f"CONFIG SET maxmemory-policy {policy}") == b"+OK\r\n"
    assert redis.run(f"CONFIG SET maxmemory {bound}") == b"+OK\r\n"


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru"])
def test_what_was_evicted_does_not_run_again(gateway, redis, upstream, fresh_key, policy):
    keys = [fresh_key() for _ in range(20)]
    for key in keys:
        assert_first(gateway.post(key=key))
    set_memory(redis, policy, 1)
    gateway.says(f"maxmemory-policy is {policy}")
    set_memory(redis, "noeviction", 0)
    gateway.says("store-lost-its-memory")
    for key in keys:
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
        assert upstream.runs(key) == 1


def test_a_policy_that_evicts_stops_new_runs_before_anything_is_gone(gateway, redis, upstream,
                                                                    fresh_key):
    set_memory(redis, "allkeys-lfu", 0)
    gateway.says("maxmemory-policy is allkeys-lfu")
    key = fresh_key()
    assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    assert upstream.runs(key) == 0
    set_memory(redis, "noeviction", 0)
    wait_until(lambda: gateway.post(key=key).status == 201, what="the store being trusted again")
    assert upstream.runs(key) == 1
    assert "store-lost-its-memory" not in gateway.log()
