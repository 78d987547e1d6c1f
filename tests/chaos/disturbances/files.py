"""The store's files deleted, moved away, or restored from a copy, with and without their log."""

import asyncio
import contextlib
import os
import shutil
import subprocess

from chaos.disturbance import Disturbance
from chaos.world import in_thread

PARTS = {"all": ("", "-wal", "-shm"), "database": ("",), "log": ("-wal", "-shm"), "wal": ("-wal",),
         "shm": ("-shm",)}


def paths(world, which):
    database = world.gateways[0].database
    return [database.with_name(database.name + suffix) for suffix in PARTS[which]]


async def around(world, how, change):
    """`change` while the gateways run, or between their end and their start."""
    if how["running"]:
        await change()
        return
    async with world.all_lives():
        for gateway in world.gateways:
            if gateway.process is not None:
                await in_thread(gateway.kill if how["killed"] else gateway.stop)
        await change()
        for gateway in world.gateways:
            await in_thread(gateway.start)


async def delete(world, how):
    async def change():
        world.lost(f"deleted: {how['which']}")
        for path in paths(world, how["which"]):
            path.unlink(missing_ok=True)
    await around(world, how, change)


async def move_away(world, how):
    async def change():
        world.lost(f"moved away: {how['which']}")
        moved = []
        for path in paths(world, how["which"]):
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, f"{path}.away")
                moved.append(path)
        await asyncio.sleep(how["seconds"])
        for path in moved:
            os.replace(f"{path}.away", path)
    await around(world, how, change)


async def put_back(world, how):
    """A copy that was made a while ago, over what is there."""
    copies = []
    for path in paths(world, how["copied"]):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(path, world.folder / f"copy-of-{path.name}")
            copies.append(path)
    newest = world.newest_token()
    await asyncio.sleep(how["seconds"])

    async def change():
        world.put_back(f"restored: {how['copied']}", newest)
        for path in paths(world, "all"):
            if path in copies:
                copy = world.folder / f"copy-of-{path.name}"
                with contextlib.suppress(OSError):  # no room, or no volume for both
                    if how["by"] == "move":
                        os.replace(copy, path)
                    else:
                        shutil.copy(copy, path)
            elif how["clean"]:
                path.unlink(missing_ok=True)
    await around(world, how, change)


async def backup_and_restore(world, how):
    """As the page about backups says, or while gateways run, which it does not."""
    saved = world.folder / f"backup-{len(world.notes)}"
    done = await in_thread(world.command, "backup", str(saved))
    if done is None or done.returncode != 0:
        return
    await asyncio.sleep(how["seconds"])

    async def change():
        world.lost("restored by the command")
        await in_thread(world.command, "restore", str(saved))
    await around(world, how, change)


async def server_put_back(world, how):
    """A database server from a copy of its files: what was written since is gone."""
    accelerator = how.get("accelerator")
    server = world.redis if accelerator else world.postgres or world.redis
    places = [server.folder / name for name in ("cluster", "appendonlydir")]
    async with world.life(server):
        place = next(each for each in places if each.exists())
        kept = server.folder / f"kept-{id(how)}"
        await in_thread(server.crash)
        await in_thread(run, "cp", "-a", str(place), str(kept))
        newest = world.newest_token()
        await in_thread(server.start)
    await asyncio.sleep(how["seconds"])
    async with world.life(server):
        await in_thread(server.crash)
        if not accelerator:
            world.put_back("a server from a copy", newest)
        await in_thread(shutil.rmtree, place)
        kept.rename(place)
        await asyncio.sleep(how["down"])
        await in_thread(server.start)


def run(*words):
    subprocess.run(words, check=True)


WHEN = {"running": (True, False), "killed": (True, False)}
TABLE = [
    Disturbance("files-deleted", delete, {"which": tuple(PARTS), **WHEN}, ("sqlite",)),
    Disturbance("files-moved", move_away, {"which": tuple(PARTS), "seconds": (0.1, 0.6, 2), **WHEN},
                ("sqlite",)),
    Disturbance("files-put-back", put_back,
                {"copied": ("all", "database"), "seconds": (0.5, 1.5, 4), "by": ("move", "copy"),
                 "clean": (True, False), **WHEN}, ("sqlite",)),
    Disturbance("server-put-back", server_put_back,
                {"seconds": (0.5, 1.5, 4), "down": (0, 1)},
                ("postgres", "pgbouncer", "redis", "tiered")),
    Disturbance("accelerator-put-back", server_put_back,
                {"seconds": (0.5, 1.5, 2.5), "down": (0, 1), "accelerator": (True,)}, ("tiered",)),
    Disturbance("backup-and-restore", backup_and_restore, {"seconds": (0.5, 1.5), **WHEN},
                ("sqlite", "journal")),
]
