"""No room to write: a limit on the size of files, or a volume that is full."""

import asyncio
import contextlib
import os
import subprocess

from chaos.disturbance import Disturbance


async def limit_files(world, how):
    """Of one gateway: what it writes beyond the limit fails with EFBIG."""
    gateway = world.gateway(how["who"])
    if gateway.process is None:
        return
    pid = gateway.process.pid
    largest = max((path.stat().st_size for path in (world.folder / "store").iterdir()), default=0)
    limit = largest + how["room"]
    for size in (f"{limit}:", "unlimited:"):
        subprocess.run(["prlimit", f"--pid={pid}", f"--fsize={size}"], check=False,
                       stderr=subprocess.DEVNULL)  # it may have ended
        if size != "unlimited:":
            await asyncio.sleep(how["seconds"])


async def fill_volume(world, how):
    """The store's volume; where there is no right to mount one, nothing happens."""
    if not world.volume:
        world.note("no small volume: only root may mount one")
        return
    for _ in range(how["times"]):
        filling = world.volume / "filling"
        with contextlib.suppress(OSError), open(filling, "wb", buffering=0) as file:
            piece = b"x" * 65536
            while True:
                if file.write(piece) < len(piece):
                    piece = piece[: len(piece) // 2] or b"x"
        if how["left"]:
            with contextlib.suppress(OSError):
                os.truncate(filling, max(0, filling.stat().st_size - how["left"]))
        await asyncio.sleep(how["seconds"])
        filling.unlink(missing_ok=True)
        await asyncio.sleep(0.3)


TABLE = [
    Disturbance("file-size-limit", limit_files,
                {"who": (0, 1), "room": (-4096, 0, 100, 5_000, 70_000), "seconds": (0.5, 1.5, 3.5)},
                ("memory", "sqlite", "redis", "postgres")),
    Disturbance("full-volume", fill_volume,
                {"left": (0, 5_000, 70_000), "seconds": (0.3, 1.2, 3), "times": (1, 2)},
                ("sqlite", "journal"), small_volume=True),
]
