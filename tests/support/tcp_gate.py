"""Stands between a gateway and its database: loses what a test says, or holds everything up."""

import contextlib
import socket
import threading

from support.waiting import wait_until


class _Pair:
    """The two halves of one connection."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.losing = False  # its next bytes to the client are lost
        self.last = False    # what it has in hand is the last to go to the server for a while
        self.tail = b""      # of what went to the server: a mark may come in two pieces

    def close(self):
        for half in (self.client, self.server):
            with contextlib.suppress(OSError):
                half.shutdown(socket.SHUT_RDWR)
            half.close()


class TcpGate:
    """Takes connections on a port of its own and passes them on to `port` of this machine."""

    def __init__(self, port):
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs = set()
        self._mark, self._loses = None, None
        self._passing = threading.Event()
        self._passing.set()
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._closed = True
        self._passing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    # ---- what a test says -----------------------------------------------------------------
    def lose(self, what, mark):
        """Breaks the connection by which the bytes `mark` go to the server, once: before they
        arrive there (what = "request"), or before their answer is back ("reply")."""
        with self._lock:
            self._mark, self._loses = mark, what

    def hold_at(self, mark):
        """From the bytes `mark` on nothing passes to the server or back, until pass_on()."""
        with self._lock:
            self._mark, self._loses = mark, "time"

    def hold_behind(self, mark):
        """The same, but the bytes themselves arrive: what is held up first is their answer."""
        with self._lock:
            self._mark, self._loses = mark, "replies"

    def pass_on(self):
        self._passing.set()

    def lost(self):
        """Waits until it has come to that."""
        wait_until(lambda: self._mark is None, timeout=30, what="the loss")

    def cut(self):
        """Breaks every connection that there is."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            pair.close()

    @contextlib.contextmanager
    def holding(self):
        """Meanwhile nothing passes, and nothing says so: as where packets are dropped."""
        self._passing.clear()
        try:
            yield
        finally:
            self._passing.set()

    # ---- how it does it -------------------------------------------------------------------
    def _accept(self):
        while not self._closed:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._begin, args=(client,), daemon=True).start()

    def _begin(self, client):
        self._passing.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self._to))
        except OSError:
            client.close()
            return
        pair = _Pair(client, server)
        for half in (client, server):
            half.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.add(pair)
        threading.Thread(target=self._pass, args=(pair, client, server), daemon=True).start()
        self._pass(pair, server, client)

    def _pass(self, pair, source, sink):
        with contextlib.suppress(OSError):
            while True:
                piece = source.recv(65536)
                self._passing.wait()
                if not piece or self._loses_now(pair, piece, sink is pair.server):
                    break
                if sink is pair.server and pair.last:
                    pair.last = False
                else:
                    self._passing.wait()
                sink.sendall(piece)
        pair.close()
        with self._lock:
            self._pairs.discard(pair)

    def _loses_now(self, pair, piece, to_server):
        if not to_server:
            return pair.losing
        with self._lock:
            seen = pair.tail + piece
            if self._mark is None or self._mark not in seen:
                pair.tail = seen[-64:]
                return False
            self._mark = None
            if self._loses in ("time", "replies"):
                self._passing.clear()
                pair.last = self._loses == "replies"
                return False
            pair.losing = True
            return self._loses == "request"
