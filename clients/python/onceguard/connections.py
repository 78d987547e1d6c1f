"""Connections to the service, for threads and for event loops, and the pools that keep them.

A lease is renewed as long as the connection lives on which it was claimed. So no connection is
shared, and a forked child holds none of its parent's.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import ssl
import time
import urllib.parse
import weakref
from collections import deque
from typing import Any, Coroutine, Deque, Dict, Optional, Set, TypeVar

IDLE = 64  # connections that a pool keeps
T = TypeVar("T")
OPEN: "weakref.WeakSet[Any]" = weakref.WeakSet()


class Address:
    """Where the service listens: unix:PATH, http://HOST:PORT or https://HOST:PORT."""

    def __init__(self, url: str, tls: Optional[ssl.SSLContext] = None) -> None:
        self.url, self.path, self.host, self.tls = url, "", "onceguard", None
        if url.startswith("unix:") and len(url) > 5:
            self.path = url[5:]
            return
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"onceguard: {url!r} is not unix:PATH, http://HOST:PORT or https://…")
        self.host, self.name = parts.netloc.rpartition("@")[2], parts.hostname
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.scheme == "https":
            self.tls = tls or ssl.create_default_context()


def blocking(call: Coroutine[Any, Any, T]) -> T:
    """Runs a call over Threads, which never waits for a loop."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise RuntimeError("onceguard: a blocking call waited for an event loop")


def refuses_certificate(error: BaseException) -> bool:
    """Whether the service refuses the certificate that a new connection has shown it, or the lack
    of one (RFC 8446, 6.2; the names are OpenSSL's). It has read nothing of what was sent then."""
    reason = str(error.reason) if isinstance(error, ssl.SSLError) else ""
    return "_ALERT_" in reason and any(
        word in reason for word in ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "DECRYPT_ERROR"))


def left(deadline: float) -> float:
    """Seconds until then; TimeoutError: none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the service did not answer in time")
    return seconds


class Stream:
    """A connection; `reusable`: its last answer has ended as it should."""

    reusable = False
    fresh = True
    sock: socket.socket

    def ended(self) -> bool:
        """Whether the service has closed it; of one on which no answer is awaited."""
        if self.sock.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self.sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def leave_to_parent(self, null: int) -> None:
        """In a forked child. The number stays taken, so that no later close() hits a stranger."""
        if self.sock.fileno() >= 0:
            os.dup2(null, self.sock.fileno(), inheritable=False)


class BlockingStream(Stream):
    """One for threads."""

    def __init__(self, address: Address, deadline: float) -> None:
        if address.path:
            self.sock = socket.socket(socket.AF_UNIX)
            try:
                self.sock.settimeout(left(deadline))
                self.sock.connect(address.path)
            except BaseException:
                self.sock.close()
                raise
        else:
            self.sock = socket.create_connection((address.name, address.port), left(deadline))
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.tls:
                self.sock = address.tls.wrap_socket(self.sock, server_hostname=address.name)
        OPEN.add(self)

    async def send(self, data: bytes, deadline: float) -> None:
        self.sock.settimeout(left(deadline))
        self.sock.sendall(data)

    async def receive(self, deadline: float) -> bytes:
        self.sock.settimeout(left(deadline))
        if data := self.sock.recv(65536):
            return data
        raise ConnectionError("the service closed the connection")

    def idle(self) -> bool:
        return not self.ended()

    def close(self) -> None:
        self.sock.close()


class AsyncStream(Stream):
    """One of an event loop."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def open(self, address: Address) -> "AsyncStream":
        if address.path:
            pair = await asyncio.open_unix_connection(address.path)
        else:
            pair = await asyncio.open_connection(
                address.name, address.port, ssl=address.tls,
                server_hostname=address.name if address.tls else None)
        self.sock = pair[1].get_extra_info("socket")
        self.reader, self.writer = pair
        OPEN.add(self)
        return self

    async def send(self, data: bytes, deadline: float) -> None:
        left(deadline)
        self.writer.write(data)

    async def receive(self, deadline: float) -> bytes:
        timer = asyncio.get_running_loop().call_later(left(deadline), self.close)
        try:
            data = await self.reader.read(65536)
        finally:
            timer.cancel()
        if data:
            return data
        raise ConnectionError("the service closed the connection, or did not answer in time")

    def idle(self) -> bool:
        # A loop that was blocked does not know of an end yet, but the socket does.
        return not (self.reader.at_eof() or self.writer.is_closing() or self.ended())

    def close(self) -> None:
        self.writer.transport.abort()


class Threads:
    """How calls of threads are made."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.idle: Deque[Any] = deque()
        PLACES.add(self)

    def pool(self) -> Deque[Any]:
        return self.idle

    async def connect(self, deadline: float) -> Any:
        return BlockingStream(self.address, deadline)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def stream(self, deadline: float, fresh: bool = False) -> Any:
        """An idle connection, or a new one."""
        pool = self.pool()
        while pool and not fresh:
            try:
                found = pool.pop()
            except IndexError:  # another thread was faster
                break
            if found.idle():
                found.fresh = False
                return found
            found.close()
        return await self.connect(deadline)

    def give_back(self, stream: Any) -> None:
        pool = self.pool()
        if stream.reusable and len(pool) < IDLE:
            pool.append(stream)
        else:
            stream.close()

    def forget(self) -> None:
        self.idle = deque()


class Loops(Threads):
    """How calls of event loops are made."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.forget()

    def forget(self) -> None:
        self.pools: Dict[Any, Deque[Any]] = {}
        self.tasks: Set["asyncio.Task[None]"] = set()

    def pool(self) -> Deque[Any]:
        loop = asyncio.get_running_loop()
        if loop not in self.pools:
            for ended in [other for other in list(self.pools) if other.is_closed()]:
                self.pools.pop(ended, None)
        return self.pools.setdefault(loop, deque())

    async def connect(self, deadline: float) -> Any:
        try:
            return await asyncio.wait_for(AsyncStream().open(self.address), left(deadline))
        except asyncio.TimeoutError as error:
            raise TimeoutError("the service took no connection in time") from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Goes on with what a cancelled caller has left in doubt."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


PLACES: "weakref.WeakSet[Any]" = weakref.WeakSet()


def leave_to_parent() -> None:
    """In a forked child: the parent's leases end with the parent."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in list(OPEN):
        stream.leave_to_parent(null)
    os.close(null)
    OPEN.clear()
    for place in list(PLACES):
        place.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=leave_to_parent)
