"""Services in Node, one in each framework, pass the conformance kit."""

import pytest

from clients.node_programs import EXAMPLES, example

frameworks = pytest.mark.parametrize("framework", EXAMPLES)


@frameworks
def test_the_service_conforms(framework, start_serve, start_service, kit, tmp_path):
    service = start_service(example(framework, tmp_path), start_serve())
    assert kit(service.url).failed("--jobs", "4", "--long-work", "3") == {}
