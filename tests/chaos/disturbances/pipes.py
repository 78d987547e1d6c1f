"""A connection stalls, drips, is cut midway, or carries everything twice."""

import asyncio

from chaos.disturbance import Disturbance


def misbehave(place):
    async def act(world, how):
        pipe = world.pipes[place]
        # A claim that is doubled byte by byte is what no network does with a connection.
        way = "drip" if how["way"] == "twice" and world.plan.door == "serve" else how["way"]
        pipe.behave(way, how["after"])
        await asyncio.sleep(how["seconds"])
        pipe.behave("pass")
    return act


DRAWS = {"way": ("stall", "drip", "cut"), "seconds": (0.3, 1.2, 3, 5),
         "after": (0, 1, 100, 700, 5_000, 60_000)}
TABLE = [
    Disturbance("pipe-of-clients", misbehave("front"),
                {**DRAWS, "way": ("stall", "drip", "cut", "twice")}, pipe="front"),
    Disturbance("pipe-to-store", misbehave("store"), DRAWS,
                ("postgres", "pgbouncer", "redis", "tiered"), "store"),
    Disturbance("pipe-to-service", misbehave("back"), DRAWS, pipe="back"),
]
