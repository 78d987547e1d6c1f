"""One run: the world of a plan, its clients, its disturbances, and what was found."""

import asyncio
import dataclasses
import pathlib
import random
import shutil
import tempfile
import time
import traceback

from chaos.callers import Caller
from chaos.clients import Client
from chaos.oracle import complaints_of, too_much_memory
from chaos.table import TABLE
from chaos.world import World, in_thread

CLIENTS = 24
LEAST = 4.0  # seconds of disturbance
# What a loaded machine adds to a lease and the service's own time.
NOISE = 30.0


@dataclasses.dataclass
class Result:
    plan: object
    complaints: list
    notes: list
    effects: int = 0
    held: int = 0
    longest: float = 0.0
    seconds: float = 0.0
    folder: str = ""

    @property
    def kinds(self):
        return {complaint.split(":")[0] for complaint in self.complaints}


def perform(binary, plan, keep=False):
    """Runs it in a folder that goes away, unless a fault was found and `keep` says otherwise."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-chaos-"))
    began = time.monotonic()
    result = asyncio.run(run(World(binary, folder, plan)))
    result.seconds = time.monotonic() - began
    if keep and result.complaints:
        result.folder = str(folder)
        (folder / "plan.json").write_text(plan.text())
        (folder / "notes").write_text("\n".join([*result.complaints, "", *result.notes]))
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return result


async def run(world):
    result = Result(world.plan, [], world.notes)
    try:
        await world.start()
        await disturbed(world, result)
    except Exception:  # pylint: disable=broad-except # a world that breaks is a finding, too
        result.complaints.append(f"broken: {traceback.format_exc()[-1500:]}")
    finally:
        await world.close()
    return result


async def disturbed(world, result):
    clients = clients_of(world)
    world.keys = [client.key for client in clients]
    over = asyncio.Event()
    sending = [asyncio.create_task(client.run(over)) for client in clients]
    try:
        await asyncio.gather(asyncio.sleep(LEAST), *(act(world, each)
                                                     for each in world.plan.disturbances))
        async with world.all_lives():
            for gateway in world.gateways:
                await in_thread(world.revive, gateway)
    finally:
        over.set()
        await asyncio.gather(*sending)
    patience = seconds_of(world, "lease") + seconds_of(world, "upstream_timeout") + 1 + NOISE
    ended = await asyncio.gather(*(client.finish(patience) for client in clients))
    waited = dict(zip(world.keys, ended))
    await asyncio.gather(*(client.send() for client in clients))
    result.complaints += too_much_memory(world)
    await stop_gateways(world)
    result.complaints += complaints_of(world, clients, waited)
    result.effects = sum(len(lines) for lines in world.ledger.effects().values())
    result.held = sum(not client.answers for client in clients)
    result.longest = max((seconds for seconds in ended if seconds is not None), default=0.0)


def clients_of(world):
    plan = world.plan
    drawn = [random.Random(f"{plan.seed}/{plan.run}/{number}") for number in range(CLIENTS)]
    if plan.door == "serve":
        Caller.clients.clear()
        return [Caller(f"key-{plan.run}-{number}", world.doors, rng, lambda: world.service)
                for number, rng in enumerate(drawn)]
    return [Client(f"key-{plan.run}-{number}", world.doors, rng)
            for number, rng in enumerate(drawn)]


async def act(world, each):
    row = TABLE[each["name"]]
    await asyncio.sleep(each["at"])
    if row.act is not None:
        await row.act(world, each["how"])


async def stop_gateways(world):
    for number, gateway in enumerate(world.gateways):
        world.look_after(gateway)
        if gateway.process is None:
            continue
        try:
            code = await in_thread(gateway.stop, 120)
            if code != 0:
                world.deaths.append(f"SIGTERM ended gateway {number} with {code}")
        except Exception as late:  # pylint: disable=broad-except
            world.deaths.append(f"SIGTERM did not end gateway {number}: {late!r}")


def seconds_of(world, name):
    """The longest that the plan, an extreme option or a reload may set."""
    text = str(world.config["defaults"].get(name, "5s"))
    for unit, factor in (("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400)):
        if text.endswith(unit) and text[: -len(unit)].isdigit():
            return max(5.0, min(60.0, int(text[: -len(unit)]) * factor))
    return 5.0
