"""An endpoint over HTTPS that keeps connections, counts them, and says who its clients are."""

import http.server
import ssl
import threading
import time


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        at = self.server.at
        body = self.rfile.read(int(self.headers["Content-Length"]))
        peer = self.connection.getpeercert() if at.settings else None
        with at.lock:
            at.requests.append({
                "key": self.headers["Idempotency-Key"], "target": self.path, "body": body,
                "fields": {name.lower(): value for name, value in self.headers.items()},
                "connection": self.client_address, "peer": peer, "at": time.monotonic()})
        if at.cut == self.headers["Idempotency-Key"]:
            self.close_connection = True
            return
        self.send_response(at.status)
        self.send_header("Content-Length", "2")
        if at.closing in ("announced", "promised"):
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"ok")
        self.close_connection = at.closing in ("announced", "silent")

    def log_message(self, *_):
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def get_request(self):
        line, address = super().get_request()
        if self.at.settings:
            # The handshake is made by the first read, on the connection's own thread.
            line = self.at.settings.wrap_socket(line, server_side=True,
                                                do_handshake_on_connect=False)
        return line, address

    def shutdown_request(self, request):
        super().shutdown_request(request)
        with self.at.lock:
            self.at.ended += 1

    def handle_error(self, _request, _address):
        with self.at.lock:
            self.at.errors += 1


def kept_between(earlier, later):
    """One connection for both requests, or so long between them that its client gave it up."""
    return earlier["connection"] == later["connection"] or later["at"] - earlier["at"] > 0.9


class HttpsEndpoint:
    """`authority`: signs its certificate; None: plain HTTP. `client_ca`: asks for certificates."""

    def __init__(self, authority=None, client_ca=None, hosts=("127.0.0.1", "localhost"),
                 expired=False):
        self.requests, self.errors, self.status = [], 0, 200
        self.ended = 0  # connections, by whichever side
        self.closing = None  # or "announced", "silent", "promised" (and not done): at each answer
        self.cut = None  # the key of a request that is read, and has no answer
        self.lock = threading.Lock()
        self.settings = None
        if authority:
            self.settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.settings.load_cert_chain(*authority.issue("endpoint", hosts, expired))
            if client_ca:
                self.settings.verify_mode = ssl.CERT_REQUIRED
                self.settings.load_verify_locations(client_ca.file)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.at = self
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self):
        return f"http{'s' if self.settings else ''}://127.0.0.1:{self.port}"

    def keys(self):
        with self.lock:
            return [request["key"] for request in self.requests]

    def connections(self):
        with self.lock:
            return {request["connection"] for request in self.requests}

    def keeps_connections(self):
        """Of a client that sends one request after the other: did two come on one connection?

        No: each was so late that the client had given up the one before, which says nothing.
        """
        with self.lock:
            pairs = list(zip(self.requests, self.requests[1:]))
        assert all(kept_between(*pair) for pair in pairs)
        return any(earlier["connection"] == later["connection"] for earlier, later in pairs)

    def close(self):
        self._server.shutdown()
        self._server.server_close()
