"""A service behind the gateway that counts what takes effect, and misbehaves as it is told.

What it does with a request is said by the request's X-Trace-Plan field (JSON; a name that tells no
callers apart), or by a plan that the test set for a path. See Plan for the members. A second port
takes one JSON command per line.
Run as a program of its own; it ends when its standard input does.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import socket
import struct
import sys
import time
from collections import Counter

from support.pattern import blocks, pattern

KEPT_BODY = 64 * 1024
LINGER = 5  # seconds in which a client may read what is left on a connection that ends


class Gone(Exception):
    """The peer ended the connection in the middle of a request."""


class Plan:
    """What to do with one request. Members, all optional:

    status, reason, headers [[name, value]], body (text), size and seed (bytes of pattern()),
    stream (that many bytes of blocks()), framing "length" "chunked" "eof", trailers,
    interim [[status, [[name, value]]]], interim_times (again and again), delay_ms,
    gate (wait until it is opened), gate_half
    (the same in the middle of the body), effect (false: none), raw (base64 of the whole
    answer), drop "head" "body" "half" "quarter-reset", early (answer before the body is
    read), upgrade (101 and echo), close (Connection: close), echo_fields (names copied from
    the request), hold_open (do not close after a raw answer), pieces (list of texts sent one
    by one, each after a gate of its own where gate_pieces names it).
    """

    def __init__(self, members):
        self.members = members

    def __getattr__(self, name):
        return self.members.get(name)

    def payload(self, effect):
        if self.body is not None:
            return self.body.encode("latin-1")
        if self.size is not None:
            return pattern(self.size, self.seed or 1)
        return json.dumps({"effect": effect}).encode()


class Upstream:
    def __init__(self, effects_path):
        self.effects_file = os.open(effects_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.effects = Counter()
        self.total = 0
        self.log = []
        self.gates = {}
        self.plans = {}
        self.changed = asyncio.Condition()
        self.connections = {}
        self.accepted = 0
        self.listener = None
        self.server = None
        self.port = 0

    # ---- requests -------------------------------------------------------------------------
    async def serve(self, reader, writer):
        self.accepted += 1
        number = self.accepted
        self.connections[number] = writer
        try:
            while await self.one(reader, writer, number):
                pass
        except (Gone, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            await self.ended(writer)
            del self.connections[number]
            for entry in self.log:
                if entry["conn"] == number:
                    entry["closed"] = True
            await self.note()

    async def one(self, reader, writer, number):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        lines = head[:-4].decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
        fields = [[n, v.strip(" \t")] for n, _, v in (line.partition(":") for line in lines[1:])]
        low = {n.lower(): v for n, v in fields}
        entry = {"id": len(self.log), "conn": number, "method": method, "target": target,
                 "version": version, "fields": fields, "head": head.decode("latin-1"),
                 "key": low.get("idempotency-key"), "scope": low.get("onceguard-scope"),
                 "attempt": low.get("onceguard-attempt"), "token": low.get("onceguard-token"),
                 "framing": "none", "size": 0, "body": "", "whole": False, "effect": 0,
                 "closed": False, "at": time.monotonic()}
        self.log.append(entry)
        await self.note()
        plan = self.plan_for(low, target)
        if plan.drop == "head":
            return False
        if plan.upgrade:
            return await self.tunnel(reader, writer, low)
        if plan.early:
            writer.transport.pause_reading()
            await self.answer(reader, writer, plan, entry, low, 0)
            if plan.raw:  # it closes at once, with bytes unread: that is a reset
                return False
            await asyncio.sleep(0.3)
            writer.transport.resume_reading()
            await self.read_body(reader, low, entry)
            return True
        if low.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await self.read_body(reader, low, entry)
        return await self.act(reader, writer, plan, entry, low)

    async def act(self, reader, writer, plan, entry, low):
        effect = 0
        if plan.effect is not False and entry["method"] not in ("GET", "HEAD", "OPTIONS"):
            effect = self.take_effect(entry)
            await self.note()
        if plan.delay_ms:
            await asyncio.sleep(plan.delay_ms / 1000)
        if plan.gate:
            await self.pass_gate(plan.gate, reader)
        if plan.drop == "body":
            return False
        return await self.answer(reader, writer, plan, entry, low, effect)

    def plan_for(self, low, target):
        if "x-trace-plan" in low:
            return Plan(json.loads(low["x-trace-plan"]))
        for path in sorted(self.plans, key=len, reverse=True):
            if target.startswith(path):
                queue = self.plans[path]
                return Plan(queue.pop(0) if len(queue) > 1 else queue[0])
        return Plan({})

    async def read_body(self, reader, low, entry):
        sha = hashlib.sha256()

        def keep(piece):
            sha.update(piece)
            entry["size"] += len(piece)
            if len(entry["body"]) < KEPT_BODY:
                entry["body"] += piece[: KEPT_BODY - len(entry["body"])].decode("latin-1")

        if low.get("transfer-encoding", "").lower() == "chunked":
            entry["framing"] = "chunked"
            await self.read_chunks(reader, keep, entry)
        elif "content-length" in low:
            entry["framing"] = "length"
            await read_exactly(reader, int(low["content-length"]), keep)
        entry["sha"] = sha.hexdigest()
        entry["whole"] = True
        await self.note()

    async def read_chunks(self, reader, keep, entry):
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            if size == 0:
                entry["trailers"] = []
                while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
                    name, _, value = line.decode("latin-1").partition(":")
                    entry["trailers"].append([name, value.strip()])
                return
            await read_exactly(reader, size, keep)
            await reader.readexactly(2)

    def take_effect(self, entry):
        self.total += 1
        self.effects[entry["key"] or ""] += 1
        entry["effect"] = self.total
        line = {name: entry[name] for name in ("key", "scope", "attempt", "token", "target")}
        os.write(self.effects_file, (json.dumps(line) + "\n").encode())
        return self.total

    # ---- answers --------------------------------------------------------------------------
    async def answer(self, reader, writer, plan, entry, low, effect):
        if plan.raw:
            writer.write(base64.b64decode(plan.raw))
            await writer.drain()
            if plan.hold_open:
                await self.pass_gate("never")
            return False
        for _ in range(plan.interim_times or 1):
            for status, fields in plan.interim or []:
                lines = "".join(f"{n}: {v}\r\n" for n, v in fields)
                writer.write(f"HTTP/1.1 {status} Interim\r\n{lines}\r\n".encode("latin-1"))
            if plan.interim_times:
                await writer.drain()
                await asyncio.sleep(0.003)
        status = plan.status or 201
        fields = [list(pair) for pair in plan.headers or []]
        fields += [[name, low.get(name.lower(), "")] for name in plan.echo_fields or []]
        if not any(name.lower() == "content-type" for name, _ in fields):
            fields.append(["Content-Type", "application/json"])
        if plan.close:
            fields.append(["Connection", "close"])
        body = plan.payload(effect)
        framing = plan.framing or "length"
        bodyless = status in (204, 304) or entry["method"] == "HEAD"
        if framing == "chunked":
            fields.append(["Transfer-Encoding", "chunked"])
        elif framing == "length" and status != 204:
            length = plan.stream or (sum(map(len, plan.pieces)) if plan.pieces else len(body))
            fields.append(["Content-Length", str(length)])
        writer.write(head_bytes(status, plan.reason or "Said", fields))
        if not bodyless:
            await self.write_body(reader, writer, plan, body, framing)
        await writer.drain()
        return framing != "eof" and not plan.close and plan.drop is None

    async def write_body(self, reader, writer, plan, body, framing):
        if plan.drop == "quarter-reset":
            writer.write(body[: len(body) // 4])
            await writer.drain()
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        if plan.drop == "half":
            writer.write(frame(body[: len(body) // 2], framing))
            return
        for number, piece in enumerate(self.pieces_of(plan, body)):
            if number and plan.gate_half:
                await writer.drain()
                await self.pass_gate(plan.gate_half, reader)
            if piece:
                writer.write(frame(piece, framing))
            await writer.drain()
        if framing == "chunked":
            trailers = "".join(f"{n}: {v}\r\n" for n, v in plan.trailers or [])
            writer.write(f"0\r\n{trailers}\r\n".encode("latin-1"))

    @staticmethod
    def pieces_of(plan, body):
        if plan.stream:
            return blocks(plan.stream)
        if plan.pieces:
            return [piece.encode("latin-1") for piece in plan.pieces]
        if plan.gate_half:
            return [body[: len(body) // 2], body[len(body) // 2 :]]
        return [body]

    async def tunnel(self, reader, writer, low):
        writer.write(head_bytes(101, "Switching Protocols", [
            ["Connection", "Upgrade"], ["Upgrade", low.get("upgrade", "echo")]]))
        while piece := await reader.read(65536):
            if piece == b"bye":
                break
            writer.write(b"echo:" + piece)
            await writer.drain()
        return False

    # ---- the test's side ------------------------------------------------------------------
    def gate(self, name):
        return self.gates.setdefault(name, asyncio.Event())

    async def pass_gate(self, name, reader=None):
        """Waits for the gate; ends early where the peer goes away meanwhile."""
        opened = asyncio.ensure_future(self.gate(name).wait())
        while not opened.done():
            await asyncio.wait({opened}, timeout=0.05)
            if reader is not None and reader.at_eof():
                opened.cancel()
                raise Gone

    async def note(self):
        async with self.changed:
            self.changed.notify_all()

    def selected(self, command):
        def fits(entry):
            return all(command.get(name) is None or entry[name] == command[name]
                       for name in ("key", "method", "whole", "closed")) and (
                           command.get("path") is None
                           or entry["target"].startswith(command["path"]))
        return [entry for entry in self.log if fits(entry)]

    async def listen(self):
        # With the protocol named, asyncio switches Nagle's algorithm off for what it accepts.
        self.listener = self.listener or self.bound()
        self.listener.listen(1024)
        self.server = await asyncio.start_server(self.serve, sock=self.listener, limit=1 << 20)

    def bound(self):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        return listener

    async def refuse(self):
        following = self.bound()  # before the other is closed: no other program gets the port
        self.server.close()
        await self.cut()
        self.listener = following

    async def cut(self):
        writers = list(self.connections.values())
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*map(self.ended, writers))

    @staticmethod
    async def ended(writer):
        """Whoever is told so finds the socket closed: asyncio does that some time after close()."""
        writer.close()
        with contextlib.suppress(OSError):
            try:
                await asyncio.wait_for(asyncio.shield(writer.wait_closed()), LINGER)
            except TimeoutError:  # nobody reads what is left
                writer.transport.abort()

    async def control(self, reader, writer):
        while line := await reader.readline():
            command = json.loads(line)
            reply = await getattr(self, "do_" + command["do"])(command)
            writer.write((json.dumps(reply) + "\n").encode())
            await writer.drain()
        writer.close()

    async def do_requests(self, command):
        return self.selected(command)

    async def do_wait(self, command):
        async def enough():
            async with self.changed:
                await self.changed.wait_for(
                    lambda: len(self.selected(command)) >= command["count"])
        try:
            await asyncio.wait_for(enough(), command["timeout"])
        except asyncio.TimeoutError:
            pass
        return self.selected(command)

    async def do_open(self, command):
        self.gate(command["gate"]).set()

    async def do_plan(self, command):
        self.plans[command["path"]] = command["plans"]

    async def do_effects(self, command):
        return dict(self.effects)

    async def do_connections(self, command):
        return {"open": len(self.connections), "accepted": self.accepted}

    async def do_listen(self, command):
        await self.listen()

    async def do_refuse(self, command):
        await self.refuse()

    async def do_cut(self, command):
        await self.cut()


async def read_exactly(reader, count, keep):
    while count:
        piece = await reader.read(min(count, 256 * 1024))
        if not piece:
            raise Gone
        keep(piece)
        count -= len(piece)


def head_bytes(status, reason, fields):
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1")


def frame(piece, framing):
    return b"%x\r\n%s\r\n" % (len(piece), piece) if framing == "chunked" else piece


async def main(effects_path):
    upstream = Upstream(effects_path)
    await upstream.listen()
    control = await asyncio.start_server(upstream.control, "127.0.0.1", 0, limit=1 << 24)
    print(json.dumps({"port": upstream.port, "control": control.sockets[0].getsockname()[1]}),
          flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
