"""Upstreams that go wrong at a point that a test names, each on a port of its own.

The first connection to each follows its script (or each one does); what comes behind is answered
in the ordinary way, on the same connection too where the script left it open. Steps of a script:

("head",)        reads the request's head
("body", n)      reads n bytes of its body
("rest",)        reads what is left of it: it is whole then, and takes effect
("answer",)      answers it as it answers what comes behind the script
("send", bytes)  sends them
("drip", bytes)  sends the first one after the other, without an end
("pause", s)     waits for so many seconds
("gate", name)   waits until the test opens it
("stall",)       does nothing any more
("fin",)         ends the connection
("rst",)         resets it
"""

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections import Counter


class Gone(Exception):
    """The peer ended the connection, or the script did."""


class ScriptedUpstream:
    """One port. The counts are of whole requests, by their key."""

    def __init__(self, script, always, scheme="http"):
        self.scheme = scheme
        self.script = list(script)
        self.always = always
        self.begun = False       # somebody has come for the script
        self.scripted = False    # it was followed to its end
        self.cut_short = False   # what it was to read ended before
        self.was_reset = False   # and in a way that nobody takes for an end
        self.taken = 0           # bytes of the scripted request's body
        self.whole = Counter()
        self.accepted = 0
        self.ended = 0
        self.kept = []           # connections that nobody is to close
        self.gates = {}
        self.port = 0

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def serve(self, reader, writer):
        self.accepted += 1
        connection = _Connection(self, reader, writer)
        try:
            if self.always or not self.begun:
                self.begun = True
                try:
                    for step in self.script:
                        await getattr(connection, "do_" + step[0])(*step[1:])
                finally:
                    self.scripted = True
            while True:
                await connection.do_head()
                await connection.do_rest()
                await connection.do_answer()
        except (Gone, ConnectionError):
            pass
        finally:
            writer.close()
            self.ended += 1

    def gate(self, name):
        return self.gates.setdefault(name, asyncio.Event())


class _Connection:
    def __init__(self, upstream, reader, writer):
        self.upstream, self.reader, self.writer = upstream, reader, writer
        self.key, self.left = None, 0

    async def do_head(self):
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            raise Gone from None
        lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:-2])
        fields = {name: value.strip() for name, _, value in lines}
        self.key = fields.get("Idempotency-Key")
        self.left = int(fields.get("Content-Length", "0"))

    async def do_body(self, count):
        while count:
            piece = await self.reader.read(min(count, 65536))
            if not piece:
                self.upstream.cut_short = True
                raise Gone
            count -= len(piece)
            self.left -= len(piece)
            self.upstream.taken += len(piece)

    async def do_rest(self):
        try:
            await self.do_body(self.left)
        except ConnectionError:
            self.upstream.cut_short = self.upstream.was_reset = True
            raise
        self.upstream.whole[self.key] += 1

    async def do_send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def do_drip(self, data):
        while True:
            self.writer.write(data)
            await self.writer.drain()
            await asyncio.sleep(0.02)

    async def do_pause(self, seconds):
        await asyncio.sleep(seconds)

    async def do_gate(self, name):
        await self.upstream.gate(name).wait()

    async def do_stall(self):
        self.upstream.kept.append(self.writer)
        self.upstream.scripted = True
        await asyncio.Event().wait()

    async def do_fin(self):
        self.writer.close()
        await self._ended()

    async def do_rst(self):
        self.writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        await self._ended()

    async def _ended(self):
        """A script is over when its socket is closed: a request that somebody sends behind that
        finds the end, and is not the one that it takes away."""
        await self.writer.wait_closed()
        raise Gone

    async def do_answer(self):
        body = json.dumps({"answer to": self.key}).encode()
        await self.do_send(b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


class ScriptedUpstreams:
    """All of a test, on one loop in a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def add(self, *script, window=None, always=False, tls=None):
        """`window`: bytes that its kernel takes before somebody reads. `tls`: the paths of a
        certificate and its key."""
        upstream = ScriptedUpstream(script, always, "https" if tls else "http")
        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)

        async def listen():
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            if window:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            upstream.port = listener.getsockname()[1]
            # What the reader takes ahead of the script counts as in the kernel.
            await asyncio.start_server(upstream.serve, sock=listener, limit=8 * 1024, ssl=context)

        self._do(listen())
        return upstream

    def open(self, upstream, gate):
        async def opened():
            upstream.gate(gate).set()
        self._do(opened())

    def close(self):
        async def end():
            rest = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        self._do(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
