"""A process sleeps (SIGSTOP): shorter and longer than a lease, a time-out, a look."""

import asyncio
import contextlib
import os
import pathlib
import signal

from chaos.disturbance import Disturbance

SECONDS = (0.1, 0.5, 1.2, 2.5, 4.5)
TIMES = (1, 1, 2, 4)


def tree_of(pid):
    """The process and what it has started."""
    found = [pid]
    for at in found:
        with contextlib.suppress(OSError):
            for task in pathlib.Path(f"/proc/{at}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


async def freeze(pid, how):
    for _ in range(how["times"]):
        stopped = tree_of(pid)
        signal_all(stopped, signal.SIGSTOP)
        await asyncio.sleep(how["seconds"])
        signal_all(stopped, signal.SIGCONT)
        await asyncio.sleep(how["awake"])


async def freeze_gateway(world, how):
    gateway = world.gateway(how["who"])
    if gateway.process is not None:
        await freeze(gateway.process.pid, how)


async def freeze_service(world, how):
    await freeze(world.ledger.process.pid, how)


async def freeze_store(world, how):
    server = world.postgres or world.redis
    if server.process is not None:
        await freeze(server.process.pid, how)


async def freeze_accelerator(world, how):
    if world.redis.process is not None:
        await freeze(world.redis.process.pid, how)


DRAWS = {"seconds": SECONDS, "times": TIMES, "awake": (0.05, 0.4)}
SERVERS = ("postgres", "pgbouncer", "redis", "tiered")
TABLE = [
    Disturbance("freeze-gateway", freeze_gateway, {"who": (0, 1), **DRAWS}),
    Disturbance("freeze-service", freeze_service, DRAWS),
    Disturbance("freeze-store", freeze_store, DRAWS, SERVERS),
    Disturbance("freeze-accelerator", freeze_accelerator, DRAWS, ("tiered",)),
]
