"""Exactly once in a transaction of SQLite: the payment servers killed at 100 moments."""

import pytest

from support.killed_payments import assert_paid_once_amid_kills, payments_amid_kills
from support.payments import IN_SQLITE


@pytest.mark.parametrize("example", IN_SQLITE)
def test_each_payment_is_made_once_whenever_the_server_is_killed(start_payments, example):
    assert_paid_once_amid_kills(start_payments(example))


def test_without_a_key_some_payments_are_made_twice(start_payments):
    server = start_payments("beast-sqlite")
    payments_amid_kills(server, keyed=False)
    assert len(server.payments()) > len(set(server.payments()))
