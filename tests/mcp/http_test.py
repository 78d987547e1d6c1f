"""`onceguard mcp --upstream`: the same over streamable HTTP, the official SDK on both sides."""

import json
import os
import signal
import socket
import subprocess

import pytest

from support.client import Connection
from support.ports import Port
from support.tool_client import REVISIONS, ToolClient
from support.waiting import wait_until

both = pytest.mark.parametrize("revision", REVISIONS)


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port.number)) == 0


class Endpoint:
    """A server on a port, and a proxy in front of it."""

    def __init__(self, tools, revision, *options, json_response=False):
        self.tools, self.revision, self.options = tools, revision, options
        self.server_port, self.port = Port(), Port()
        self.environment = {**tools.environment(), "JSON_RESPONSE": "1" if json_response else "0"}
        self.start_server()
        self.start_proxy()

    def start_server(self):
        self.server = subprocess.Popen(ToolClient.server(self.revision, self.server_port.number),
                                       cwd=self.tools.folder, env=self.environment)
        wait_until(lambda: answers(self.server_port), timeout=20, what="the server")

    def start_proxy(self):
        self.proxy = subprocess.Popen(
            [str(self.tools.onceguard), "mcp", "--store", self.tools.executing.store,
             "--listen", f"127.0.0.1:{self.port.number}", "--upstream",
             f"http://127.0.0.1:{self.server_port.number}/mcp", *map(str, self.options)],
            cwd=self.tools.folder, env=self.environment)
        wait_until(lambda: answers(self.port), timeout=20, what="the proxy")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port.number}/mcp"

    @property
    def server_url(self):
        return f"http://127.0.0.1:{self.server_port.number}/mcp"

    def connect(self):
        return self.tools.connect(self.revision, command=[self.url])

    def close(self):
        for process in (self.proxy, self.server):
            process.kill()
            process.wait()
        for port in (self.port, self.server_port):
            port.close()


@pytest.fixture
def endpoint(tools):
    made = []

    def start(revision, *options, **how):
        made.append(Endpoint(tools, revision, *options, **how))
        return made[-1]

    yield start
    for each in made:
        each.close()


def refused(answer, outcome, retry):
    result = answer.result
    assert result["isError"] and result["_meta"]["onceguard/outcome"] == outcome, result
    assert result["_meta"]["onceguard/retry"] == retry


@both
@pytest.mark.parametrize("json_response", [False, True], ids=["events", "json"])
def test_every_call_three_times_counts_once(tools, endpoint, key, revision, json_response):
    client = endpoint(revision, json_response=json_response).connect()
    for number in range(10):
        given = {"key": f"{key}-{number}", "arguments": {"amount": number}}
        first = client.call("charge", **given).result
        assert first["content"][0]["text"] == f"charge {number + 1} of {number}"
        for _ in range(3):
            assert client.call("charge", **given).repeated == first
    assert tools.runs("charge") == 10


@both
def test_clients_share_what_the_first_one_got(tools, endpoint, key, revision):
    place = endpoint(revision, "--wait", "30s")
    one, other = place.connect(), place.connect()
    first = one.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    waiting = other.call("slow", key=key)
    tools.gate.touch()
    assert waiting.text == first.text == "slow 1"
    assert tools.runs("slow") == 1


@both
def test_hints_and_the_list_of_tools(tools, endpoint, key, revision):
    client = endpoint(revision, "--require-key", "all").connect()
    refused(client.call("charge"), "key-missing", "new-key")
    assert [client.call("show", key=key).text for _ in range(2)] == ["shown 1", "shown 2"]
    listed = {tool["name"]: tool for tool in client.order(list=1).result["tools"]}
    assert "idempotency_key" in listed["charge"]["inputSchema"]["properties"]
    assert "idempotency_key" not in listed["show"]["inputSchema"]["properties"]


@both
def test_busy_and_mismatch(tools, endpoint, key, revision):
    client = endpoint(revision).connect()
    first = client.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    refused(client.call("slow", key=key), "busy", "same-key")
    refused(client.call("slow", key=key, arguments={"amount": 1}), "mismatch", "new-key")
    tools.gate.touch()
    assert first.text == "slow 1"


@both
def test_a_server_that_dies_amid_a_call_leaves_it_unknown(tools, endpoint, key, revision):
    place = endpoint(revision)
    client = place.connect()
    client.call("crash", key=key, timeout=3_000).wait()
    wait_until(lambda: tools.runs("crash") == 1, what="the call")  # which the client gave up
    place.server.wait()
    place.start_server()
    # In a session, another stream might still bring the response: the call is busy for a while.
    again = place.connect().call("crash", key=key).result
    assert again["_meta"]["onceguard/outcome"] in ("unknown", "busy")
    assert tools.runs("crash") == 1


@both
def test_a_server_that_is_away_runs_nothing(tools, endpoint, key, revision):
    place = endpoint(revision)
    client = place.connect()
    assert client.call("charge", key=f"{key}-0").text.startswith("charge 1")
    place.server.kill()
    place.server.wait()
    assert "error" in client.call("charge", key=key).wait()
    wait_until(lambda: tools.state(key) == "released", what="the release")
    place.start_server()
    assert place.connect().call("charge", key=key).text.startswith("charge 2")


@both
def test_a_client_that_leaves_does_not_end_its_call(tools, endpoint, key, revision):
    """The effect goes on, and the next client gets its result."""
    place = endpoint(revision)
    gone = place.connect()
    gone.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    gone.kill()
    tools.gate.touch()
    wait_until(lambda: tools.state(key) == "completed", what="the result")
    assert place.connect().call("slow", key=key).text == "slow 1"


def test_a_call_that_the_client_gave_up_is_kept_for_its_repeat(tools, endpoint, key):
    """The client says so in a message of its own, which does not go to the server."""
    client = endpoint("2025-11-25").connect()
    given_up = client.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    client.order(abort=given_up.number).wait()
    assert "error" in given_up.wait()
    tools.gate.touch()
    wait_until(lambda: tools.state(key) == "completed", what="the result")
    assert client.call("slow", key=key).text == "slow 1"


@both
def test_a_killed_proxy_leaves_the_call_unknown(tools, endpoint, key, revision):
    place = endpoint(revision, "--lease", "3s")
    place.connect().call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    place.proxy.kill()
    place.proxy.wait()
    wait_until(lambda: tools.state(key) == "unknown", what="the end of the lease")
    place.start_proxy()
    refused(place.connect().call("slow", key=key), "unknown", "no")
    assert tools.runs("slow") == 1


def test_sigterm_lets_a_running_call_finish(tools, endpoint, key):
    place = endpoint(REVISIONS[0])
    answer = place.connect().call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    os.kill(place.proxy.pid, signal.SIGTERM)
    wait_until(lambda: not answers(place.port), what="the end of listening")
    assert place.proxy.poll() is None
    tools.gate.touch()
    assert place.proxy.wait(60) == 0
    assert answer.text == "slow 1" and tools.state(key) == "completed"


def test_progress_sampling_elicitation_and_resources_pass(tools, endpoint, key):
    client = endpoint("2025-11-25").connect()
    assert client.call("steps", key=key, progress=True).text == "three steps"
    assert client.call("sample", key=f"{key}-2").text == "sampled 1"
    assert client.call("ask", key=f"{key}-3").text == "accept 1"
    assert client.order(read="test://greeting").result["contents"][0]["text"] == "hello"
    seen = client.order(seen=1).result
    assert (seen["progress"], seen["sampled"], seen["elicited"]) == (3, 1, 1)


def test_a_call_that_asks_for_more_input_is_called_again(tools, endpoint, key):
    client = endpoint("2026-07-28").connect()
    for _ in range(2):
        assert client.call("ask", key=key).text == "accept 1"
    assert tools.runs("ask") == 1


def post(port, body, *fields):
    with Connection(("127.0.0.1", port)) as connection:
        connection.send_request("POST", "/mcp", [
            ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
            *fields], body, host="localhost")
        return connection.read()


@both
def test_keys_never_cross_callers(tools, endpoint, key, revision):
    """With the credential of another, the key is another one."""
    place = endpoint(revision)
    client = place.connect()
    client.call("charge", key=key).wait()
    assert tools.runs("charge") == 1
    meta = ({"io.modelcontextprotocol/protocolVersion": revision,
             "io.modelcontextprotocol/clientCapabilities": {},
             "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}
            if revision == "2026-07-28" else {})
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "charge", "arguments": {"idempotency_key": key}, "_meta": meta}}).encode()
    answer = post(place.port.number, body, ("Authorization", "Bearer other"),
                  ("MCP-Protocol-Version", revision), ("Mcp-Method", "tools/call"),
                  ("Mcp-Name", "charge"))
    # Nobody gets the other's answer. Without a session the older revision refuses the call.
    assert b"charge 1" not in answer.body
    assert tools.runs("charge") == (2 if revision == "2026-07-28" else 1), answer


def call_of(key):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "charge", "arguments": {"idempotency_key": key}}}).encode()


@pytest.mark.parametrize("host, status", [
    ("localhost:1", 400), ("127.0.0.1", 400), ("[::1]:80", 400), ("attacker.example", 403),
    ("127.0.0.1.evil.example", 403), ("[::2]", 403), ("", 400)])
def test_a_page_whose_name_leads_to_this_machine_is_no_client(endpoint, host, status):
    """DNS rebinding: the server behind sees only the proxy's own name of it."""
    place = endpoint(REVISIONS[0])
    with Connection(("127.0.0.1", place.port.number)) as connection:
        connection.reader.expect("POST")
        connection.send(f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n"
                        "Content-Type: application/json\r\nAccept: application/json, "
                        "text/event-stream\r\n\r\n{}".encode())
        assert connection.read().status == status


def test_what_is_no_message_is_passed_on(endpoint):
    place = endpoint(REVISIONS[0])
    for body in (b"", b"7", b"{}", b'{"jsonrpc":"1.0"}'):
        through, direct = (post(port, body) for port in (place.port.number,
                                                         place.server_port.number))
        assert (through.status, through.body) == (direct.status, direct.body)


def test_what_the_server_might_read_otherwise_is_refused(tools, endpoint, key):
    """A lenient reader finds a call in it, which nobody has guarded."""
    place = endpoint("2026-07-28")
    call = call_of(key).replace(b'"id": 1', b'"id": 1, "id": 1')
    twice = call_of(key).replace(b'"name": "charge"', b'"name": "show", "name": "charge"')
    bytes_ = call_of(key).replace(b'"charge"', b'"charge\xff"')
    marked = b"\xef\xbb\xbf" + call_of(key)
    for body in (call, b"[" + call_of(key) + b"]", bytes_, call_of(key)[:-1], marked):
        answer = post(place.port.number, body)
        assert answer.status == 400 and b"Onceguard" in answer.body, body
    assert b"key-malformed" in post(place.port.number, twice).body
    assert tools.runs("charge") == 0 and tools.runs("show") == 0
