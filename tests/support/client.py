"""Clients that send exactly the bytes they are told to."""

import asyncio
import json
import select
import socket
import struct
import time

from support.answer import AnswerReader


def request_bytes(method, target, fields=(), body=None, host="shop.test", version="1.1",
                  chunked=False):
    """A request as plain as can be; `fields` is a list of (name, value)."""
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in fields]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    elif body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    if chunked:
        return head + chunks(body)
    return head + (body or b"")


def chunks(body, size=4096):
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def fields_for(key=None, plan=None, fields=()):
    """The usual fields: the key, and what the upstream is to do with this request."""
    made = list(fields)
    if key is not None:
        made.append(("Idempotency-Key", key))
    if plan is not None:
        made.append(("X-Trace-Plan", json.dumps(plan)))
    return made


class Connection:
    """One TCP connection, used with raw bytes."""

    def __init__(self, address, source=None, timeout=60.0, sink=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.reader = AnswerReader(sink)
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with RST, as a client that dies does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_request(self, method, target, fields=(), body=None, **how):
        self.reader.expect(method)
        self.send(request_bytes(method, target, fields, body, **how))

    def _receive(self):
        """One piece; False at the end of the connection."""
        try:
            piece = self.socket.recv(256 * 1024)
        except ConnectionResetError:
            piece = b""
        if not piece:
            self.ended = True
            return False
        self.reader.feed(piece)
        return True

    def read(self):
        """The next complete answer; what came of it where the connection ended before."""
        while True:
            answer = self.reader.take()
            if answer is not None:
                return answer
            if self.ended or not self._receive():
                answer = self.reader.end()
                if answer is None:
                    raise ConnectionError("the connection ended without an answer")
                return answer

    def read_interim(self):
        """The next 1xx answer that comes before the final one."""
        self._until(lambda: self.reader.take() is not None or self.reader._interim)
        return self.reader._interim[-1]

    def read_part(self, least):
        """An answer's head and at least that many bytes of its body, before it is complete."""
        def enough():
            answer = self.reader.peek()
            return answer if answer is not None and len(answer.body) >= least else None
        return self._until(enough)

    def _until(self, condition):
        while True:
            value = condition()
            if value:
                return value
            if not self._receive():
                raise ConnectionError("the connection ended too early")

    def read_raw(self, count):
        """Exactly that many bytes that are no HTTP (of a tunnel)."""
        while len(self.reader.buffer) < count:
            if not self._receive():
                raise ConnectionError(f"ended after {self.reader.buffer!r}")
        taken, self.reader.buffer = self.reader.buffer[:count], self.reader.buffer[count:]
        return taken

    def closed_within(self, seconds):
        """Does the peer end the connection (bytes before the end are ignored)?"""
        deadline = time.monotonic() + seconds
        while not self.ended:
            left = deadline - time.monotonic()
            if not select.select([self.socket], [], [], max(left, 0))[0]:
                return False
            self._receive()
        return True

    def silent_for(self, seconds):
        """Does nothing at all arrive for so long?"""
        return not select.select([self.socket], [], [], seconds)[0]


def ask(address, method="GET", target="/", fields=(), body=None, source=None, timeout=60.0, **how):
    """One request over a connection of its own."""
    with Connection(address, source, timeout) as connection:
        connection.send_request(method, target, fields, body, **how)
        return connection.read()


async def ask_async(address, data, method="POST", timeout=60.0):
    """As ask(), for many at once; `data` are the request's bytes."""
    async with asyncio.timeout(timeout):
        reader, writer = await asyncio.open_connection(*address, limit=4 << 20)
        try:
            return await exchange(reader, writer, data, method)
        finally:
            writer.close()


async def exchange(reader, writer, data, method="POST"):
    """One request and its answer over a connection that is already there."""
    parser = AnswerReader()
    parser.expect(method)
    writer.write(data)
    while True:
        answer = parser.take()
        if answer is not None:
            return answer
        piece = await reader.read(256 * 1024)
        if not piece:
            answer = parser.end()
            if answer is None:
                raise ConnectionError("the connection ended without an answer")
            return answer
        parser.feed(piece)


async def last_exchange(reader, writer, data):
    """An exchange that ends its connection: a server with a thread for each has the thread back."""
    try:
        return await exchange(reader, writer, data)
    finally:
        writer.close()


def all_at_once(address, requests, timeout=60.0):
    """Sends every one of `requests` (bytes) at the same moment; the answers in their order.

    All connections are open before the first byte goes out. `address` may be a list: one for each.
    """
    async def run():
        each = address if isinstance(address, list) else [address] * len(requests)
        pairs = await asyncio.gather(*(asyncio.open_connection(*one) for one in each))
        async with asyncio.timeout(timeout):
            return await asyncio.gather(
                *(last_exchange(r, w, data) for (r, w), data in zip(pairs, requests)))
    return asyncio.run(run())
