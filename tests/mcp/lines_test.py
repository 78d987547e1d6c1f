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

read_only, hidden = True, []
for line in sys.stdin:
    sent = json.loads(line)
    if sent.get("method") == "tools/list":
        say(id=sent["id"], result={"tools": [
            {"name": name, "inputSchema": {"type": "object"},
             "annotations": {"readOnlyHint": read_only and name == "charge"}}
            for name in ("charge", "leave") if name not in hidden]})
    elif sent.get("method") == "tools/call":
        name = sent["params"]["name"]
        with open(os.environ["EFFECTS"], "a") as effects:
            effects.write(name + "\n")
        if name == "slow":
            open(os.environ["GATE"]).read()
        if name == "change":
            read_only = False
            say(method="notifications/tools/list_changed")
        if name == "flood":
            for _ in range(150):
                say(method="notifications/message", params={"data": "x" * 100_000})
        if name == "leave":
            hidden.append(name)
            say(method="notifications/tools/list_changed")
            say(id=sent["id"], error={"code": -32602, "message": "no"})
        elif name == "respell":
            print(sent["params"]["arguments"]["answer"], flush=True)
        else:
            say(id=sent["id"], result={"content": [{"type": "text", "text": name}]})
    elif sent.get("method") == "later":
        open(os.environ["GATE"]).read()
        say(id=sent["id"], result={})
'''


class Lines:
    """A proxy in front of a server in a few lines; what it says, as it comes."""

    def __init__(self, tools, options=(), script="server.py", reads=True):
        self.numbers = itertools.count(1)
        self.said = queue.Queue()
        self.gate = tools.gate
        if not self.gate.exists():
            os.mkfifo(self.gate)
        (tools.folder / "server.py").write_text(SERVER)
        self.process = subprocess.Popen(
            [str(tools.onceguard), "mcp", "--store", tools.executing.store, *options,
             "--", sys.executable, script], cwd=tools.folder,
            env=tools.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if reads:
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

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def open_gate(self):
        with open(self.gate, "w", encoding="ascii"):
            pass

    def close(self):
        self.process.kill()
        self.process.wait()

    def next(self):
        """The next response."""
        while "method" in (message := self.said.get(timeout=120)):
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
    made.close()


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


@pytest.mark.parametrize("number, spelt, result", [
    ("1.0", "1", '{"content":[]}'), ("1", "1.0", '{"content":[]}'),
    ("12345678901234567890", "12345678901234567000", '{"content":[]}'),
    (r'"a\/b"', '"a/b"', '{"content":[]}'), ('"\u00e9"', r'"\u00e9"', '{"content":[]}'),
    ("7", "7", r'{"content":[],"text":"cut \ud83d"}'), ("7", "7", '{"content":[],"n":NaN}')])
def test_an_answer_that_some_client_understands_is_kept(lines, tools, key, number, spelt, result):
    """However the server writes it: what is delivered is recorded."""
    answer = f'{{"jsonrpc":"2.0","id":{spelt},"result":{result}}}'
    call = ('{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"respell",'
            '"arguments":{"idempotency_key":"%s","answer":%s}}}')
    lines.send(call % (number, key, json.dumps(answer)))
    first = lines.next()
    assert tools.state(key) == "completed"
    lines.send(call % ("99", key, json.dumps(answer)))
    again = lines.next()
    assert again["id"] == 99 and again["result"].pop("_meta") == {"onceguard/replayed": True}
    assert str(again["result"]) == str(first["result"])
    assert tools.runs("respell") == 1


def test_the_id_of_another_open_request_is_none_for_a_call(lines, tools, key):
    """Its answer would be taken for the call's."""
    lines.send('{"jsonrpc":"2.0","id":5,"method":"later"}')
    lines.begin("charge", key, 5)
    assert "the id is that of a running call" in lines.next()["error"]["message"]
    lines.open_gate()
    assert lines.next() == {"jsonrpc": "2.0", "id": 5, "result": {}}
    assert tools.runs("charge") == 0


def test_the_scope_is_a_name_and_not_the_words_that_start_the_server(tools, key):
    """`./server.py` is the same server; another name is another one."""
    for script, options, runs in (("server.py", (), 1), ("./server.py", (), 1),
                                  ("server.py", ("--scope", "other"), 2)):
        each = Lines(tools, options, script)
        each.call("pay", key)
        each.close()
        assert tools.runs("pay") == runs


@pytest.mark.parametrize("options, said", [
    (("--scope", "jwt:sub"), "one caller"), (("--scope", "a", "--scope", "b"), "two names"),
    (("--key-from", "a"), "JSON Pointer"), (("--window", "t="), "--window"),
    (("--preset", "none"), "--preset")])
def test_wrong_options_are_named(tools, options, said):
    ended = subprocess.run([str(tools.onceguard), "mcp", "--store", tools.executing.store, *options,
                            "--", "true"], capture_output=True, text=True, timeout=60, check=False,
                           cwd=tools.folder, env=tools.environment(), stdin=subprocess.DEVNULL)
    assert ended.returncode in (2, 3) and said in ended.stderr, ended


def test_a_key_may_be_where_the_operator_says(tools, key):
    """And what differs between two tries may be left out."""
    each = Lines(tools, ("--key-from", "/arguments/order/id", "--omit", "/trace", "--window",
                         "note=1h"))
    asked = [{"name": "pay", "arguments": {"order": {"id": key}, "trace": 1}},
             {"name": "pay", "arguments": {"order": {"id": key}, "trace": 2}},
             {"name": "note", "arguments": {}}, {"name": "note", "arguments": {}},
             {"name": "ring", "arguments": {}}, {"name": "ring", "arguments": {}}]
    for number, params in enumerate(asked):
        each.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                              "params": params}))
        assert each.next()["id"] == number
    each.close()
    assert [tools.runs(tool) for tool in ("pay", "note", "ring")] == [1, 1, 2]


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
    tools.executing.release_running(key)
    second = lines.begin("slow", key)
    wait_until(lambda: tools.state(key) == "in_progress", what="the second call")
    lines.open_gate()
    result = lines.next()["result"]
    assert result["isError"] and result["_meta"]["onceguard/outcome"] == "superseded", result
    lines.open_gate()
    answer = lines.next()
    assert answer["id"] == second and "isError" not in answer["result"], answer


def test_a_tool_that_withdraws_itself_after_its_effect_has_run(lines, tools, key):
    """Its error reads as if there were no such tool, and so does the list that follows."""
    lines.send('{"jsonrpc":"2.0","id":"l","method":"tools/list"}')
    assert lines.next()["id"] == "l"
    lines.call("leave", key)
    assert tools.state(key) == "unknown"
    assert lines.call("leave", key)["result"]["_meta"]["onceguard/outcome"] == "unknown"
    assert tools.runs("leave") == 1


def test_a_client_that_reads_nothing_holds_no_key_and_no_proxy(tools, key):
    each = Lines(tools, reads=False)
    each.begin("flood", key)
    wait_until(lambda: tools.state(key) == "completed", timeout=60, what="the recorded answer")
    each.process.terminate()
    each.process.wait(60)


def test_sigterm_ends_the_proxy_of_a_client_that_reads_nothing(tools, key):
    each = Lines(tools, reads=False)
    each.begin("flood", key)
    wait_until(lambda: tools.runs("flood") == 1, what="the call")
    each.process.terminate()
    each.process.wait(60)
