"""The examples of the Python client, under each server, pass the conformance kit."""

import pytest

from clients.python_examples import CONFIG, QUICK, SERVERS, start_example  # noqa: F401


@pytest.mark.parametrize("name", SERVERS)
def test_every_example_keeps_the_whole_contract(name, start_serve, start_example, kit):
    example = start_example(name, start_serve(CONFIG))
    assert kit(example.url).failed(*QUICK) == {}
