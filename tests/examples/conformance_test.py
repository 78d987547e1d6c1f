"""The servers of examples/ that have the middleware in them pass the conformance kit."""

import pytest

from support.conformance import Kit
from support.payments import SERVERS, level_of


@pytest.mark.parametrize("example", SERVERS)
def test_the_server_conforms(example, onceguard, start_payments):
    server = start_payments(example)
    kit = Kit(onceguard, "http://%s:%d" % server.address)
    assert kit.failed("--level", level_of(example)) == {}
