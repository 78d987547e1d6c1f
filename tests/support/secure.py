"""Clients and upstreams that speak TLS."""

import contextlib
import select
import socket
import ssl
import threading

from support.client import Connection, fields_for
from support.ports import Port


def trusting(authority, certificate=None, **versions):
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    for name, value in versions.items():
        setattr(context, name, value)
    return context


class SecureConnection(Connection):
    """A connection of support.client over TLS."""

    def __init__(self, address, context, name="localhost"):
        super().__init__(address)
        self.socket = context.wrap_socket(self.socket, server_hostname=name)


def post(gateway, context, key, body=b'{"amount":100}', fields=(), plan=None, target="/charges"):
    sent = [("Content-Type", "application/json")] + fields_for(key, plan, fields)
    with SecureConnection(gateway.address, context) as connection:
        connection.send_request("POST", target, sent, body)
        return connection.read()


class SecureUpstream:
    """An upstream behind TLS: a proxy of the tests in front of the counting one."""

    def __init__(self, upstream, certificate, client_ca=None, announces_end=False):
        self._to = upstream.address
        self._announces_end = announces_end
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        if client_ca:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        self.context = context
        self.port = Port()
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", self.port.number), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, host="localhost"):
        return f"https://{host}:{self.port.number}"

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.port.close()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain):
        with contextlib.suppress(OSError), contextlib.closing(plain):
            plain.settimeout(30)
            with self.context.wrap_socket(plain, server_side=True) as client, \
                    socket.create_connection(self._to) as server:
                self._pump(client, server)
                if self._announces_end:
                    client.unwrap()

    @staticmethod
    def _pump(client, server):
        """On one thread, as a TLS connection can't be used by two."""
        while True:
            ready = [client] if client.pending() else \
                select.select([client, server], [], [], 60)[0]
            for source in ready:
                piece = source.recv(65536)
                if not piece:
                    return
                (server if source is client else client).sendall(piece)
