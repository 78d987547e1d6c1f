"""The service whose effects count: a line of a file each, flushed before the answer goes out.

    python3 -m chaos.ledger_server LEDGER PORT SEED

What becomes of a request follows from the seed, its key and how often that key has come. A line is
written when the whole request was read, whoever waits for the answer: what a real service does.
"""

import asyncio
import json
import os
import random
import sys
import time
import uuid

GONE = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError)
# What a request gets: an effect and its answer, nothing at all with a status that says so, an
# effect behind a 500, or an effect and a connection that ends without an answer.
WAYS = ("answer",) * 14 + ("refuse", "unavailable", "fail", "vanish")


class Ledger:
    def __init__(self, path, seed):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.seed = seed
        self.came = {}

    def write(self, key, token):
        effect = uuid.uuid4().hex
        line = json.dumps({"key": key, "token": token, "effect": effect, "at": time.time()})
        os.write(self.file, line.encode() + b"\n")
        os.fsync(self.file)
        return effect

    async def serve(self, reader, writer):
        try:
            while await self.answer_one(reader, writer):
                pass
        except GONE:
            pass
        finally:
            writer.close()

    async def answer_one(self, reader, writer):
        """Whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = dict(line.split(":", 1) for line in head.split("\r\n")[1:-2])
        fields = {name.lower(): value.strip() for name, value in fields.items()}
        if fields.get("expect"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await read_body(reader, fields)
        key = fields.get("idempotency-key", "").strip('"')
        if not key:
            writer.write(answer(200, b"hello"))
            return True
        self.came[key] = self.came.get(key, 0) + 1
        drawn = random.Random(f"{self.seed}/{key}/{self.came[key]}")
        way, size = drawn.choice(WAYS), drawn.choice((0, 0, 100, 5_000, 70_000))
        await asyncio.sleep(drawn.choice((0, 0, 0, 0.02, 0.3, 1.2)))
        if way in ("refuse", "unavailable"):
            writer.write(answer(400 if way == "refuse" else 503, b"nothing was done"))
            return True
        effect = self.write(key, fields.get("onceguard-token"))
        await asyncio.sleep(drawn.choice((0, 0, 0.05, 0.8)))
        if way == "vanish":
            return False
        text = f"effect {effect} of {key} ".encode() + b"x" * size
        writer.write(answer(500 if way == "fail" else 201, text))
        await writer.drain()
        return True


def answer(status, body):
    head = (f"HTTP/1.1 {status} So\r\nServer: ledger\r\nContent-Type: text/plain\r\n"
            f"Link: </a>\r\nLink: </b>\r\nContent-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


async def read_body(reader, fields):
    if "chunked" not in fields.get("transfer-encoding", ""):
        await reader.readexactly(int(fields.get("content-length", 0)))
        return
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        await reader.readexactly(size + 2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass


async def main():
    ledger = Ledger(sys.argv[1], sys.argv[3])
    server = await asyncio.start_server(ledger.serve, "127.0.0.1", int(sys.argv[2]), limit=1 << 20,
                                        backlog=512)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
