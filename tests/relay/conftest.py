"""The outbox and the relays of relay_pgtest.py, for the other suites of this folder."""

from relay.relay_pgtest import relay, shop

__all__ = ["relay", "shop"]
