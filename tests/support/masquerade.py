"""A pooler that can't be told from a server: its greeting names the server's own process."""

import socket
import struct
import threading

# The message of a server that names its process: type, length, process, key.
GREETING = b"K" + struct.pack("!I", 12)


class Masquerade:
    """Forwards connections to a port of this machine, and changes the process in greetings."""

    def __init__(self, port, process):
        self.upstream = ("127.0.0.1", port)
        self.process = struct.pack("!I", process)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        self.greetings = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
                server = socket.create_connection(self.upstream)
            except OSError:
                return
            self.sockets += [client, server]
            for source, target, greets in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._forward, args=(source, target, greets),
                                 daemon=True).start()

    def _forward(self, source, target, greets):
        try:
            while data := source.recv(65536):
                at = data.find(GREETING) if greets else -1
                if at >= 0:
                    greets = False
                    self.greetings += 1
                    data = data[:at + 5] + self.process + data[at + 9:]
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        for each in (self.listener, *self.sockets):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
