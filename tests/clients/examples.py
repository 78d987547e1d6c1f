"""The example service of any language, by its name."""

from clients import node_programs
from clients.python_examples import ENVIRONMENT, SERVERS


def example_of(name, request, folder):
    """Its command and its environment. Those in Go need the fixture `built`."""
    if name in SERVERS:
        return SERVERS[name], ENVIRONMENT
    if name in node_programs.EXAMPLES:
        return node_programs.example(name, folder), {}
    return [request.getfixturevalue("built")[name]], {}
