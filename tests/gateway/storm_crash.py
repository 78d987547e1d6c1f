"""Several disturbances at once: upstreams and clients that go wrong, and two gateways on one store
that are frozen, killed, stopped and reloaded meanwhile. The effects are counted at the upstream."""

import asyncio
import contextlib
import random
import signal

import pytest

from support.storm import MANNERS, StormUpstream, Fault, post
from support.waiting import scaled

ENDS = {"outcome-unknown", "answer-not-kept"}  # what a key may come to without an answer
SUCCESS = (200, 201, 302)


def random_policy(rng):
    return {"lease": "1s", "upstream_timeout": "1500ms", "wait": rng.choice(("1s", "3s")),
            "on_busy": rng.choice(("reject", "wait")),
            "max_answer_body": rng.choice(("1KiB", "64KiB", "1MiB"))}


async def in_thread(action, *arguments):
    return await asyncio.get_running_loop().run_in_executor(None, action, *arguments)


async def disturb(gateway, rng, calm):
    """Until it is calm: freezes, reloads, kills or stops the gateway, one after the other."""
    while not calm.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(calm.wait(), rng.choice((0.3, 0.6, 1.0)))
        match rng.choice(("freeze", "freeze", "reload", "kill", "restart")):
            case "freeze":
                gateway.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(rng.choice((0.1, 0.5, 1.3, 2.8)))
                gateway.process.send_signal(signal.SIGCONT)
            case "reload":
                gateway.reload({**gateway.config, "defaults": random_policy(rng)})
            case "kill":
                gateway.kill()
                await in_thread(gateway.start)
            case "restart":
                code = await in_thread(gateway.stop)
                assert code == 0, gateway.log()
                await in_thread(gateway.start)


class Customer:
    """Sends one key again and again, in all manners, and keeps the whole answers."""

    def __init__(self, key, gateways, rng):
        self.key, self.gateways, self.rng = key, gateways, rng
        self.body = b"b" * rng.choice((0, 1, 100, 5_000, 200_000))
        self.answers = []

    async def send(self, manner):
        gateway = self.rng.choice(self.gateways)
        answer = await post(gateway.address, self.key, self.body, self.rng, manner)
        if answer is not None and answer.status in SUCCESS:
            self.answers.append(answer)
        return answer

    async def run(self):
        await asyncio.gather(*(self.send(self.rng.choice(MANNERS))
                               for _ in range(self.rng.choice((1, 1, 3)))))
        for _ in range(3):
            await asyncio.sleep(self.rng.random())
            await self.send(self.rng.choice(MANNERS))

    async def last(self):
        """What the key comes to; None: to nothing, within more than enough repeats."""
        for _ in range(20):
            answer = await self.send("plain")
            if answer is not None and (answer.status in SUCCESS or answer.problem in ENDS):
                return answer
            await asyncio.sleep(0.5)
        return None

    def complaint(self, last, effects):
        if last is None:
            return "can't be settled"
        if effects > 1:
            return f"took effect {effects} times"
        if len({repr(answer.stored_part()) for answer in self.answers}) > 1:
            return f"has several answers: {self.answers}"
        if self.answers and last.problem == "outcome-unknown":
            return "has an answer, and is unknown now"
        return None


@pytest.mark.parametrize("engine", ["sqlite", "journal", "postgres", "dynamodb"])
def test_nothing_runs_twice_when_disturbances_meet(start_gateway, request, tmp_path, engine):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    store = {}
    if engine == "postgres":
        server = request.getfixturevalue("postgres_server")
        store = {"url": server.url(server.create_store())}
    if engine == "journal":
        store = {"url": f"journal:{tmp_path}/journal"}
    if engine == "dynamodb":
        store = {"url": request.getfixturevalue("dynamodb_server").create_store()}

    async def storm():
        upstream = StormUpstream()
        url = await upstream.start()
        config = {"gateway": {"threads": 2}, "store": store, "defaults": random_policy(rng)}
        first = start_gateway(url, config)
        gateways = [first]
        if engine != "journal":  # one process owns it
            gateways.append(start_gateway(url, config, database=first.database))
        customers = [Customer(f"storm-{number}", gateways, rng)
                     for number in range(scaled(60, least=40))]
        for customer in customers:
            upstream.faults[customer.key] = [Fault.random(rng)
                                               for _ in range(rng.choice((1, 1, 2)))]
        calm = asyncio.Event()
        disturbances = [asyncio.create_task(disturb(gateway, rng, calm))
                        for gateway in gateways]
        await asyncio.gather(*(customer.run() for customer in customers))
        calm.set()
        await asyncio.gather(*disturbances)
        last = await asyncio.gather(*(customer.last() for customer in customers))
        await upstream.close()
        complaints = [f"{customer.key} {what}" for customer, answer in zip(customers, last)
                      if (what := customer.complaint(answer, upstream.effects[customer.key]))]
        assert not complaints, "\n".join(complaints)
        # Enough to have been doubled, also where all of it meets a busy machine.
        assert sum(upstream.effects.values()) > len(customers) // 8
        assert {answer.problem for answer in last} >= {None, "outcome-unknown"}

    asyncio.run(storm())
