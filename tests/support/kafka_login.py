"""A server by TLS that speaks as much of Kafka's protocol as a login takes, and refuses it."""

import contextlib
import socket
import ssl
import struct
import threading

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
REFUSED = 58
KNOWN = ((0, 0, 7), (1, 0, 11), (3, 0, 8), (SASL_HANDSHAKE, 0, 1), (API_VERSIONS, 0, 3),
         (SASL_AUTHENTICATE, 0, 1))


class KafkaLogin:
    """`mechanisms` and `answers`: what clients asked for, and what they sent to log in."""

    def __init__(self, certificate, client_ca=None):
        self.mechanisms, self.answers, self.peers = [], [], []
        self.settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.settings.load_cert_chain(*certificate)
        if client_ca:
            self.settings.verify_mode = ssl.CERT_REQUIRED
            self.settings.load_verify_locations(client_ca)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line):
        with contextlib.suppress(OSError), line:
            line.settimeout(30)
            with self.settings.wrap_socket(line, server_side=True) as secure:
                self.peers.append(secure.getpeercert())
                while request := self._request(secure):
                    reply = self._reply(*request)
                    secure.sendall(struct.pack(">i", len(reply) + 4)
                                   + struct.pack(">i", request[2]) + reply)

    @staticmethod
    def _take(line, size):
        out = b""
        while len(out) < size:
            part = line.recv(size - len(out))
            if not part:
                return None
            out += part
        return out

    def _request(self, line):
        """Its kind, version and number, and what stands behind its head."""
        head = self._take(line, 4)
        if head is None:
            return None
        bytes_ = self._take(line, struct.unpack(">i", head)[0])
        kind, version, number, name = struct.unpack(">hhih", bytes_[:10])
        return kind, version, number, bytes_[10 + max(name, 0):]

    def _reply(self, kind, version, _number, body):
        if kind == API_VERSIONS:
            rows = [struct.pack(">hhh", *one) for one in KNOWN]
            if version < 3:
                return struct.pack(">hi", 0, len(rows)) + b"".join(rows) + (
                    struct.pack(">i", 0) if version else b"")
            return (struct.pack(">hB", 0, len(rows) + 1)
                    + b"".join(row + b"\0" for row in rows) + struct.pack(">iB", 0, 0))
        if kind == SASL_HANDSHAKE:
            self.mechanisms.append(body[2:].decode())
            names = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
            return struct.pack(">hi", 0, len(names)) + b"".join(
                struct.pack(">h", len(name)) + name.encode() for name in names)
        assert kind == SASL_AUTHENTICATE, kind
        self.answers.append(body[4:])
        why = b"nobody is known here"
        return struct.pack(">hh", REFUSED, len(why)) + why + struct.pack(">i", 0) + (
            struct.pack(">q", 0) if version else b"")
