"""The `onceguard serve` beside services in Node, killed amid their requests."""

import pytest

from clients.node_programs import EXAMPLES, example
from clients.serving import amid_kills, share_of_kills

LEASE = {"defaults": {"lease": "2s"}}
frameworks = pytest.mark.parametrize("framework", EXAMPLES)


@frameworks
def test_nothing_is_lost_or_doubled(framework, start_serve, start_service, fresh_key, tmp_path):
    serve = start_serve(LEASE)
    service = start_service(example(framework, tmp_path), serve)
    ends = amid_kills(serve, service, share_of_kills(200), fresh_key, in_time=20)
    # The service lived on, so that each work was settled after all.
    assert {last.status for _, _, last in ends} == {201}
