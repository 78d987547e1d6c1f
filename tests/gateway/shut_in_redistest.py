"""A gateway on Redis is shut in, and connects anew as before."""

from support.expecting import assert_first, assert_replay_of
from support.shut_in import SHUT_IN, status_of
from support.waiting import wait_until


def test_it_works_and_connects_anew(start_gateway, redis, own_upstream, fresh_key):
    redis.start()
    gateway = start_gateway(own_upstream,
                            {"store": {"url": f"redis://127.0.0.1:{redis.port.number}"}})
    for _ in range(2):
        key = fresh_key()
        first = wait_until(
            lambda key=key: next((a for a in [gateway.post(key=key)] if a.status != 503), None),
            20, "the store in use")
        assert_replay_of(gateway.post(key=key), assert_first(first))
        assert own_upstream.runs(key) == 1
        assert redis.run("CLIENT KILL TYPE normal SKIPME yes").startswith(b":")
    assert status_of(gateway.process.pid) == SHUT_IN
    assert gateway.stop() == 0
