"""A gateway that starts without its Redis."""

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until


def stored_once(gateway, upstream, key):
    first = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.status != 503), None),
                       20, "the store in use")
    assert_replay_of(gateway.post(key=key), assert_first(first))
    assert upstream.runs(key) == 1


def start(start_gateway, upstream, redis, **store):
    url = f"redis://127.0.0.1:{redis.port.number}"
    return start_gateway(upstream, {"store": {"url": url, **store}})


def refused_for(gateway, why, key):
    assert gateway.get("/").status == 201, "unguarded requests need no store"
    assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    line, = gateway.logged("store-not-opened")
    assert why in line["why"], line


def test_redis_that_starts_after_the_gateway(start_gateway, own_upstream, redis, key):
    gateway = start(start_gateway, own_upstream, redis)
    refused_for(gateway, "Connection refused", key)
    redis.start()
    stored_once(gateway, own_upstream, key)
    assert gateway.logged("store-opened")[0]["store"] == "redis"
    assert gateway.stop() == 0


def test_an_eviction_policy_that_is_mended_after_the_start(start_gateway, own_upstream, redis, key):
    redis.start()
    assert redis.run("CONFIG SET maxmemory-policy allkeys-lru") == b"+OK\r\n"
    gateway = start(start_gateway, own_upstream, redis)
    refused_for(gateway, "maxmemory-policy is allkeys-lru", key)
    assert redis.run("CONFIG SET maxmemory-policy noeviction") == b"+OK\r\n"
    stored_once(gateway, own_upstream, key)


def test_a_password_that_is_mended_after_the_start(start_gateway, own_upstream, redis, key):
    redis.start()
    assert redis.run("CONFIG SET requirepass secret") == b"+OK\r\n"
    gateway = start(start_gateway, own_upstream, redis)
    refused_for(gateway, "NOAUTH", key)
    assert redis.run("AUTH secret") == b"+OK\r\n"
    redis.stop()
    redis.start()  # without the password
    stored_once(gateway, own_upstream, key)
