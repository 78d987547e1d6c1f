"""A TCP proxy that fails as networks do: it stalls, drips, cuts midway, or sends twice."""

import asyncio
import contextlib

from support.ports import Port

GONE = (ConnectionError, OSError, asyncio.CancelledError)


class Pipe:
    """`way`: pass, stall, drip, cut (after `after` bytes of a connection), or twice (what comes on
    a connection is sent on a second one, too, whose answer nobody reads)."""

    def __init__(self, target):
        self.target = target
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.way, self.after = "pass", 0
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.tasks = set()

    async def start(self):
        self.server = await asyncio.start_server(self._serve, *self.address, backlog=512)
        return self

    def behave(self, way, after=0):
        self.way, self.after = way, after
        if way == "stall":
            self.flowing.clear()
        else:
            self.flowing.set()

    async def close(self):
        self.server.close()
        self.behave("pass")
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.port.close()

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        ends = [writer]
        try:
            await self.flowing.wait()
            back, onward = await asyncio.open_connection(*self.target)
            sinks = [onward]
            ends.append(onward)
            if self.way == "twice":
                ignored, second = await asyncio.open_connection(*self.target)
                sinks.append(second)
                ends.append(second)
                ignoring = asyncio.create_task(swallow(ignored))
                self.tasks.add(ignoring)
                ignoring.add_done_callback(self.tasks.discard)
            await first_of(self._pass(reader, sinks), self._pass(back, [writer]))
        except GONE:
            pass
        finally:
            self.tasks.discard(task)
            for end in ends:
                end.transport.abort() if self.way == "cut" else end.close()

    async def _pass(self, source, sinks):
        passed = 0
        while piece := await source.read(65536):
            await self.flowing.wait()
            if self.way == "cut" and passed + len(piece) > self.after:
                piece = piece[: max(0, self.after - passed)]
                await send(sinks, piece)
                return
            passed += len(piece)
            if self.way == "drip":
                for at in range(0, len(piece), 512):
                    await send(sinks, piece[at:at + 512])
                    await asyncio.sleep(0.01)
            else:
                await send(sinks, piece)


async def send(sinks, piece):
    for sink in sinks:
        sink.write(piece)
    for sink in sinks:
        await sink.drain()


async def swallow(reader):
    with contextlib.suppress(*GONE):
        while await reader.read(65536):
            pass


async def first_of(*actions):
    """What is at its end first ends the others."""
    tasks = [asyncio.create_task(action) for action in actions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
