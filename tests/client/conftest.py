"""Fixtures of the suites of the client."""

import pytest

from support.names import Names
from support.scripted_upstream import ScriptedUpstreams


@pytest.fixture
def scripted():
    """Makes upstreams that follow a script."""
    running = ScriptedUpstreams()
    yield running
    running.close()


@pytest.fixture
def names(onceguard):
    """Host names whose look-ups a test lets hang."""
    return Names(onceguard)
