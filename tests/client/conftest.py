"""Fixtures of the suites of the client."""

import pytest

from support.scripted_upstream import ScriptedUpstreams


@pytest.fixture
def scripted():
    """Makes upstreams that follow a script."""
    running = ScriptedUpstreams()
    yield running
    running.close()
