"""An upstream and clients that go wrong at random points; both follow a seed.

The upstream counts an effect as soon as it has decided on one. A fault says what becomes of one
request: when the upstream stops, how, and what its answer looks like.
"""

import asyncio
import collections
import contextlib
import dataclasses
import socket
import struct

from support.answer import AnswerReader
from support.client import fields_for, request_bytes

RELEASING = {400, 404, 409, 422, 501, 503}  # with them, the upstream says that it did nothing
GONE = (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError)


@dataclasses.dataclass(frozen=True)
class Fault:
    point: str = "none"  # before, within, early, interim, silent, after, amid: where it goes wrong
    end: str = "fin"     # fin, rst, stall: how
    status: int = 201
    form: str = "sized"  # sized, chunked, closed, two-lengths, twice, stream, garbage
    size: int = 50
    delay: float = 0.0   # between the effect and the answer
    share: float = 0.5   # amid: this part of the answer is sent

    @classmethod
    def random(cls, rng):
        point = rng.choice(("none",) * 4 + ("amid",) * 2 +
                           ("before", "within", "early", "interim", "silent", "after"))
        return cls(point, rng.choice(("fin", "rst", "stall")),
                   rng.choice((201, 201, 201, 200, 302, 500, 502, 504, 101, *RELEASING)),
                   rng.choice(("sized", "sized", "chunked", "closed", "two-lengths", "twice",
                               "stream", "garbage")),
                   rng.choice((0, 50, 5_000, 70_000, 300_000)),
                   rng.choice((0, 0, 0.1, 0.8, 1.2, 2.5)), rng.random())

    def answer(self, key, number):
        head = f"HTTP/1.1 {self.status} Scripted\r\nX-Run: {number}\r\n".encode()
        body = f"{key} {number} ".encode() + b"y" * self.size
        sized = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        return {"sized": head + sized,
                "chunked": head + chunked,
                "closed": head + b"Connection: close\r\n\r\n" + body,
                "two-lengths": head + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
                "twice": (head + sized) * 2,
                "stream": head + b"Content-Type: text/event-stream\r\n" + chunked,
                "garbage": b"\0\1 nonsense\r\n\r\n"}[self.form]


class StormUpstream:
    def __init__(self):
        self.faults = {}  # of a key: the faults of its next requests, in their order
        self.effects = collections.Counter()
        self.requests = collections.Counter()
        self.answering = set()

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def close(self):
        self.server.close()
        for task in list(self.answering):
            task.cancel()
        await asyncio.gather(*self.answering, return_exceptions=True)

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self.answering.add(task)
        try:
            while await self._answer_one(reader, writer):
                pass
        except GONE:
            pass
        finally:
            self.answering.discard(task)
            writer.close()

    async def _answer_one(self, reader, writer):
        """One request; false: the connection is over."""
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:-2])
        fields = {name.lower(): value for name, value in fields.items()}
        key = fields["idempotency-key"].strip('"')
        planned = self.faults.get(key)
        fault = planned.pop(0) if planned else Fault()
        self.requests[key] += 1
        answer = fault.answer(key, self.requests[key])
        if fault.point == "before":
            return await self._end(writer, fault)
        if fault.point == "within":
            await reader.read(10)
            return await self._end(writer, fault)
        if fault.point == "early":
            self._take_effect(key, fault)
            writer.write(answer)
        await reader.readexactly(int(fields.get("content-length", 0)))
        if fault.point == "early":
            return fault.end == "stall"
        self._take_effect(key, fault)
        if fault.point == "after":
            return await self._end(writer, fault)
        if fault.point == "interim":
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 3)
        if fault.point == "silent":
            return await self._end(writer, dataclasses.replace(fault, end="stall"))
        await asyncio.sleep(fault.delay)
        if fault.point == "amid":
            writer.write(answer[: int(len(answer) * fault.share)])
            await writer.drain()
            return await self._end(writer, fault)
        writer.write(answer)
        await writer.drain()
        return fault.form in ("sized", "chunked", "stream") and fault.status != 101

    def _take_effect(self, key, fault):
        if fault.status not in RELEASING:
            self.effects[key] += 1

    @staticmethod
    async def _end(writer, fault):
        if fault.end == "stall":
            await asyncio.sleep(4)
        if fault.end == "rst":
            reset(writer)
        return False


def reset(writer):
    """Closes with RST, unless the other side has closed it before."""
    end = writer.get_extra_info("socket")
    if end.fileno() >= 0:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


MANNERS = ("plain", "plain", "plain", "expect", "chunked", "drip", "half", "leave", "reset")


async def post(address, key, body, rng, manner="plain", patience=20):
    """A whole answer, or None: it did not come, was cut, or nobody waited for it."""
    try:
        reader, writer = await asyncio.open_connection(*address)
    except ConnectionError:
        return None
    fields = [("Content-Type", "text/plain"), *fields_for(key)]
    if manner == "expect":
        fields.append(("Expect", "100-continue"))
    data = request_bytes("POST", "/charges", fields, body, chunked=manner == "chunked")
    try:
        if manner == "half":
            writer.write(data[:-1])
            await writer.drain()
            return await asyncio.sleep(rng.random() * 0.3)
        if manner == "drip":
            writer.write(data[: len(data) // 2])
            await asyncio.sleep(0.2)
            data = data[len(data) // 2 :]
        writer.write(data)
        await writer.drain()
        if manner in ("leave", "reset"):
            await asyncio.sleep(rng.random() * 0.2)
            return reset(writer) if manner == "reset" else None
        return await asyncio.wait_for(_read_answer(reader), patience)
    except (*GONE, TimeoutError, asyncio.TimeoutError):
        return None
    finally:
        with contextlib.suppress(ConnectionError):
            writer.close()


async def _read_answer(reader):
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
