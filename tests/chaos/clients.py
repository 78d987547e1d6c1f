"""Clients that repeat a request under one key until they have an answer, and then some more."""

import asyncio
import contextlib
import socket
import struct

from support.answer import AnswerReader
from support.client import request_bytes

GONE = (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, OSError)
HELD = {"outcome-unknown", "answer-not-kept", "unknown"}  # what a key may come to without an answer
MANNERS = ("plain",) * 5 + ("chunked", "drip", "half", "leave", "reset")
PATIENCE = 15  # seconds for an answer


async def post(address, key, body, rng, manner="plain"):
    """A whole answer, or None: it did not come, was cut, or nobody waited for it."""
    fields = [("Content-Type", "application/json"), ("Idempotency-Key", key),
              ("Authorization", "Bearer chaos")]
    data = request_bytes("POST", "/charges", fields, body, chunked=manner == "chunked")
    writer = None
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*address), PATIENCE)
        if manner in ("half", "drip"):
            writer.write(data[: len(data) // 2])
            await asyncio.sleep(rng.random() * 0.3)
            if manner == "half":
                return None
            data = data[len(data) // 2:]
        writer.write(data)
        await writer.drain()
        if manner in ("leave", "reset"):
            await asyncio.sleep(rng.random() * 0.2)
            return None
        return await asyncio.wait_for(read_answer(reader), PATIENCE)
    except (*GONE, asyncio.TimeoutError):
        return None
    finally:
        if writer is not None:
            if manner == "reset":
                reset(writer)
            with contextlib.suppress(OSError):
                writer.close()


def reset(writer):
    end = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def read_answer(reader):
    parsed = AnswerReader()
    parsed.expect("POST")
    while True:
        piece = await reader.read(65536)
        if piece:
            parsed.feed(piece)
        answer = parsed.take() or (None if piece else parsed.end())
        if answer is not None:
            return None if answer.truncated else answer
        if not piece:
            return None


class Client:
    """One key. `ends`: whether what it got last is how the matter stands."""

    def __init__(self, key, doors, rng):
        self.key, self.doors, self.rng = key, doors, rng
        self.body = b'{"pad":"%s"}' % (b"b" * rng.choice((0, 1, 100, 5_000, 150_000)))
        self.answers = []   # every success
        self.last = None    # the last whole answer
        self.settled = False

    async def send(self, manner="plain"):
        answer = await post(self.rng.choice(self.doors()), self.key, self.body, self.rng, manner)
        if answer is not None:
            self.last = answer
            self.settled = self.ends(answer)
            if 200 <= answer.status < 300:
                self.answers.append(answer)
        return answer

    @staticmethod
    def ends(answer):
        # 413 and 431: an option at its least lets no such request in, and nothing ran.
        return (200 <= answer.status < 300 or answer.replayed or answer.status in (413, 431)
                or problem(answer) in HELD)

    async def run(self, over):
        """Repeats in all manners until `over` is set; slower once it knows how it stands."""
        await asyncio.sleep(self.rng.random() * 3)
        await asyncio.gather(*(self.send(self.rng.choice(MANNERS))
                               for _ in range(self.rng.choice((1, 1, 2, 3)))))
        while not over.is_set():
            pause = self.rng.random() * (3 if self.settled else 0.6)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(over.wait(), pause)
            if not over.is_set():
                await self.send(self.rng.choice(MANNERS))

    async def finish(self, deadline):
        """After the last disturbance: the seconds until it knew, or None: not within them."""
        clock = asyncio.get_running_loop().time
        began = clock()
        while clock() - began < deadline:
            if (await self.send()) is not None and self.settled:
                return clock() - began
            await asyncio.sleep(0.2)
        return None


def problem(answer):
    with contextlib.suppress(ValueError, KeyError):  # a proxy's own page
        return answer.problem
    return None
