"""Strangers who take connections, buffers and processor time."""

import asyncio
import contextlib
import gzip

from chaos.disturbance import Disturbance

HEAD = b"POST /charges HTTP/1.1\r\nHost: shop.test\r\nContent-Type: application/json\r\n"
KEYED = HEAD + b"Authorization: Bearer stranger\r\nIdempotency-Key: stranger-%d\r\n"
GONE = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError)


def sized(number, body, head=b""):
    return KEYED % number + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def half_head(number):
    return HEAD[: 40 + number % 40]


def half_body(number):
    return KEYED % number + b"Content-Length: 1000000\r\n\r\n" + b"[" * 200_000


def huge_header(number):
    return KEYED % number + b"X-Large: " + b"y" * 60_000 + b"\r\nContent-Length: 2\r\n\r\n{}"


def many_headers(number):
    fields = b"".join(b"X-%d: y\r\n" % n for n in range(95))
    return KEYED % number + fields + b"Content-Length: 0\r\n\r\n"


def deep(number):
    return sized(number, b"[" * 400_000 + b"]" * 400_000)


def commas(number):
    return sized(number, b"[" + b"{}," * 300_000 + b"{}]")


def names(number):
    return sized(number, b"{" + b",".join(b'"k%d":%d.5e300' % (n, n) for n in range(50_000)) + b"}")


def bomb(number):
    return sized(number, gzip.compress(b" " * 60_000_000 + b"{}", 9), b"Content-Encoding: gzip\r\n")


def small_chunks(number):
    return KEYED % number + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 100_000


def pipelined(number):
    return (b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n") * 2_000


def garbage(number):
    return bytes((number * 7 + n * 13) % 256 for n in range(5_000))


WAYS = {made.__name__.replace("_", "-"): made for made in (
    half_head, half_body, huge_header, many_headers, deep, commas, names, bomb, small_chunks,
    pipelined, garbage)}


async def crowd(world, how):
    """So many connections at once; none reads what it gets before the end."""
    async def one(number):
        with contextlib.suppress(*GONE):
            door = world.gateways[number % len(world.gateways)].address
            reader, writer = await asyncio.wait_for(asyncio.open_connection(*door), 5)
            reader._transport.pause_reading()  # a client that sleeps
            try:
                path = b"/v1/operations" if world.plan.door == "serve" else b"/charges"
                writer.write(WAYS[how["way"]](number).replace(b"/charges", path))
                await asyncio.wait_for(writer.drain(), how["seconds"])
                await asyncio.sleep(how["seconds"])
            finally:
                writer.transport.abort()

    await asyncio.gather(*(one(number) for number in range(how["many"])))


TABLE = [Disturbance("strangers", crowd, {"way": tuple(WAYS), "many": (5, 40, 150),
                                          "seconds": (1, 3)})]
