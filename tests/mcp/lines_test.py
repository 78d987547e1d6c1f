"""`onceguard mcp` line by line: what no client or server of an SDK does, or does at that moment."""

import itertools
import json
import os
import queue
import subprocess
import sys
import threading

import pytest

from support.waiting import wait_until

SERVER = r'''
import json, os, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

read_only = True
for line in sys.stdin:
    sent = json.loads(line)
    if sent.get("method") == "tools/list":
        say(id=sent["id"], result={"tools": [{"name": "charge", "inputSchema": {"type": "object"},
                                              "annotations": {"readOnlyHint": read_only}}]})
    elif sent.get("method") == "tools/call":
        name = sent["params"]["name"]
        with open(os.environ["EFFECTS"], "a") as effects:
            effects.write(name + "\n")
        if name == "slow":
            open(os.environ["GATE"]).read()
        if name == "change":
            read_only = False
            say(method="notifications/tools/list_changed")
        say(id=sent["id"], result={"content": [{"type": "text", "text": name}]})
'''


class Lines:
    """A proxy in front of a server in a few lines; what it says, as it comes."""

    def __init__(self, tools):
        self.numbers = itertools.count(1)
        self.said = queue.Queue()
        self.gate = tools.gate
        os.mkfifo(self.gate)
        (tools.folder / "server.py").write_text(SERVER)
        self.process = subprocess.Popen(
            [str(tools.onceguard), "mcp", "--store", tools.executing.store, "--",
             sys.executable, str(tools.folder / "server.py")], cwd=tools.folder,
            env=tools.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.said.put(json.loads(line))

    def begin(self, name, key, number=None):
        number = number or next(self.numbers)
        self.process.stdin.write(json.dumps({
            "jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": name, "_meta": {"onceguard/idempotency-key": key}}}) + "\n")
        self.process.stdin.flush()
        return number

    def open_gate(self):
        with open(self.gate, "w", encoding="ascii"):
            pass

    def next(self):
        """The next response."""
        while "method" in (message := self.said.get(timeout=30)):
            pass
        return message

    def call(self, name, key):
        number = self.begin(name, key)
        answer = self.next()
        assert answer["id"] == number, answer
        return answer


@pytest.fixture
def lines(tools):
    made = Lines(tools)
    yield made
    made.process.kill()
    made.process.wait()


def test_a_second_call_with_the_id_of_a_running_one_is_refused(lines, tools, key):
    """Nobody could tell the answers apart."""
    number = lines.begin("slow", key)
    wait_until(lambda: tools.runs("slow") == 1, what="the first call")
    lines.begin("slow", f"{key}-2", number)
    refused = lines.next()
    assert "the id is that of a running call" in refused["error"]["message"], refused
    lines.open_gate()
    assert lines.next()["result"]["content"][0]["text"] == "slow"
    assert tools.runs("slow") == 1


def test_hints_end_with_the_list_that_gave_them(lines, tools, key):
    for _ in range(2):
        lines.call("charge", key)
    assert tools.runs("charge") == 2, "it only reads"
    lines.call("change", f"{key}-2")
    for _ in range(3):
        lines.call("charge", key)
    assert tools.runs("charge") == 3, "it does more now"


def test_an_answer_that_could_not_be_recorded_does_not_reach_the_client(lines, tools, key):
    """An operator has freed the key amid the call, and the next one has it now."""
    lines.begin("slow", key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    assert tools.executing.ask("keys", "release", key, "--force").returncode == 0
    second = lines.begin("slow", key)
    wait_until(lambda: tools.state(key) == "in_progress", what="the second call")
    lines.open_gate()
    result = lines.next()["result"]
    assert result["isError"] and result["_meta"]["onceguard/outcome"] == "superseded", result
    lines.open_gate()
    answer = lines.next()
    assert answer["id"] == second and "isError" not in answer["result"], answer
