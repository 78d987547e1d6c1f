"""Payments at a server that is killed at random moments, each sent again until it is answered."""

import collections
import random
import threading

from support.client import Connection
from support.expecting import assert_replay_of
from support.waiting import scaled, wait_until


def send_and_forget(server, key, keyed):
    """The request is on its way; its answer may never come."""
    client = Connection(server.address)
    fields = [("Authorization", "Bearer of-ada")]
    if keyed:
        fields.append(("Idempotency-Key", f'"{key}"'))
    client.send_request("POST", "/payments", fields, key.encode())
    return client


def paid(server, key, keyed):
    """The answer; none while the database still ends the killed server's transaction."""
    answer = server.pay(key.encode(), key if keyed else None)
    assert answer.status in (201, 409), answer
    return answer if answer.status == 201 else None


def payments_amid_kills(server, keyed=True):
    """Makes 100 payments, with a kill amid each; the seed, and each answer."""
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    pause = threading.Event()
    answers = {}
    for number in range(scaled(100, 20)):
        key = f"k{number}"
        client = send_and_forget(server, key, keyed)
        if number % 5 == 0:  # However slow the machine is, some are killed after their commit.
            wait_until(lambda key=key: key in server.payments(), timeout=30, what="the commit")
        else:
            pause.wait(moments.choice([0, 0.001, 0.003, 0.01, 0.03]) * moments.random())
        server.kill()
        client.close()
        server.start()
        answers[key] = wait_until(lambda key=key: paid(server, key, keyed), timeout=30,
                                  what="the payment")
    return seed, answers


def assert_paid_once_amid_kills(server):
    seed, answers = payments_amid_kills(server)
    for key, answer in answers.items():
        if not answer.replayed:
            assert_replay_of(server.pay(key.encode(), key), answer)
    assert collections.Counter(server.payments()) == {key: 1 for key in answers}, seed
    # Some were killed before their commit, and some after it.
    assert {answer.replayed for answer in answers.values()} == {True, False}, seed
