"""Payments at a server that is killed at random moments, each sent again until it is answered."""

import collections
import random
import threading

from support.client import Connection
from support.expecting import assert_replay_of
from support.waiting import scaled, wait_until


def send_and_forget(server, key):
    """The request is on its way; its answer may never come."""
    client = Connection(server.address)
    fields = [("Idempotency-Key", f'"{key}"'), ("Authorization", "Bearer of-ada")]
    client.send_request("POST", "/payments", fields, key.encode())
    return client


def paid(server, key):
    """The answer; none while the database still ends the killed server's transaction."""
    answer = server.pay(key.encode(), key)
    assert answer.status in (201, 409), answer
    return answer if answer.status == 201 else None


def assert_paid_once_amid_kills(server):
    """100 payments, and a kill amid each."""
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    pause = threading.Event()
    kinds = collections.Counter()
    keys = [f"k{number}" for number in range(scaled(100, 20))]
    for key in keys:
        client = send_and_forget(server, key)
        pause.wait(moments.choice([0, 0.001, 0.003, 0.01, 0.03]) * moments.random())
        server.kill()
        client.close()
        server.start()
        answer = wait_until(lambda key=key: paid(server, key), timeout=30, what="the payment")
        kinds["replayed" if answer.replayed else "first"] += 1
        if not answer.replayed:
            assert_replay_of(server.pay(key.encode(), key), answer)
    assert collections.Counter(server.payments()) == {key: 1 for key in keys}, seed
    # Some were killed before their commit, and some after it.
    assert kinds["first"] and kinds["replayed"], (seed, kinds)
