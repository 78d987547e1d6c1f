"""Operators: any command at any moment, and what an error advises done at once."""

import asyncio
import random

from chaos.disturbance import Disturbance
from chaos.world import in_thread

ALL = ("release", "--state", "unknown", "--yes")
COMMANDS = {
    "list": ("keys", "list"), "show": ("keys", "show", "KEY"), "stats": ("stats",),
    "sweep": ("sweep",), "doctor": ("doctor",), "reconcile": ("reconcile",),
    "release": ("keys", "release", "KEY"),
    "release-by-force": ("keys", "release", "KEY", "--force"),
    "release-unknown": ("keys", *ALL),
    "complete": ("keys", "complete", "KEY", "--status", "201", "--body", "the operator says"),
    "complete-by-force": ("keys", "complete", "KEY", "--force", "--status", "201", "--body",
                          "the operator says"),
    "complete-unknown": ("keys", "complete", "--state", "unknown", "--yes", "--body",
                         "the operator says"),
    "attention": ("keys", "list", "--attention", "--json"),
    "export": ("keys", "export", "FILE"), "export-by-force": ("keys", "export", "FILE", "--force"),
    "migrate": ("migrate",),
}
SERVERS = ("sqlite", "postgres", "pgbouncer", "redis", "tiered")


async def operate(world, how):
    rng = random.Random(how["seed"])
    for number in range(how["times"]):
        key = rng.choice(world.keys)
        name = how["what"]
        words = [{"KEY": key, "FILE": str(world.folder / f"exported-{how['seed']}-{number}")}
                 .get(word, word) for word in COMMANDS[name]]
        await asked(world, words, key)
        await asyncio.sleep(rng.random() * 0.4)


async def asked(world, words, key):
    """A release says "the next request runs it again": that may happen once for each."""
    may_run = "release" in words
    if may_run:  # noted before: the command may act, and then not come back
        world.acts["*" if "--yes" in words else key] += 1
    done = await in_thread(world.command, *words)
    if may_run and done is not None and done.returncode in (2, 3, 5):
        world.acts["*" if "--yes" in words else key] -= 1  # nothing was changed
    if done is None or done.returncode in (0, 4):
        return
    if "--force" in done.stderr and "--force" not in words and "--yes" not in words:
        await asked(world, [*words, "--force"], key)


async def import_again(world, how):
    """What was exported goes back into the store that it came from."""
    for number in range(how["times"]):
        file = str(world.folder / f"moved-{how['seed']}-{number}")
        done = await in_thread(world.command, "keys", "export", file, "--force")
        await asyncio.sleep(how["pause"])
        if done is not None and done.returncode == 0:
            await in_thread(world.command, "keys", "import", file)


SEEDS = tuple(range(20))
TABLE = [
    Disturbance("operator", operate, {"what": tuple(COMMANDS), "times": (2, 5), "seed": SEEDS},
                (*SERVERS, "journal")),
    Disturbance("export-and-import", import_again,
                {"times": (1, 2), "pause": (0, 1), "seed": SEEDS}, SERVERS),
]
