"""A server of tools on streamable HTTP that answers calls as it is told, and a proxy before it."""

import http.server
import json
import socket
import ssl
import subprocess
import threading

from support.client import Connection
from support.ports import Port
from support.waiting import wait_until


class ToolServer:
    """`answer(request, sent)` answers a call: it writes with the handler, or returns status,
    content type, body and more fields. The list of tools has one. `authority`: signs its
    certificate; None: plain HTTP."""

    def __init__(self, answer, authority=None):
        self.calls, self.answer = [], answer
        self.hints = lambda request: {}  # of the tool in the list for this request
        self.lists_in_events = False  # with a length, as frameworks write short answers
        self.list_tools = None  # answers in place of the list
        self.before_body = None  # answers before the message is read, if it returns True
        handler = type("Handler", (_Handler,), {"tools": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.scheme = "https" if authority else "http"
        if authority:
            settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            settings.load_cert_chain(*authority.issue("tools"))
            # The handshake is made by the first read, on the connection's own thread.
            self.server.socket = settings.wrap_socket(self.server.socket, server_side=True,
                                                      do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_port}/mcp"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    tools = None

    def do_POST(self):
        if self.tools.before_body and self.tools.before_body(self):
            return None
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if sent.get("method") == "tools/list" and self.tools.list_tools:
            return self.tools.list_tools(self, sent)
        if sent.get("method") == "tools/list":
            listed = json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": {"tools": [
                {"name": "charge", "inputSchema": {"type": "object"},
                 "annotations": self.tools.hints(self)}]}}).encode()
            if self.tools.lists_in_events:
                return self.reply(200, "text/event-stream", b"data: " + listed + b"\n\n")
            return self.reply(200, "application/json", listed)
        self.tools.calls.append(sent)
        got = self.tools.answer(self, sent)
        if got is not None:
            self.reply(*got)

    def do_GET(self):
        self.reply(*self.tools.answer(self, None))

    do_HEAD = do_GET

    def reply(self, status, kind, body, fields=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class ToolProxy:
    """`onceguard mcp` before a server on streamable HTTP."""

    def __init__(self, tools, upstream, *options, **environment):
        self.port = Port()
        self.process = subprocess.Popen(
            [str(tools.onceguard), "mcp", "--store", tools.executing.store, "--listen",
             f"127.0.0.1:{self.port.number}", "--upstream", upstream, *map(str, options)],
            env={**tools.environment(), **environment}, cwd=tools.folder)
        wait_until(lambda: is_open(self.port.number), timeout=20, what="the proxy")

    def answers(self):
        return is_open(self.port.number)

    def post(self, message, *fields):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        with Connection(("127.0.0.1", self.port.number)) as connection:
            connection.send_request("POST", "/mcp", [
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"), *fields], body, host="localhost")
            return connection.read()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.port.close()


def call_of(key=None, number=1, tool="charge", **arguments):
    if key is not None:
        arguments["idempotency_key"] = key
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}}
