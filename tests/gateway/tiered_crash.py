"""Redis in front of PostgreSQL, killed, stopped and emptied under load: nothing runs twice, and no
repeat gets anything but the first answer."""

import asyncio
import collections
import contextlib
import random
import signal

from gateway.once_crash import Load, ask_all
from support.waiting import scaled, wait_until

LEASE = 30  # no gateway dies: none may end because a busy machine stands still


async def hurt_again_and_again(redis, load, rng, kills):
    """Kills it, each time followed by a start; in between it hangs for a while, or is emptied. The
    load goes on all the time, and tells how long each of that lasts."""
    for _ in range(kills):
        await load.more(rng.randint(1, 60))
        what = rng.choice(("hang", "empty", "nothing"))
        if what == "hang":
            redis.process.send_signal(signal.SIGSTOP)
            await load.more(rng.randint(1, 60))
            redis.process.send_signal(signal.SIGCONT)
        elif what == "empty":
            with contextlib.suppress(OSError):
                await asyncio.to_thread(redis.run, "FLUSHALL")
        await load.more(rng.randint(0, 40))
        redis.crash()
        await load.more(rng.randint(0, 40))
        await asyncio.to_thread(redis.start)
        await load.more(1)


def test_redis_may_die_hang_and_forget_at_any_moment(begin, redis, own_upstream):
    redis.start()
    policy = {"defaults": {"lease": f"{LEASE}s", "unknown": "hold"}}
    one, other = begin({"timeout": "5s"}, **policy), begin({"timeout": "5s"}, **policy)
    rng = random.Random(20261121)
    # The same keys at both, so that each meets what the other has left in Redis.
    shared = Load([one.address, other.address], rng)

    async def run():
        hurting = hurt_again_and_again(redis, shared, rng, scaled(20, least=4))
        await asyncio.gather(shared.run(hurting), echo(other, shared))

    async def echo(gateway, load):
        """What one gateway has answered, the other repeats."""
        while not load.stopping:
            known = rng.sample(sorted(load.answers), min(8, len(load.answers)))
            for key, answer in (await ask_all(gateway.address, known)).items():
                if answer.status == 201:
                    if answer.stored_part() != load.answers[key]:
                        load.wrong.append((key, "another answer", answer))
                elif answer.problem not in ("in-progress", "store-unreachable"):
                    load.wrong.append((key, "unexpected", answer))
            await load.more(1)

    asyncio.run(run())
    assert shared.wrong == []
    assert shared.unknown == set(), "no gateway died, and PostgreSQL did not either"
    effects = own_upstream.effects()
    arrivals = collections.Counter(r["key"] for r in own_upstream.requests(path="/charges"))
    assert [k for k, count in arrivals.items() if count > 1] == []
    assert [k for k, count in effects.items() if count > 1] == []
    assert len(shared.answers) >= 10, "too little happened to show anything"
    for gateway in (one, other):
        for key, answer in asyncio.run(ask_all(gateway.address, list(shared.answers))).items():
            assert answer.replayed, (key, answer)
            assert answer.stored_part() == shared.answers[key], key
    assert own_upstream.effects() == effects
    noticed = ("accelerator-away", "epoch-ended", "store-away")
    wait_until(lambda: any(event in one.log() for event in noticed), what="a kill being noticed")
