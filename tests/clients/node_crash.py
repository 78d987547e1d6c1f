"""Services in Node, killed amid requests."""

import pytest

from clients.node_programs import EXAMPLES, example
from clients.serving import amid_kills, share_of_kills

LEASE = {"defaults": {"lease": "2s"}}
frameworks = pytest.mark.parametrize("framework", EXAMPLES)


@frameworks
def test_services_that_are_killed_run_nothing_twice(framework, start_serve, start_service,
                                                    fresh_key, tmp_path):
    service = start_service(example(framework, tmp_path), start_serve(LEASE))
    amid_kills(service, service, share_of_kills(200), fresh_key, in_time=20)
