"""A journal's files deleted, moved away, or put back as they were, with and without the others."""

import asyncio
import contextlib
import os
import shutil

from chaos.disturbance import Disturbance
from chaos.disturbances.files import WHEN, around

PARTS = {"all": "*", "log": "segment-0*", "reserve": "segment-reserve", "owner": "owner"}
# Nothing that is known stands in these.
SPARE = {"reserve", "owner"}


def paths(world, which):
    """The files of this part that are there, or the folder itself."""
    if which == "folder":
        return [world.journal]
    return sorted(world.journal.glob(PARTS[which]))


def beside(world, path):
    return world.journal.with_name(f"away-{path.name}")


def note_loss(world, what, which):
    if which in SPARE:
        world.note(f"{what}: {which}")
    else:
        world.lost(f"{what}: {which}")


async def delete(world, how):
    async def change():
        note_loss(world, "deleted", how["which"])
        for path in paths(world, how["which"]):
            with contextlib.suppress(FileNotFoundError):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
    await around(world, how, change)


async def move_away(world, how):
    async def change():
        note_loss(world, "moved away", how["which"])
        moved = []
        for path in paths(world, how["which"]):
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, beside(world, path))
                moved.append(path)
        await asyncio.sleep(how["seconds"])
        for path in moved:
            with contextlib.suppress(OSError):  # a new folder or file may stand there
                os.replace(beside(world, path), path)
    await around(world, how, change)


async def put_back(world, how):
    """A copy that was made a while ago, over what is there."""
    copies = world.folder / f"copy-{id(how)}"
    copies.mkdir()
    for path in paths(world, how["copied"]):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(path, copies / path.name)
    newest = world.newest_token()
    await asyncio.sleep(how["seconds"])

    async def change():
        world.put_back(f"restored: {how['copied']}", newest)
        if how["clean"]:
            for path in paths(world, "all"):
                path.unlink(missing_ok=True)
        for copy in sorted(copies.iterdir()):
            with contextlib.suppress(OSError):  # no room, or no folder any more
                if how["by"] == "move":  # under the name of the other, at once
                    shutil.copy(copy, beside(world, copy))
                    os.replace(beside(world, copy), world.journal / copy.name)
                else:
                    shutil.copy(copy, world.journal / copy.name)
    await around(world, how, change)


WHICH = ("folder", *PARTS)
TABLE = [
    Disturbance("journal-deleted", delete, {"which": WHICH, **WHEN}, ("journal",)),
    Disturbance("journal-moved", move_away, {"which": WHICH, "seconds": (0.1, 0.6, 2), **WHEN},
                ("journal",)),
    Disturbance("journal-put-back", put_back,
                {"copied": ("all", "log"), "seconds": (0.5, 1.5, 4), "by": ("move", "copy"),
                 "clean": (True, False), **WHEN}, ("journal",)),
]
