"""The power fails amid the load. What was answered is there when it is back, and runs no second
time. Where this user may mount no volume, the gateway is killed instead, and a warning says so."""

import asyncio
import collections
import contextlib
import random
import signal
import warnings

import pytest

from gateway.once_crash import Load, ask_all, listening
from support.power import WITH_JOURNAL, WITHOUT_JOURNAL, volume_or_why
from support.waiting import SCALE, scaled

LEASE = 2
CUTS = 100 if SCALE >= 1 else 40  # of each kind of volume


class Through(Load):
    """Customers who also meet what a machine that has just started says."""

    def final(self, key, answer):
        if answer.problem in ("store-lost", "store-full"):
            return False
        return super().final(key, answer)


SIZES = {"sqlite": "48M", "journal": "400M"}  # of the volume


@pytest.fixture(params=[(store, options) for store in SIZES
                        for options in ("data=ordered", "data=writeback")], ids="-".join)
def cut_store(request):
    """A store, and the volume that it is on, or None."""
    store, options = request.param
    made, why = volume_or_why(options, SIZES[store])
    if made is None:
        warnings.warn(f"no power cut is possible here, so the gateway is killed instead: {why}")
    yield store, made
    if made is not None:
        made.close()


class Machine:
    """The gateway and its volume."""

    def __init__(self, gateway, volume, rng):
        self.gateway, self.volume, self.rng = gateway, volume, rng

    def cut(self):
        # Without power nothing is answered any more. What the kernel is writing still goes on, and
        # is cut: ext4 may report a flush as done that the shutdown overtook.
        self.gateway.signal(signal.SIGKILL)
        if self.volume is not None:
            self.volume.cut(self.rng.choice((WITHOUT_JOURNAL, WITHOUT_JOURNAL, WITH_JOURNAL)))
        self.gateway.wait()
        if self.volume is not None:
            self.volume.back()
        self.gateway.start(wait=False)

    async def cut_again_and_again(self, load, times):
        for number in range(times):
            await listening(self.gateway)
            # Else while it still starts, or has just begun.
            if number == 0 or self.rng.random() < 0.8:
                await load.more(self.rng.randint(1, 40))
            # Nothing to wait for: the cut is to come at any moment of a request.
            await asyncio.sleep(self.rng.uniform(0.0, 0.05))
            # Not in a thread: the gateway ends with the thread that started it.
            self.cut()
        await listening(self.gateway)


async def settled(gateway, keys):
    """The last answer to each key, once nobody is at it any more."""
    answers = {}
    left = list(keys)
    for _ in range(60):
        for key, answer in (await ask_all(gateway.address, left)).items():
            answers[key] = answer
        left = [key for key in left
                if answers[key].problem in ("in-progress", "store-unreachable")]
        if not left:
            return answers
        await asyncio.sleep(0.5)
    raise AssertionError(f"can't be settled: {[answers[key] for key in left[:5]]}")


def test_what_was_answered_survives_the_power(cut_store, start_gateway, own_upstream, tmp_path):
    store, volume = cut_store
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    folder = volume.path if volume is not None else tmp_path
    gateway = start_gateway(
        own_upstream,
        {"gateway": {"replay_cache": "0", "state_dir": str(folder / "state")},
         "defaults": {"lease": f"{LEASE}s", "unknown": "hold"},
         "store": {"url": f"journal:{folder}/journal"} if store == "journal" else {}},
        database=folder / "onceguard.db", started=False)
    with contextlib.suppress(FileExistsError):
        (folder / "state").mkdir()
    gateway.start()
    load = Through([gateway.address], rng)
    times = scaled(CUTS, least=3)
    machine = Machine(gateway, volume, rng)
    asyncio.run(load.run(machine.cut_again_and_again(load, times)))
    assert load.wrong == []
    answers = asyncio.run(settled(gateway, load.keys))
    lost = [key for key in load.answers if not answers[key].replayed
            or answers[key].stored_part() != load.answers[key]]
    effects = own_upstream.effects()
    arrivals = collections.Counter(r["key"] for r in own_upstream.requests(path="/charges"))
    print(f"{times} cuts: {len(load.keys)} keys, {len(load.answers)} answered before, lost "
          f"{len(lost)}, held as unknown "
          f"{sum(a.problem == 'outcome-unknown' for a in answers.values())}")
    assert lost == []
    ends = {answer.problem for answer in answers.values()}
    assert ends <= {None, "outcome-unknown"}, ends
    assert [key for key, count in arrivals.items() if count > 1] == []
    assert [key for key, count in effects.items() if count > 1] == []
    assert all(answers[key].problem == "outcome-unknown" for key in load.unknown)
    assert "store-lost-its-memory" not in gateway.log()
    assert len(load.answers) >= times, "too little was answered to show anything"
