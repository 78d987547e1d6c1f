"""Waiting for a twin that runs in another gateway on the same store."""

import contextlib

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

CROWD = 64


class PostgresPlace:
    """A database that several gateways share."""

    CONNECTIONS = 4

    def __init__(self, server):
        self.server = server
        self.database = server.create_store()
        self.url = server.url(self.database)

    def sessions(self):
        """What those of both gateways are doing."""
        with self.server.connect() as at:
            return [row[0] for row in at.execute(
                "SELECT state FROM pg_stat_activity WHERE datname = %s"
                " AND application_name = 'onceguard'", (self.database,))]

    def cut(self):
        """Every session breaks, those that listen among them."""
        with self.server.connect() as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          " WHERE datname = %s AND application_name = 'onceguard'",
                          (self.database,))


class RedisPlace:
    """A server that several gateways share."""

    CONNECTIONS = 2

    def __init__(self, server):
        self.server = server
        self.url = server.create_store()

    def sessions(self):
        lines = self.server.run("CLIENT LIST TYPE normal").decode().splitlines()
        return ["idle" for line in lines if "name=onceguard" in line]

    def cut(self):
        self.server.run("CLIENT KILL TYPE pubsub")
        self.server.run("CLIENT KILL TYPE normal")


@pytest.fixture(params=["postgresql", "redis"])
def place(request):
    if request.param == "redis":
        return RedisPlace(request.getfixturevalue("redis_server"))
    return PostgresPlace(request.getfixturevalue("postgres_server"))


@pytest.fixture
def pair(place, start_gateway, own_upstream):
    """Two gateways on one store; what they wait for, and how long, as the test says."""
    def start(**policy):
        config = {"store": {"url": place.url, "connections": place.CONNECTIONS,
                            "timeout": "10s"},
                  "defaults": {"on_busy": "wait", "wait": "60s", **policy}}
        return start_gateway(own_upstream, config), start_gateway(own_upstream, config)
    return start


@contextlib.contextmanager
def running(gateway, upstream, key, plan=None):
    """A request of that key at its upstream, which does not answer before the gate is opened."""
    with gateway.begin_in_time(upstream, key=key, plan={"gate": key, **(plan or {})}) as connection:
        yield connection


@contextlib.contextmanager
def crowd(gateway, key, size=CROWD, plan=None):
    """So many that wait, and say nothing meanwhile."""
    with contextlib.ExitStack() as all_of_them:
        waiters = [all_of_them.enter_context(gateway.begin_post(key=key, plan=plan))
                   for _ in range(size)]
        assert waiters[0].silent_for(0.3) and waiters[-1].silent_for(0.1)
        yield waiters


def test_a_crowd_holds_nobody_up_and_gets_the_first_answer(
        pair, place, own_upstream, key, fresh_key):
    one, other = pair()
    body = {"size": 50_000, "headers": [["Link", "a"], ["Link", "b"], ["X-Kept", "1"]]}
    with running(one, own_upstream, key, body) as request, crowd(other, key) as waiters:
        for _ in range(20):
            assert_first(other.post(key=fresh_key()))
        states = place.sessions()
        assert len(states) <= 2 * place.CONNECTIONS and "idle in transaction" not in states
        assert all(waiter.silent_for(0) for waiter in waiters)
        own_upstream.open(key)
        first = assert_first(request.read())
        for waiter in waiters:
            assert_replay_of(waiter.read(), first)
    assert own_upstream.runs(key) == 1


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_completion_by_the_application_reaches_the_waiters(pair, place, own_upstream, key):
    """Its word comes without a NOTIFY, and long before its answer to the gateway."""
    one, other = pair(effect="transactional")
    with running(one, own_upstream, key) as request, crowd(one, key, 8) as near, \
            crowd(other, key, 16) as far:
        fields = dict(own_upstream.requests(key)[0]["fields"])
        with place.server.connect(place.database) as application:
            application.execute("SELECT onceguard.complete(%s, 201, %s, %s)",
                                (fields["Onceguard-Lease"], [["X-By", "shop"]], b"paid"))
        answers = [waiter.read() for waiter in near + far]
        for answer in answers:
            assert answer.replayed
            assert (answer.status, answer.body, answer.get("X-By")) == (201, b"paid", "shop")
        own_upstream.open(key)
        assert request.read().stored_part() == answers[0].stored_part()
    assert own_upstream.runs(key) == 1


def test_waiters_miss_no_settle_without_a_subscription(pair, place, own_upstream, key):
    """Every connection breaks, those that listen among them, just before the first one ends."""
    one, other = pair()
    with running(one, own_upstream, key) as request, crowd(other, key, 16) as waiters:
        place.cut()
        own_upstream.open(key)
        first = assert_first(request.read())
        for waiter in waiters:
            assert_replay_of(waiter.read(), first)
    assert own_upstream.runs(key) == 1


def test_after_a_release_one_waiter_runs(pair, own_upstream, key):
    one, other = pair()
    with running(one, own_upstream, key, {"status": 404}) as request, \
            crowd(other, key, 16, {"gate": key + "2"}) as waiters:
        own_upstream.open(key)
        assert_first(request.read(), 404)
        own_upstream.arrived(2, key)
        own_upstream.open(key + "2")
        answers = [waiter.read() for waiter in waiters]
        (first,) = [answer for answer in answers if not answer.replayed]
        assert_first(first)
        for answer in answers:
            if answer is not first:
                assert_replay_of(answer, first)
    assert own_upstream.runs(key) == 2


def test_waiters_learn_when_the_other_gateway_dies(pair, own_upstream, key):
    one, other = pair(lease="3s")
    with running(one, own_upstream, key), crowd(other, key, 16) as waiters:
        one.kill()
        for waiter in waiters:
            assert_problem(waiter.read(), 409, "outcome-unknown", False)
    own_upstream.open(key)
    wait_until(lambda: other.state(key) == "unknown")
    assert own_upstream.runs(key) == 1
