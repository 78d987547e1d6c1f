"""SIGHUP to another valid file, and SIGUSR2: another process takes over."""

import asyncio
import json
import re
import signal

from chaos.disturbance import Disturbance
from chaos.world import in_thread
from support.upgrading import Descendant
from support.waiting import wait_until

HANDED = re.compile(r'"event":"handed-over","pid":(\d+)')

# What may be changed while keys live without making strangers of them.
CHANGES = (
    {"lease": "1s"}, {"lease": "5s", "upstream_timeout": "5s"}, {"wait": "10ms"},
    {"on_busy": "wait", "wait": "3s"}, {"on_busy": "reject"}, {"keep": "final"},
    {"max_answer_body": "64KiB"}, {"max_answer_body": "100"},
    {"observe": False, "required": True}, {"retention": "1h"}, {"upstream_timeout": "1s"},
    {"previous_scope": ["none"]}, {"echo_key": True}, {"keep_set_cookie": True},
)
ROUTES = ([], [{"path": "/charges"}], [{"path": "/charges", "lease": "1s"}, {"path": "/other"}],
          [{"path": "/charges", "on_busy": "wait", "wait": "2s"}])


async def reload(world, how):
    before = {gateway: json.loads(json.dumps(gateway.config)) for gateway in world.gateways}
    for _ in range(how["times"]):
        for gateway in world.gateways[: how["of"]]:
            if gateway.process is None or gateway.process.poll() is not None:
                continue
            routes = how["routes"] if world.plan.door == "gateway" else []
            changed = {**before[gateway], "route": routes,
                       "defaults": {**before[gateway]["defaults"], **how["change"]}}
            gateway.reload(changed)
        await asyncio.sleep(how["seconds"])
        for gateway in world.gateways:
            gateway.write_config(before[gateway])
            if gateway.process is not None and gateway.process.poll() is None:
                gateway.signal(signal.SIGHUP)
        await asyncio.sleep(0.2)


async def upgrades(world, how):
    for _ in range(how["times"]):
        gateway = world.gateway(how["who"])
        async with world.life(gateway):
            world.look_after(gateway)
            if gateway.process is not None:
                await in_thread(hand_over, world, gateway)
        await asyncio.sleep(how["pause"])


def hand_over(world, gateway):
    """The successor is the gateway from then on; without one, the former stays, and says why."""
    former = gateway.process
    before = len(HANDED.findall(gateway.log()))

    def over():
        return len(HANDED.findall(gateway.log())) > before or former.poll() is not None

    former.send_signal(signal.SIGUSR2)
    try:
        wait_until(over, timeout=5, what="the upgrade")
    except AssertionError:
        world.note("the upgrade came to nothing")
        return
    handed = HANDED.findall(gateway.log())
    if len(handed) > before:
        gateway.process = Descendant(int(handed[-1]))
        world.formers.append(former)


TABLE = [
    Disturbance("reload", reload, {"change": CHANGES, "routes": ROUTES, "of": (1, 2),
                                   "seconds": (0.2, 1, 2.5), "times": (1, 2)}),
    Disturbance("upgrade", upgrades, {"who": (0, 1), "times": (1, 1, 2), "pause": (0, 0.5, 2)},
                ("sqlite", "journal", "postgres", "pgbouncer", "redis", "tiered")),
]
