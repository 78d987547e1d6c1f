"""Once: under concurrency, and with the gateway killed or stopped at the worst moments."""

import asyncio
import collections
import contextlib
import random
import signal
import socket
import uuid

import pytest

from support.client import exchange, fields_for, request_bytes
from support.expecting import assert_first, assert_replay_of
from support.stores import on_each_store_of_one_gateway
from support.waiting import PATIENCE, Stopwatch, scaled, wait_until

BODY = b'{"amount":100}'
TOGETHER = 64


def post_bytes(key, plan=None):
    fields = [("Content-Type", "application/json")] + fields_for(key, plan)
    return request_bytes("POST", "/charges", fields, BODY)


@on_each_store_of_one_gateway
def test_many_rounds_of_concurrent_identical_requests(start_gateway, own_upstream, store):
    # None is refused because a busy machine's store takes its time.
    gateway = start_gateway(own_upstream, {"store": {**store, "timeout": "30s"}})
    rounds = scaled(200, least=10)

    async def one_round(pairs, number):
        key = f"round-{number}-{uuid.uuid4()}"
        data = post_bytes(key, {"delay_ms": number % 4})
        answers = await asyncio.gather(*(exchange(r, w, data) for r, w in pairs))
        reported = collections.Counter(a.problem or ("replay" if a.replayed else "first")
                                   for a in answers)
        assert reported["first"] == 1, reported
        assert set(reported) <= {"first", "replay", "in-progress"}, reported
        first = next(a for a in answers if a.problem is None and not a.replayed)
        assert_first(first)
        for answer in [a for a in answers if a.replayed]:
            assert_replay_of(answer, first)
        assert_replay_of(await exchange(*pairs[number % TOGETHER], data), first)
        return key

    async def run():
        pairs = await asyncio.gather(*(asyncio.open_connection(*gateway.address)
                                       for _ in range(TOGETHER)))
        try:
            return [await one_round(pairs, number) for number in range(rounds)]
        finally:
            for _, writer in pairs:
                writer.close()

    keys = asyncio.run(run())
    effects = own_upstream.effects()
    assert effects == {key: 1 for key in keys}
    assert sum(effects.values()) == rounds


class Load:
    """Customers that send each key several times at once, and try again as clients do."""

    GROUPS = (TOGETHER, 4, 4, 4, 2, 2, 1, 1)
    PATIENCE = 5  # repeats of a key that is said to be in progress, then it is left for later

    def __init__(self, addresses, rng):
        self.addresses = addresses
        self.rng = rng
        self.stopping = False
        self.keys = []
        self.answers = {}  # key: what the first 2xx of it had to repeat
        self.unknown = set()
        self.wrong = []
        self.moved = asyncio.Event()  # another key was answered, or it stops

    async def run(self, until):
        customers = [asyncio.create_task(self.customer(size)) for size in self.GROUPS]
        try:
            await until
        finally:
            self.stopping = True
            self.moved.set()
        await asyncio.gather(*customers)

    async def more(self, count):
        """Until so many more keys were answered."""
        enough = len(self.answers) + count
        while len(self.answers) < enough and not self.stopping:
            self.moved.clear()
            await asyncio.wait_for(self.moved.wait(), 60)

    async def customer(self, size):
        # Repeats of one key go to all gateways.
        lines = [Line(self.addresses[i % len(self.addresses)]) for i in range(size)]
        while not self.stopping:
            key = str(uuid.UUID(int=self.rng.getrandbits(128)))
            self.keys.append(key)
            data = post_bytes(key, {"delay_ms": self.rng.choice((0, 0, 2, 10, 30))})
            await asyncio.gather(*(self.ask(line, key, data) for line in lines))
        for line in lines:
            line.close()

    async def ask(self, line, key, data):
        patience = self.PATIENCE
        while patience and not self.stopping:
            answer = await line.exchange(data)
            if answer is not None and self.final(key, answer):
                return
            if answer is not None:
                patience -= 1
                await asyncio.sleep(0.02)

    def final(self, key, answer):
        """Notes an answer; is there no need to ask again?"""
        if answer.status == 201 and not answer.truncated:
            first = self.answers.setdefault(key, answer.stored_part())
            self.moved.set()
            if first != answer.stored_part():
                self.wrong.append((key, "two answers", first, answer))
            return True
        if answer.problem == "outcome-unknown":
            self.unknown.add(key)
            return True
        # Overloaded: a busy machine left too little of the lease.
        if answer.problem not in ("in-progress", "store-unreachable", "overloaded"):
            self.wrong.append((key, "unexpected", answer))
        return False


class Line:
    """A connection that is made anew whenever it broke."""

    def __init__(self, address):
        self.address = address
        self.pair = None

    async def exchange(self, data):
        """The answer, or None where the gateway was not there."""
        try:
            if self.pair is None:
                self.pair = await asyncio.open_connection(*self.address, limit=1 << 20)
            answer = await exchange(*self.pair, data)
            return None if answer.truncated else answer
        except OSError:
            self.close()
            await asyncio.sleep(0.005)
            return None

    def close(self):
        if self.pair is not None:
            self.pair[1].close()
            self.pair = None


async def kill_again_and_again(gateways, load, rng, times):
    """SIGKILLs at random moments, in turn, each followed by a restart at once."""
    for number in range(times):
        gateway = gateways[number % len(gateways)]
        done = len(load.answers)
        await listening(gateway)
        await asyncio.sleep(rng.uniform(0.0, 0.15))
        if rng.random() < 0.5:  # half of the time not before something was answered
            waited = Stopwatch()
            while len(load.answers) == done and waited.seconds < 5:
                await asyncio.sleep(0.002)
        gateway.kill()
        gateway.start(wait=False)
    for gateway in gateways:
        await listening(gateway)


async def listening(gateway):
    clock = Stopwatch()
    while clock.seconds < 60:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(*gateway.address)
            writer.close()
            return
        assert gateway.process.poll() is None, gateway.log()[-4000:]
        await asyncio.sleep(0.002)
    raise AssertionError("the gateway did not come back")


async def ask_all(address, keys):
    """Each key once more; the answers by key."""
    answers, late = {}, 0
    queue = list(keys)

    async def worker():
        nonlocal late
        pair = await asyncio.open_connection(*address)
        while queue:
            key = queue.pop()
            answers[key] = await exchange(*pair, post_bytes(key))
            for _ in range(PATIENCE):  # a store on a busy machine is too slow now and then
                if answers[key].status != 503:
                    break
                late += 1
                answers[key] = await exchange(*pair, post_bytes(key))
        pair[1].close()
    await asyncio.gather(*(worker() for _ in range(16)))
    assert late <= len(keys) // 4, "refused again and again"
    return answers


@pytest.mark.parametrize("store, fleet", [("sqlite", 1), ("journal", 1), ("postgresql", 1),
                                          ("redis", 1), ("redis", 2), ("dynamodb", 1),
                                          ("dynamodb", 2)],
                         indirect=["store"])
def test_no_key_runs_twice_whenever_a_gateway_dies(fleet, start_gateway, own_upstream, store):
    lease = 2 + fleet  # no holder is to lose it because a busy machine stands still
    # On DynamoDB a lease is over once a gateway has seen it unchanged for so long, and noted that.
    observed = lease + 2 if store.get("url", "").startswith("dynamodb:") else 0
    config = {"defaults": {"lease": f"{lease}s", "unknown": "hold"},
              "store": {"timeout": "5s", **store}}
    gateway = start_gateway(own_upstream, config)
    gateways = [gateway] + [start_gateway(own_upstream, config, database=gateway.database)
                            for _ in range(fleet - 1)]
    rng = random.Random(20240607)
    load = Load([each.address for each in gateways], rng)
    asyncio.run(load.run(kill_again_and_again(gateways, load, rng, scaled(100, least=8))))
    calm = Stopwatch()
    assert load.wrong == []

    # Retries have stopped. Once a lease has passed, every key is settled or known as unknown.
    def settled():
        states = {r["key"]: r["state"] for r in gateway.keys()}
        return states if not {"started", "in_progress", "probing"} & set(states.values()) else None
    states = wait_until(settled, timeout=lease + observed + 10, what="the end of the last lease")
    assert calm.seconds < lease + observed + 20  # and not after the usual lease of 30 s
    assert set(states.values()) <= {"completed", "unknown"}
    assert len(states) >= len(load.answers)

    arrivals = collections.Counter(r["key"] for r in own_upstream.requests(path="/charges"))
    effects = own_upstream.effects()
    assert [k for k, count in arrivals.items() if count > 1] == []
    assert [k for k, count in effects.items() if count > 1] == []
    assert set(arrivals) <= set(states), "an effect that nobody remembers"
    assert all(effects.get(key) == 1 for key, state in states.items() if state == "completed")
    assert all(states[key] == "completed" for key in load.answers)
    assert all(states[key] == "unknown" for key in load.unknown)
    assert "unknown" in states.values(), "no kill met a running request: this shows nothing"

    for each in gateways:
        answers = asyncio.run(ask_all(each.address, states))
        for key, state in states.items():
            answer = answers[key]
            if state == "completed":
                assert answer.replayed, (key, answer)
                assert answer.stored_part() == load.answers.get(key, answer.stored_part())
            else:
                assert answer.problem == "outcome-unknown", (key, answer)
    assert own_upstream.effects() == effects


def test_what_a_dead_process_left_is_held_by_the_other(start_gateway, own_upstream, fresh_key):
    policy = {"defaults": {"lease": "3s"}}
    dying = start_gateway(own_upstream, policy)
    other = start_gateway(own_upstream, policy, database=dying.database)
    keys = [fresh_key() for _ in range(20)]
    left = [dying.begin_in_time(own_upstream, key=key, plan={"gate": "never"}) for key in keys]
    dying.kill()
    for key in keys:
        wait_until(lambda: other.post(key=key).problem == "outcome-unknown")
    for connection in left:
        connection.close()
    assert own_upstream.effects() == {key: 1 for key in keys}
    assert {r["state"] for r in other.keys()} == {"unknown"}


class Gate:
    """A listener that neither accepts nor refuses until it is opened."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.address = self.listener.getsockname()
        self.stuffing = [self.stuff() for _ in range(3)]
        self.ports = {filler.getsockname()[1] for filler in self.stuffing}

    def stuff(self):
        """Fills the queue of connections that wait to be accepted."""
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(self.address)
        return filler

    def open(self):
        """Empties the queue, so that a connection that is still being tried comes through."""
        for filler in self.stuffing:
            filler.close()
        self.listener.settimeout(90)  # tries to connect come after 15 s, and after 31 s again
        while True:
            accepted, peer = self.listener.accept()
            if peer[1] not in self.ports:
                return accepted
            accepted.close()

    def close(self):
        self.listener.close()
        for filler in self.stuffing:
            filler.close()


def test_a_holder_that_was_stopped_before_it_sent_sends_nothing(start_gateway, own_upstream, key):
    """It claimed, was stopped for longer than its lease, another took over; it wakes up."""
    gate = Gate()
    policy = {"defaults": {"lease": "3s", "unknown": "rerun"},
              "gateway": {"connect_timeout": "60s"}}
    stopped = start_gateway("http://127.0.0.1:%d" % gate.address[1], policy)
    other = start_gateway(own_upstream, policy, database=stopped.database)
    with stopped.begin_post(key=key) as waiting, contextlib.closing(gate):
        wait_until(lambda: other.record(key), what="the claim")
        assert own_upstream.runs(key) == 0
        stopped.signal(signal.SIGSTOP)
        first = wait_until(lambda: next((a for a in [other.post(key=key)] if a.status == 201),
                                        None), what="the takeover")
        assert own_upstream.runs(key) == 1
        # Its connection is made while it sleeps, so that it may send when it wakes up.
        with contextlib.closing(gate.open()) as connection:
            stopped.signal(signal.SIGCONT)
            answer = waiting.read()
            connection.settimeout(2)
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                assert connection.recv(1) == b"", "it sent although its lease was over"
    # It was superseded: it sends the stored answer, or says that it does not know.
    if answer.status == 201:
        assert_replay_of(answer, first)
    else:
        assert answer.status == 409 and answer.problem == "outcome-unknown", answer
    assert_replay_of(other.post(key=key), first)
    assert own_upstream.runs(key) == 1


def test_a_holder_that_was_stopped_after_sending_never_answers(start_gateway,
                                                                         own_upstream, key):
    """Taken over while its own answer was on its way: the stored one is the answer."""
    policy = {"defaults": {"lease": "1s", "unknown": "rerun"}}
    stopped = start_gateway(own_upstream, policy)
    other = start_gateway(own_upstream, policy, database=stopped.database)
    plan = {"gate": key, "body": "too late"}
    with stopped.begin_in_time(own_upstream, key=key, plan=plan) as waiting:
        stopped.signal(signal.SIGSTOP)
        first = wait_until(lambda: next((a for a in [other.post(key=key)] if a.status == 201),
                                        None), what="the takeover")
        own_upstream.open(key)
        stopped.signal(signal.SIGCONT)
        answer = waiting.read()
    assert b"too late" not in answer.body
    if answer.status == 201:
        assert_replay_of(answer, first)
    else:
        assert answer.status == 409 and answer.problem == "outcome-unknown", answer
    assert_replay_of(other.post(key=key), first)
    assert_replay_of(stopped.post(key=key), first)
    assert own_upstream.runs(key) == 2, "rerun promises no less than once, and no more than this"


def test_a_holder_that_was_only_slow_still_settles(start_gateway, own_upstream, key):
    """Its lease ran out, but nobody took over: what it did is a fact."""
    gateway = start_gateway(own_upstream, {"defaults": {"lease": "1s"}})
    with gateway.begin_in_time(own_upstream, key=key, plan={"gate": key}) as waiting:
        gateway.signal(signal.SIGSTOP)
        wait_until(lambda: gateway.state(key) == "unknown", what="the end of the lease")
        own_upstream.open(key)
        gateway.signal(signal.SIGCONT)
        first = assert_first(waiting.read())
    assert_replay_of(gateway.post(key=key), first)
    assert gateway.state(key) == "completed"
    assert own_upstream.runs(key) == 1
