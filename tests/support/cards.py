"""The provider of card payments in examples/order: charges and refunds once for each key."""

import collections
import http.server
import threading

LIMIT = 10_000  # cents: above it a card is declined


class Cards:
    """Runs in this process, on a port of its own."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = {}                     # by path and key
        self.charges = collections.Counter()  # by charge: how often it took effect
        self.refunds = collections.Counter()
        self.requests = 0
        self.drop_each = 0                    # each so many-th answer is lost on its way
        cards = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                key = self.headers["Idempotency-Key"].strip('"')
                status, text, lost = cards.answer(self.path, key, body)
                if lost:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path, key, body):
        with self.lock:
            self.requests += 1
            lost = self.drop_each and self.requests % self.drop_each == 0
            if (path, key) not in self.answers:
                self.answers[path, key] = self.take_effect(path, key, body)
            return *self.answers[path, key], lost

    def take_effect(self, path, key, body):
        if path == "/refunds":
            self.refunds[body] += 1
            return 200, body
        if int(body) > LIMIT:
            return 402, "declined"
        charge = f"charge-{key}"
        self.charges[charge] += 1
        return 201, charge

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
