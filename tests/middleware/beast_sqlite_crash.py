"""Exactly once in a transaction of SQLite: the payment server killed at 100 moments."""

from support.killed_payments import assert_paid_once_amid_kills
from support.payments import PaymentServer


def test_each_payment_is_made_once_whenever_the_server_is_killed(tmp_path):
    server = PaymentServer("beast-sqlite", tmp_path / "shop.db")
    try:
        assert_paid_once_amid_kills(server)
    finally:
        server.close()
