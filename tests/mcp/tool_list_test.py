"""A server that never says what its tools are holds up a call for some seconds, and no session."""

import json
import subprocess
import sys
import threading

import pytest

from support.tool_server import ToolProxy, ToolServer, call_of
from support.waiting import Stopwatch

# The proxy waits 5 s for the list; the rest is for a busy machine.
LONGEST = 12

RESULT = {"content": [{"type": "text", "text": "paid"}]}


def paid(_, sent):
    return 200, "application/json", json.dumps(
        {"jsonrpc": "2.0", "id": sent["id"], "result": RESULT}).encode()


class Lists:
    """What a server does in place of telling its list."""

    def __init__(self):
        self.over = threading.Event()
        self.pages = 0

    def silence(self, handler, sent):
        self.over.wait(60)

    def comments(self, handler, sent):
        """Something comes all the time, so that no pause is long."""
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        try:
            while not self.over.wait(0.1):
                handler.wfile.write(b": wait\n\n")
        except OSError:
            pass
        handler.close_connection = True

    def endless(self, handler, sent):
        self.pages += 1
        listed = {"tools": [{"name": f"other-{self.pages}", "inputSchema": {"type": "object"}}],
                  "nextCursor": str(self.pages)}
        handler.reply(200, "application/json", json.dumps(
            {"jsonrpc": "2.0", "id": sent["id"], "result": listed}).encode())


@pytest.mark.parametrize("way", ["silence", "comments", "endless"])
def test_a_call_goes_on_without_a_list_over_http(tools, key, capfd, way):
    lists, server = Lists(), ToolServer(paid)
    server.list_tools = getattr(lists, way)
    proxy = ToolProxy(tools, server.url)
    try:
        clock = Stopwatch()
        assert b"paid" in proxy.post(call_of(key)).body
        assert clock.seconds < LONGEST
        assert tools.state(key) == "completed"
        if way == "silence":
            assert b"onceguard/replayed" in proxy.post(call_of(key, 2)).body
        assert len(server.calls) == 1
    finally:
        lists.over.set()
        proxy.close()
        server.close()
    said = capfd.readouterr().err
    assert "list" in said and "hints don't count" in said


MUTE = r"""import json, sys
for line in sys.stdin:
    sent = json.loads(line)
    if sent.get("method") == "tools/call":
        result = {"content": [{"type": "text", "text": "paid"}]}
        print(json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": result}), flush=True)
        with open("calls", "a") as file: file.write("x\n")
"""


def test_a_call_goes_on_without_a_list_on_standard_streams(tools, key):
    proxy = subprocess.Popen(
        [str(tools.onceguard), "mcp", "--store", tools.executing.store, "--", sys.executable, "-c",
         MUTE], cwd=tools.folder, env=tools.environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        clock = Stopwatch()
        for number in (1, 2):
            proxy.stdin.write(json.dumps(call_of(key, number)) + "\n")
            proxy.stdin.flush()
            assert json.loads(proxy.stdout.readline())["result"]["content"] == RESULT["content"]
        assert clock.seconds < 2 * LONGEST
        _, said = proxy.communicate(timeout=60)
    finally:
        proxy.kill()
    assert (tools.folder / "calls").read_text() == "x\n"
    assert "did not list its tools" in said
