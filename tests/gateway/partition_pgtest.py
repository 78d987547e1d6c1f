"""The network between the gateway and its store is cut: packets vanish, are refused, or get through
one way only. Where this user may have no network of its own, a proxy that holds them up stands for
all of these, and a warning says so."""

import concurrent.futures
import contextlib
import warnings

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.hanging_commits import commits_that_hang
from support.postgres import Postgres
from support.private_network import CUTS, STORE, PrivateNetwork
from support.redis import Redis
from support.tcp_gate import TcpGate
from support.waiting import Stopwatch, wait_until


@pytest.fixture(scope="module", autouse=True)
def network():
    try:
        made = PrivateNetwork()
    except OSError as why:
        warnings.warn(f"no network can be cut here, so a proxy holds packets up instead: {why}")
        made = None
    yield made
    if made is not None:
        made.close()


class Store:
    """One on a server of its own, and the way to it."""

    def __init__(self, network, engine):
        self.network, self.gate = network, None
        if engine == "redis":
            self.server = Redis({"bind": f"127.0.0.1 {STORE}", "appendonly": "yes",
                                 "appendfsync": "always"})
        else:
            self.server = Postgres({"listen_addresses": f"'127.0.0.1,{STORE}'"})
            with open(self.server.cluster / "pg_hba.conf", "a", encoding="utf-8") as rules:
                rules.write("host all all 127.0.0.0/8 trust\n")
        self.server.start()
        address = f"{STORE}:{self.server.port.number}"
        if network is None:
            self.gate = TcpGate(self.server.port.number)
            address = f"127.0.0.1:{self.gate.port}"
        self.url = f"redis://{address}" if engine == "redis" else \
            f"postgresql://postgres@{address}/{self.server.create_store()}"

    def cut(self, how):
        if self.gate is not None:
            return self.gate.holding()
        return self.network.cut(how, self.server.port.number)

    def close(self):
        if self.gate is not None:
            self.gate.close()
        self.server.close()


@pytest.fixture(scope="module", params=["postgresql", "redis"])
def store(request, network):
    with contextlib.closing(Store(network, request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def postgres(network):
    with contextlib.closing(Store(network, "postgresql")) as made:
        yield made


def start_on(store, start_gateway, upstream, lease="60s", settle_wait="60s"):
    return start_gateway(upstream, {
        "store": {"url": store.url, "timeout": "1s"}, "defaults": {"lease": lease},
        "gateway": {"replay_cache": "0", "settle_wait": settle_wait}})


REPEATABLE = ("store-unreachable", "in-progress", "overloaded")


def passes(seconds):
    clock = Stopwatch()
    wait_until(lambda: clock.seconds >= seconds, timeout=seconds, what="the time")


def answered(gateway, key):
    """The answer once the way is free; until then only what a client may repeat."""
    def final():
        answer = gateway.post(key=key)
        if answer.status == 201 or answer.problem == "outcome-unknown":
            return answer
        assert answer.problem in REPEATABLE, answer
        return None
    return wait_until(final, timeout=30, what="an answer")


@contextlib.contextmanager
def running_request(gateway, upstream, key):
    """One that has arrived upstream: a store that a busy machine holds up may refuse it first."""
    def begun():
        connection = gateway.begin_post(key=key, plan={"gate": key})
        wait_until(lambda: upstream.runs(key) or not connection.silent_for(0.01), what="a run")
        if upstream.runs(key):
            return connection
        with connection:
            answer = connection.read()
        assert answer.problem in REPEATABLE, answer
        return None
    with wait_until(begun, timeout=30, what="the request upstream") as connection:
        yield connection


@pytest.mark.parametrize("how", list(CUTS))
def test_a_cut_at_the_claim_sends_nothing(store, how, start_gateway, own_upstream, fresh_key):
    gateway = start_on(store, start_gateway, own_upstream)
    before = fresh_key()
    first = assert_first(answered(gateway, before))
    keys = [fresh_key() for _ in range(4)]
    with store.cut(how):
        with concurrent.futures.ThreadPoolExecutor(len(keys)) as pool:
            for answer in pool.map(lambda key: gateway.post(key=key), keys):
                assert_problem(answer, 503, "store-unreachable", True, retry_after=True)
        assert own_upstream.effects() == {before: 1}
    for key in keys:
        assert answered(gateway, key).status == 201
    assert_replay_of(answered(gateway, before), first)
    assert own_upstream.effects() == {key: 1 for key in [before, *keys]}


@pytest.mark.parametrize("how", list(CUTS))
def test_a_cut_at_the_settle_is_waited_out(store, how, start_gateway, own_upstream, fresh_key):
    gateway = start_on(store, start_gateway, own_upstream)
    key = fresh_key()
    with running_request(gateway, own_upstream, key) as running:
        with store.cut(how):
            own_upstream.open(key)
            wait_until(lambda: own_upstream.effects() == {key: 1}, what="the effect")
            passes(1.5)  # longer than the store's timeout: the settle is tried again
        first = assert_first(running.read())
    assert_replay_of(answered(gateway, key), first)
    assert own_upstream.effects() == {key: 1}


@pytest.mark.parametrize("how", list(CUTS))
def test_a_cut_that_outlasts_the_lease_is_no_second_run(store, how, start_gateway, own_upstream,
                                                        fresh_key):
    gateway = start_on(store, start_gateway, own_upstream, lease="1s", settle_wait="1s")
    other = start_on(store, start_gateway, own_upstream, lease="1s", settle_wait="1s")
    key = fresh_key()
    with running_request(gateway, own_upstream, key) as running:
        with store.cut(how):
            passes(2.5)  # no renewal gets through, and the lease ends
            own_upstream.open(key)
            reply = running.read()
    last = [answered(each, key) for each in (gateway, other)]
    assert own_upstream.runs(key) == 1
    assert {answer.status == 201 for answer in last} in ({True}, {False}), last
    if reply.status == 201 and last[0].status == 201:
        assert last[0].body == reply.body


@pytest.mark.parametrize("how", list(CUTS))
def test_a_cut_during_a_flush_leaves_one_effect(postgres, how, start_gateway, own_upstream,
                                                fresh_key):
    """The server has the commit, and its answer is not under way yet."""
    gateway = start_on(postgres, start_gateway, own_upstream)
    keys = [fresh_key() for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(keys)) as pool:
        with contextlib.ExitStack() as cutting:
            with commits_that_hang(postgres.server):
                asked = [pool.submit(gateway.post, key=key) for key in keys]
                with postgres.server.connect() as session:
                    # One of them is of commits_that_hang.
                    wait_until(lambda: session.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                        ).fetchone()[0] >= 2, what="claims that hang")
                cutting.enter_context(postgres.cut(how))
            passes(1.5)  # longer than the store's timeout
        for each in asked:
            answer = each.result()
            assert answer.status == 201 or answer.problem in ("store-unreachable", "in-progress")
    for key in keys:
        assert answered(gateway, key).status == 201
    assert own_upstream.effects() == {key: 1 for key in keys}
