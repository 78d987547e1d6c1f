"""A server that answers without a length: the newcomer gets a 409 for the repeat, and the log says
once why, and what mends it. The real `php -S` and wsgiref of Python."""

import contextlib
import socket
import subprocess
import sys
import types

import pytest

from support.expecting import assert_problem, assert_replay_of
from support.gateway import clean_environment
from support.ports import Port
from support.waiting import wait_until

# Effects are counted in a file: one byte for each request with this key.
PHP = """<?php
if ($_SERVER['REQUEST_METHOD'] === 'POST')
  file_put_contents(__DIR__ . '/runs-' . basename($_SERVER['HTTP_IDEMPOTENCY_KEY']), 'x',
                    FILE_APPEND);
$body = json_encode(['paid' => true]);
if (strpos($_SERVER['REQUEST_URI'], '/sized') === 0)
  header('Content-Length: ' . strlen($body));
echo $body;
"""
WSGI = """
import pathlib
from wsgiref.simple_server import make_server

def application(environ, start):
    if environ["REQUEST_METHOD"] == "POST":
        with open("runs-" + environ["HTTP_IDEMPOTENCY_KEY"], "a") as file:
            file.write("x")
    body = b'{"paid": true}'
    sized = environ["PATH_INFO"].startswith("/sized")
    start("200 OK", [("Content-Length", str(len(body)))] if sized else [])
    return iter([body[:5], body[5:]])

make_server("127.0.0.1", PORT, application).serve_forever()
"""


@pytest.fixture(params=["php -S", "wsgiref"])
def service(request, tmp_path):
    """Its port, and how often it ran with a key."""
    port = Port()
    folder = tmp_path / "service"
    folder.mkdir()
    if request.param == "wsgiref":
        (folder / "main.py").write_text(WSGI.replace("PORT", str(port.number)))
        command = [sys.executable, "main.py"]
    else:
        (folder / "main.php").write_text(PHP)
        command = ["php", "-S", f"127.0.0.1:{port.number}", "main.php"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command], cwd=folder, env=clean_environment(),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port.number), timeout=1).close()
            return True
    wait_until(answers, 20, "the service listening")

    def runs(key):
        file = folder / f"runs-{key}"
        return len(file.read_text()) if file.exists() else 0
    try:
        yield f"http://127.0.0.1:{port.number}", runs
    finally:
        process.kill()
        process.wait()
        port.close()


def test_the_log_says_once_why_the_answer_was_not_kept_and_what_mends_it(
        start_gateway, service, fresh_key):
    url, runs = service
    gateway = start_gateway(types.SimpleNamespace(url=url))
    for key in (fresh_key(), fresh_key()):
        first = gateway.post("/pay", key=key)
        assert (first.status, first.json()) == (200, {"paid": True})
        assert_problem(gateway.post("/pay", key=key), 409, "answer-not-kept", False)
        assert runs(key) == 1
    said, = gateway.logged("answer-not-kept")
    assert said["route"] == "/" and "no length" in said["why"], said
    assert "Content-Length" in said["hint"] and "php -S" in said["hint"], said
    # Which is right:
    key = fresh_key()
    first = gateway.post("/sized", key=key)
    assert_replay_of(gateway.post("/sized", key=key), first)
    assert runs(key) == 1
    assert len(gateway.logged("answer-not-kept")) == 1


def test_each_reason_is_logged_once_for_each_route(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream, {"route": [
        {"path": "/a", "max_answer_body": "1KiB"}, {"path": "/b", "max_answer_body": "1KiB"}]})
    for path in ("/a", "/b", "/a", "/b"):
        assert gateway.post(path, key=fresh_key(), plan={"status": 201, "size": 2000}).status == 201
    said = gateway.logged("answer-not-kept", 2)
    assert [one["route"] for one in said] == ["/a", "/b"]
    assert {one["why"] for one in said} == {"it is longer than max_answer_body"}
    # What failed is not "done", and nothing was to be kept of it.
    gateway.post("/", key=fresh_key(), plan={"status": 404, "size": 2 << 20})
    assert len(gateway.logged("answer-not-kept")) == 2
