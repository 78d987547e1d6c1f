"""Exactly once in a transaction: the payment server killed at 100 moments, and each request sent
again until it has its answer."""

import collections
import random
import threading

from support.client import Connection
from support.expecting import assert_replay_of
from support.payments import PaymentServer
from support.waiting import scaled


def send_and_forget(server, key):
    """The request is on its way; its answer may never come."""
    client = Connection(server.address)
    fields = [("Idempotency-Key", f'"{key}"'), ("Authorization", "Bearer of-ada")]
    client.send_request("POST", "/payments", fields, key.encode())
    return client


def test_each_payment_is_made_once_whenever_the_server_is_killed(tmp_path):
    server = PaymentServer("beast-sqlite", tmp_path / "shop.db")
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    pause = threading.Event()
    kinds = collections.Counter()
    keys = [f"k{number}" for number in range(scaled(100, 20))]
    try:
        for key in keys:
            client = send_and_forget(server, key)
            pause.wait(moments.choice([0, 0.001, 0.003, 0.01, 0.03]) * moments.random())
            server.kill()
            client.close()
            server.start()
            answer = server.pay(key.encode(), key)
            assert answer.status == 201, (seed, answer)
            kinds["replayed" if answer.replayed else "first"] += 1
            if not answer.replayed:
                assert_replay_of(server.pay(key.encode(), key), answer)
        assert collections.Counter(server.payments()) == {key: 1 for key in keys}, seed
        # Some were killed before their commit, and some after it.
        assert kinds["first"] and kinds["replayed"], (seed, kinds)
    finally:
        server.close()
