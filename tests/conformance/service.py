"""The test service of the conformance kit, in Python: docs/conformance.md has its protocol."""

import collections
import http.server
import json
import sys
import threading

RUNS = collections.Counter()
LOCK = threading.Lock()
NEVER = threading.Event()  # is never set: waiting for it takes the time that is asked for


def read_chunks(stream):
    """A chunked body."""
    body = b""
    while size := int(stream.readline().split(b";")[0], 16):
        body += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass  # trailer fields
    return body


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return read_chunks(self.rfile)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def run(self):
        self.read_body()
        if done := self.work():
            self.answer(*done)

    def work(self):
        """Status, fields and body of the answer. None: there is none, the connection ends."""
        counter = self.headers["Conformance-Counter"]
        work = json.loads(self.headers.get("Conformance-Work", "{}"))
        with LOCK:
            RUNS[counter] += 1
            runs = RUNS[counter]
        NEVER.wait(work.get("delay", 0) / 1000)
        if work.get("break"):
            self.close_connection = True
            return None
        kind, body = "application/json", json.dumps({"run": runs}).encode()
        if work.get("bytes"):
            kind, body = "application/octet-stream", bytes(range(256))
        if "size" in work:
            body = b"x" * work["size"]
        return work.get("status", 201), [*work.get("fields", []), ("Content-Type", kind)], body

    def do_GET(self):
        if not self.path.startswith("/conformance/runs/"):
            return self.run()
        runs = RUNS[self.path.rsplit("/", 1)[-1]]
        fields = [("Content-Type", "application/json")]
        return self.answer(200, fields, json.dumps({"runs": runs}).encode())

    do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = run

    def answer(self, status, fields, body):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # clients go away
            super().handle_error(request, client_address)


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Service)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()
