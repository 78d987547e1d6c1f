"""Services and proxies that people really have, each counting the orders that it took."""

import os
import pathlib
import re
import subprocess

from support.client import ask
from support.ports import Port
from support.proxies import Caddy, Varnish
from support.waiting import wait_until

TESTS = pathlib.Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"

EXPRESS = """
const express = require("express");
const app = express();
const orders = [];
app.use(express.json());
app.post("/orders", (request, response) => {
  orders.push(request.body);
  response.status(201).json({ order: orders.length });
});
app.get("/count", (request, response) => { response.json(orders.length); });
app.listen(Number(process.argv[2]), "127.0.0.1");
"""

FLASK = """
import sys
from flask import Flask, jsonify, request
app = Flask(__name__)
orders = []
@app.post("/orders")
def order():
    orders.append(request.get_data())
    return jsonify(order=len(orders)), 201
@app.get("/count")
def count():
    return jsonify(len(orders))
app.run(port=int(sys.argv[1]), threaded=False)
"""

PHP = """<?php
$file = __DIR__ . '/orders';
header('Content-Type: application/json');
$count = is_file($file) ? strlen(file_get_contents($file)) : 0;
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
  file_put_contents($file, 'x', FILE_APPEND);
  http_response_code(201);
  echo json_encode(['order' => $count + 1]);
} else {
  echo $count;
}
"""

FASTAPI = """
import sys
import uvicorn
from fastapi import FastAPI
app = FastAPI()
orders = []
@app.post("/orders/", status_code=201)
async def order(order: dict):
    orders.append(order)
    return {"order": len(orders)}
@app.get("/count")
async def count():
    return len(orders)
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
"""

# Digest by RFC 7616 (MD5, qop=auth), each challenge and count once, so that no request can be sent
# twice as it is.
DIGEST = """
import hashlib, re, secrets, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

orders, used, nonces = [], set(), set()

def md5(text):
    return hashlib.md5(text.encode()).hexdigest()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def known(self, method, target):
        given = dict((name, quoted or bare) for name, quoted, bare in re.findall(
            r'(\\w+)=(?:"([^"]*)"|([^\\s,]+))', self.headers.get("Authorization", "")))
        once = (given.get("nonce"), given.get("nc"))
        if given.get("nonce") not in nonces or once in used or given.get("uri") != target:
            return False
        secret = md5(f"ann:shop:secret"), md5(f"{method}:{target}")
        right = md5(":".join((secret[0], given["nonce"], given["nc"], given["cnonce"],
                              given["qop"], secret[1])))
        if given.get("username") != "ann" or given.get("response") != right:
            return False
        used.add(once)
        return True

    def answer(self, status, text=b"", fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def challenge(self):
        nonce = secrets.token_hex(8)
        nonces.add(nonce)
        self.answer(401, b"", [("WWW-Authenticate",
                                f'Digest realm="shop", qop="auth", nonce="{nonce}"')])

    def do_GET(self):
        if self.path == "/count":
            return self.answer(200, str(len(orders)).encode())
        if self.path == "/auth" and self.known(self.headers.get("Onceguard-Method"),
                                               self.headers.get("Onceguard-Target")):
            return self.answer(204)
        self.challenge()

    do_HEAD = do_OPTIONS = do_GET

    def do_POST(self):
        if self.headers.get("Transfer-Encoding"):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.known("POST", self.path):
            return self.challenge()
        orders.append(body)
        self.answer(201, b'{"order":%d}' % len(orders))

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

PROGRAMS = {
    "express": ("shop.cjs", EXPRESS, lambda file, port: ["node", file, port]),
    "flask": ("shop.py", FLASK, lambda file, port: [PYTHON, file, port]),
    "php": ("index.php", PHP, lambda file, port: ["php", "-S", f"127.0.0.1:{port}", file]),
    "fastapi": ("shop.py", FASTAPI, lambda file, port: [PYTHON, file, port]),
    "digest": ("shop.py", DIGEST, lambda file, port: [PYTHON, file, port]),
}


class Neighbour:
    """One of PROGRAMS, reached at `url`; behind `proxy` that is the proxy's."""

    def __init__(self, name, folder, proxy=None):
        file, text, command = PROGRAMS[name]
        (folder / file).write_text(text, encoding="utf-8")
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.url = f"http://127.0.0.1:{self.port.number}"
        self.proxy = None
        self._log = open(folder / "service.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command(file, str(self.port.number))],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            env={**os.environ, "NODE_PATH": str(TESTS / "node_modules")})
        try:
            wait_until(self._is_up, 60, f"{name} listening")
            if proxy:
                self.proxy = proxy(folder, self.port.number)
                self.url = self.proxy.url
        except BaseException:
            self.close()
            raise

    def _is_up(self):
        assert self.process.poll() is None, pathlib.Path(self._log.name).read_text()
        try:
            return self.count() == 0
        except OSError:
            return False

    def count(self):
        """How many orders it took."""
        answer = ask(self.address, "GET", "/count")
        return int(re.search(rb"\d+", answer.body)[0])

    def close(self):
        if self.proxy:
            self.proxy.close()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
        self.port.close()


NEIGHBOURS = {
    "express": ("express", None),
    "flask": ("flask", None),
    "php": ("php", None),
    "fastapi": ("fastapi", None),
    "varnish": ("express", Varnish),
    "caddy": ("express", Caddy),
    "digest": ("digest", None),
}


def start_neighbour(name, folder):
    program, proxy = NEIGHBOURS[name]
    return Neighbour(program, folder, proxy)
