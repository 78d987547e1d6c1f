"""Upstreams that end a connection which they had let the gateway keep."""

import pytest

from support.expecting import assert_first, assert_problem
from support.waiting import Stopwatch, wait_until

READ = [("head",), ("rest",)]
EVENT = "upstream-ends-kept-connections"


def test_who_ends_each_one_a_little_later_costs_one_key_at_most(start_gateway, scripted,
                                                               fresh_key):
    """It looks open while the request is written, and ends before that is read."""
    upstream = scripted.add(*READ, ("answer",), ("pause", 0.05), ("fin",), always=True)
    gateway = start_gateway(upstream.url, {"gateway": {"threads": 1}})
    keys = [fresh_key() for _ in range(20)]
    statuses = [gateway.post(key=key).status for key in keys]
    assert set(statuses) <= {201, 502}
    assert statuses.count(502) <= 1, statuses
    assert len(gateway.logged(EVENT)) == 1
    assert all(upstream.whole[key] == (status == 201) for key, status in zip(keys, statuses))


def test_who_ends_each_one_at_once_costs_no_key(start_gateway, scripted, fresh_key):
    upstream = scripted.add(*READ, ("answer",), ("fin",), always=True)
    gateway = start_gateway(upstream.url, {"gateway": {"threads": 1}})
    for count in range(1, 11):
        assert_first(gateway.post(key=fresh_key()))
        wait_until(lambda: upstream.accepted == count and upstream.ended == count)
    assert len(gateway.logged(EVENT)) == 1


def test_what_broke_on_a_kept_one_is_unknown_and_not_sent_twice(start_gateway, scripted,
                                                               fresh_key):
    """Nobody knows what the upstream did with it."""
    def breaks_on_it():
        """Not where a busy machine sends the second so late that it has one of its own."""
        upstream = scripted.add(*READ, ("answer",), *READ, ("fin",))
        gateway = start_gateway(upstream.url, {"gateway": {"threads": 1}})
        with gateway.connect() as connection:
            def post(key):
                connection.send_request("POST", "/", [("Idempotency-Key", key)], b"{}")
                return connection.read()

            clock = Stopwatch()
            assert_first(post(fresh_key()))
            key = fresh_key()
            answer = post(key)
            if upstream.accepted == 2 and clock.seconds > 0.9:
                return False
            assert_problem(answer, 502, "upstream-broken", True)
            assert upstream.whole[key] == 1 and upstream.accepted == 1
            assert gateway.state(key) == "unknown"
            for accepted in (2, 3):  # from now on each has one of its own
                assert_first(post(fresh_key()))
                assert upstream.accepted == accepted
        assert len(gateway.logged(EVENT)) == 1
        return True
    assert any(breaks_on_it() for _ in range(5))


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_an_unguarded_request_that_may_have_had_an_effect_is_not_repeated(start_gateway, scripted,
                                                                          method):
    upstream = scripted.add(*READ, ("answer",), *READ, ("fin",))
    gateway = start_gateway(upstream.url, {"gateway": {"threads": 1}})
    with gateway.connect() as connection:
        connection.send_request("GET", "/")
        assert connection.read().status == 201
        connection.send_request(method, "/", [], b"")
        assert_problem(connection.read(), 502, "upstream-broken", True)
    assert upstream.whole[None] == 2 and upstream.accepted == 1


def test_an_unguarded_request_on_a_broken_kept_connection_is_repeated(start_gateway, scripted,
                                                                      fresh_key):
    """Sent again where it may be, and the next guarded one takes no risk."""
    def is_repeated():
        """The upstream is only suspected of what it ended within a second, and a busy machine may
        be later."""
        upstream = scripted.add(*READ, ("answer",), *READ, ("fin",))
        gateway = start_gateway(upstream.url, {"gateway": {"threads": 1}})
        with gateway.connect() as connection:
            clock = Stopwatch()
            connection.send_request("GET", "/")
            assert connection.read().status == 201
            connection.send_request("GET", "/")
            assert connection.read().status == 201
            assert upstream.accepted == 2
            if clock.seconds > 0.9:
                return False
            connection.send_request("POST", "/", [("Idempotency-Key", fresh_key())], b"")
            assert_first(connection.read())
            assert upstream.accepted == 3
        assert len(gateway.logged(EVENT)) == 1
        return True
    assert any(is_repeated() for _ in range(5))
