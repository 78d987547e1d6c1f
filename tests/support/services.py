"""Services in the frameworks that others wrote, each of which says how much of a body it got."""

import os
import pathlib
import socket
import subprocess
import sys

from support.ports import Port
from support.waiting import wait_until

TESTS = pathlib.Path(__file__).resolve().parent.parent

PHP = """<?php
$text = strlen(file_get_contents('php://input')) . ' bytes';
http_response_code(201);
header('Content-Length: ' . strlen($text));
echo $text;
"""
FASTAPI = """
import fastapi
app = fastapi.FastAPI()
@app.post("/pay")
async def pay(request: fastapi.Request):
    body = await request.body()
    return fastapi.Response(f"{len(body)} bytes", 201)
"""
FLASK = """
import flask
app = flask.Flask(__name__)
@app.post("/pay")
def pay():
    return f"{len(flask.request.get_data())} bytes", 201
"""
NODE = """
require('http').createServer((request, response) => {
  let size = 0;
  request.on('data', (piece) => { size += piece.length; });
  request.on('end', () => response.writeHead(201).end(`${size} bytes`));
}).listen(Number(process.argv[2]), '127.0.0.1');
"""
FASTIFY = """
const app = require('fastify')();
app.post('/pay', async (request, reply) =>
  reply.code(201).send(`${(request.body ?? '').length} bytes`));
app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
"""
# Reads a body by its length only, and takes what is left for the next request.
CHUNKLESS = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        text = b"%d bytes" % len(self.rfile.read(size))
        self.send_response(201)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
PYTHON = "/usr/bin/python3"
SERVICES = {
    "php": ("pay.php", PHP, lambda file, port: ["php", "-S", f"127.0.0.1:{port}", file]),
    "fastapi": ("pay.py", FASTAPI, lambda file, port: [
        PYTHON, "-m", "uvicorn", "pay:app", "--port", str(port)]),
    "flask": ("pay.py", FLASK, lambda file, port: [
        PYTHON, "-m", "flask", "--app", file, "run", "--port", str(port)]),
    "node": ("pay.cjs", NODE, lambda file, port: ["node", file, str(port)]),
    "fastify": ("pay.cjs", FASTIFY, lambda file, port: ["node", file, str(port)]),
    "chunkless": ("pay.py", CHUNKLESS, lambda file, port: [sys.executable, file, str(port)]),
}


class Service:
    def __init__(self, name, folder):
        file, text, command = SERVICES[name]
        (folder / file).write_text(text, encoding="utf-8")
        self.port = Port()
        self.url = f"http://127.0.0.1:{self.port.number}"
        modules = {"NODE_PATH": str(TESTS / "node_modules")}
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command(str(folder / file), self.port.number), cwd=folder, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env={**os.environ, **modules})
        wait_until(self._listens, what=f"{name}: {(folder / 'log').read_text()}", timeout=30)

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port.number)) == 0

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.port.close()
