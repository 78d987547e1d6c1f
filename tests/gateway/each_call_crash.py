"""The gateway dies before each system call of a guarded request in turn: between any two steps."""

import itertools

from support.crash_point import CrashPoint
from support.expecting import assert_first, assert_replay_of
from support.stores import on_each_store_of_one_gateway
from support.waiting import wait_until


def whole_answer(gateway, key):
    """None where the gateway died before it was complete."""
    try:
        answer = gateway.post(key=key)
    except OSError:
        return None
    return None if answer.truncated else answer


def die_at_each_call(gateway, point, upstream):
    """By key, the call before which the gateway died, and the answer if one came all the same."""
    deaths = {}
    # Threads take turns as they like, so each number is tried more than once.
    tries = (number for number in itertools.count(1) for _ in range(3))
    survived = 0
    while survived < 3:
        number = next(tries)
        key = f"call-{number}-{len(deaths)}-{survived}"
        point.set(number)
        answer = whole_answer(gateway, key)
        if answer and answer.problem == "overloaded":
            # A busy machine left too little of the lease to begin: no try, and nothing ran.
            assert gateway.left_no_time(answer)
            assert key not in upstream.effects(), key
            answer = None
            if not point.reached():
                continue
        if answer:
            assert_first(answer)
        survived = survived + 1 if answer and not point.reached() else 0
        if survived == 0:
            assert gateway.wait() == -9
            deaths[key] = (point.reached(), answer)
            # A death that came late, of the number before, leaves this one for the start.
            point.set(0)
            gateway.start()
    point.set(0)
    return deaths


@on_each_store_of_one_gateway
def test_no_key_runs_twice_wherever_the_gateway_dies(start_gateway, own_upstream, store, onceguard):
    point = CrashPoint(onceguard)
    gateway = start_gateway(own_upstream, {"store": store, "defaults": {"lease": "1s"}},
                            started=False)
    gateway.environment = point.environment
    gateway.start()
    deaths = die_at_each_call(gateway, point, own_upstream)
    calls = [call for call, _ in deaths.values()]
    assert {"recv", "send"} <= set(calls), calls
    if store.get("url", "journal:").startswith("journal:"):  # or the SQLite file
        # The claim is on disk before the dispatch.
        flushes = {"fdatasync", "pwritev2"} if "url" in store else {"fdatasync"}
        assert flushes & set(calls), calls
    ends = {}

    def ended(key):
        answer = gateway.post(key=key)
        ends[key] = answer
        return answer.status == 201 or answer.problem == "outcome-unknown"
    for key in deaths:
        wait_until(lambda k=key: ended(k), what=f"the end of {key}, dead before {deaths[key]}")
    effects = own_upstream.effects()
    assert [(key, deaths[key]) for key, count in effects.items() if count > 1] == []
    for key, (call, answer) in deaths.items():
        if answer:
            assert_replay_of(ends[key], answer)
        assert effects.get(key) == 1 or ends[key].status != 201, (key, call)
    # Both ends occur: before the claim nothing has happened, behind the dispatch nobody knows.
    assert {end.status == 201 for end in ends.values()} == {True, False}, calls
