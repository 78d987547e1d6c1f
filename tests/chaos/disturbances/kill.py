"""A process ends at a drawn moment, and is started again."""

import asyncio
import signal

from chaos.disturbance import Disturbance
from chaos.world import in_thread


async def kill_gateway(world, how):
    gateway = world.gateway(how["who"])
    for _ in range(how["times"]):
        async with world.life(gateway):
            world.look_after(gateway)
            if gateway.process is not None:
                await end(world, gateway, how)
            await asyncio.sleep(how["down"])
            await in_thread(gateway.start)
        await asyncio.sleep(0.5)


async def end(world, gateway, how):
    if world.plan.store == "memory":
        world.acts["*"] += 1  # it forgets everything, as it says
    if how["by"] == "SIGKILL":
        await in_thread(gateway.kill)
        return
    code = await in_thread(gateway.stop, 120)
    if code != 0:
        world.deaths.append(f"SIGTERM ended a gateway with {code}")


async def kill_service(world, how):
    for _ in range(how["times"]):
        async with world.life(world.ledger):
            await in_thread(world.ledger.kill)
            await asyncio.sleep(how["down"])
            await in_thread(world.ledger.start)
        await asyncio.sleep(0.5)


async def kill_store(world, how):
    await restart(world, world.postgres or world.redis, how)


async def kill_accelerator(world, how):
    await restart(world, world.redis, how)


async def restart(world, server, how):
    for _ in range(how["times"]):
        async with world.life(server):
            server.process.send_signal(signal.SIGCONT)  # it may sleep
            await in_thread(server.crash if how["by"] == "SIGKILL" else server.stop)
            await asyncio.sleep(how["down"])
            await in_thread(server.start)
        await asyncio.sleep(0.3)


async def kill_bouncer(world, how):
    for _ in range(how["times"]):
        async with world.life(world.bouncer):
            await in_thread(world.bouncer.kill)
            await asyncio.sleep(how["down"])
            await in_thread(world.bouncer.start)
        await asyncio.sleep(0.3)


DRAWS = {"times": (1, 1, 3), "down": (0, 0.3, 1.5, 3)}
BY = {"by": ("SIGKILL", "SIGKILL", "SIGTERM")}
TABLE = [
    Disturbance("kill-gateway", kill_gateway, {"who": (0, 1), **DRAWS, **BY}),
    Disturbance("kill-service", kill_service, DRAWS),
    Disturbance("kill-store", kill_store, {**DRAWS, **BY},
                ("postgres", "pgbouncer", "redis", "tiered")),
    Disturbance("kill-accelerator", kill_accelerator, {**DRAWS, **BY}, ("tiered",)),
    Disturbance("kill-pgbouncer", kill_bouncer, DRAWS, ("pgbouncer",)),
]
