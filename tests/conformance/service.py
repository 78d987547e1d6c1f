"""The test service of the conformance kit, in Python: docs/conformance.md has its protocol."""

import collections
import http.server
import json
import sys
import threading

RUNS = collections.Counter()
LOCK = threading.Lock()
NEVER = threading.Event()  # is never set: waiting for it takes the time that is asked for


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def run(self):
        counter = self.headers["Conformance-Counter"]
        work = json.loads(self.headers.get("Conformance-Work", "{}"))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            RUNS[counter] += 1
            runs = RUNS[counter]
        NEVER.wait(work.get("delay", 0) / 1000)
        if work.get("break"):
            self.close_connection = True
            return
        body = b"x" * work["size"] if "size" in work else json.dumps({"run": runs}).encode()
        self.answer(work.get("status", 201), work.get("fields", []), body)

    def do_GET(self):
        if not self.path.startswith("/conformance/runs/"):
            return self.run()
        runs = RUNS[self.path.rsplit("/", 1)[-1]]
        return self.answer(200, [], json.dumps({"runs": runs}).encode())

    do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = run

    def answer(self, status, fields, body):
        self.send_response(status)
        for name, value in [*fields, ("Content-Type", "application/json")]:
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


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Service)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()
