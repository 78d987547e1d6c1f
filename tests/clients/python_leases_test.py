"""Leases of work in the examples of the Python client, which outlive their length and a restart of
`onceguard serve`. All servers are asked at once, so that a lease is waited for once."""

import pytest

from clients.python_examples import CONFIG, LEASE, SERVERS, Examples
from clients.serving import answered
from support.waiting import Stopwatch


@pytest.fixture
def examples(onceguard, tmp_path_factory):
    made = Examples(onceguard, tmp_path_factory, CONFIG)
    yield made
    made.close()


def outlives_its_lease(examples, fresh_key, restarts, seconds):
    """Work of so many seconds. False: the machine was too slow to see it run all the time."""
    running = [(name, examples.service(name), fresh_key()) for name in SERVERS]
    slow, clock = {"delay": int(seconds * 1000)}, Stopwatch()
    first = {name: service.begin_post(key, slow) for name, service, key in running}
    for _, service, key in running:
        service.ran(key)
    if restarts:
        examples.serve.kill()
        examples.serve.start()
    pauses = [service.begin_post(fresh_key(), {"delay": LEASE * 1500})
              for _, service, _ in running]
    for pause in pauses:  # so long, the leases were over if nobody renewed them
        assert answered(pause).status == 201
    meanwhile = {name: service.post(key, slow).problem for name, service, key in running}
    in_time = clock.seconds < seconds
    assert not in_time or set(meanwhile.values()) == {"in-progress"}, meanwhile
    for name, service, key in running:
        assert answered(first[name]).status == 201, name
        assert (service.post(key, slow).replayed, service.effects()[key]) == (True, 1), name
    return in_time


@pytest.mark.parametrize("restarts", [False, True])
def test_work_outlives_its_lease_while_its_process_lives(examples, fresh_key, restarts):
    assert any(outlives_its_lease(examples, fresh_key, restarts, LEASE * times)
               for times in (3.5, 10, 25))
