"""Stands between a client and a server, and loses answers: the server has done the work, and the
client's connection breaks."""

import contextlib
import socket
import threading


class LosingNetwork:
    """Passes connections on to `address`. Of the answers that come back, counted from 0 over all
    connections, those are lost of which `loses(number)` is true."""

    def __init__(self, address, loses=lambda number: number % 3 != 2):
        self._to = address
        self._loses = loses
        self._count = 0
        self._lost = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.address = ("127.0.0.1", self.port)
        self.url = f"http://127.0.0.1:{self.port}"
        self._sockets = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def lost(self):
        """How many answers were lost so far."""
        return self._lost

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._begin, args=(client,), daemon=True).start()

    def _begin(self, client):
        server = socket.create_connection(self._to)
        with self._lock:
            self._sockets |= {client, server}
        threading.Thread(target=self._pass_requests, args=(client, server), daemon=True).start()
        try:
            while piece := server.recv(65536):
                if piece.startswith(b"HTTP/1.") and not piece.startswith(b"HTTP/1.1 1") \
                        and self._takes_one():
                    break
                client.sendall(piece)
        except OSError:
            pass
        for each in (client, server):
            with self._lock:
                self._sockets.discard(each)
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # the other thread reads from it
            each.close()

    def _takes_one(self):
        with self._lock:
            number, self._count = self._count, self._count + 1
            if not self._loses(number):
                return False
            self._lost += 1
            return True

    @staticmethod
    def _pass_requests(client, server):
        with contextlib.suppress(OSError):
            while piece := client.recv(65536):
                server.sendall(piece)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)
