"""The examples of the official SDK, with and without a proxy: what is not a guarded call passes
byte for byte."""

import json
import os
import re
import select
import socket
import subprocess

import pytest

from support.node import NODE, TESTS
from support.ports import Port
from support.waiting import wait_until

EXAMPLES = TESTS / "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server"
OVER_HTTP = ["elicitationFormExample", "elicitationUrlExample", "honoWebStandardStreamableHttp",
             "jsonResponseStreamableHttp", "simpleSseServer", "simpleStatelessStreamableHttp",
             "simpleStreamableHttp", "simpleTaskInteractive",
             "sseAndStreamableHttpCompatibleServer", "ssePollingExample",
             "standaloneSseWithGetStreamableHttp"]
ON_STREAMS = ["mcpServerOutputSchema", "progressExample", "toolWithSampleServer"]
# Seconds without a byte: the answer waits for the client, or has ended. A busy machine is silent
# for longer amid an answer, at some times: what differs is asked for once more, with more patience.
SILENCES = (0.7, 3, 6)
LONG_SILENCE = 5  # the same where neither an answer nor a question has come
PATIENCE = 60  # seconds; each request has an answer

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}, "elicitation": {}},
              "clientInfo": {"name": "tests", "version": "1"}}


def requests(tools):
    """The messages of a client that knows these tools, without keys."""
    yield {"jsonrpc": "2.0", "method": "notifications/initialized"}
    methods = ["ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
               "logging/setLevel", "no/such/method"]
    number = 10
    for method in methods:
        number += 1
        params = {"level": "error"} if method.startswith("logging") else {}
        yield {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    for tool in tools:
        number += 1
        arguments = {"name": "a", "interval": 1, "count": 1, "text": "a", "city": "Berlin",
                     "country": "DE"}
        yield {"jsonrpc": "2.0", "id": f"call-{number}", "method": "tools/call",
               "params": {"name": tool, "arguments": arguments}}
    yield {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "no such tool"}}


def alike(text):
    """Without what differs from one process to the next, and from one moment to the next."""
    for pattern in (rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                    rb"\d{4}-\d\d-\d\dT[\d:.]+Z", rb"_\d{13}_\w+", rb"\b[0-9a-f]{32}\b",
                    rb"(?<=127\.0\.0\.1:)\d+", rb"(?<=localhost:)\d+",
                    rb'(?<="temperature":\{)[^}]*',
                    rb'(?<="humidity":)[\d.]+', rb'(?<="speed_kmh":)[\d.]+',
                    rb'(?<="conditions":)"\w+"', rb'(?<="direction":)"\w+"',
                    rb'\\"[a-z_]+\\": (?:\\"\w+\\"|[^,\\]+)'):
        text = re.sub(pattern, b"#", text)
    return text


def receive(connection, wanted, quiet):
    """All bytes until the end, or until nothing more comes behind the answer to that id."""
    taken = b""
    said = wanted and re.compile(rb'"id":%s|"method":"(sampling|elicitation)/' % wanted)
    while True:
        if not taken:
            silence = PATIENCE
        else:
            silence = quiet if not said or said.search(taken) else LONG_SILENCE
        if not select.select([connection], [], [], silence)[0]:
            break
        piece = connection.recv(65536)
        if not piece:
            break
        taken += piece
    return taken


def unchunked(body):
    out = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        count = int(size or b"0", 16)
        out, body = out + body[:count], body[count + 2:]
    return out


def exchange(port, method, body, quiet, session=None):
    """Status line, headers that mean something, and the body."""
    fields = ["Host: localhost", "Connection: close", "Accept: application/json, text/event-stream",
              "MCP-Protocol-Version: 2025-11-25"]
    if body is not None:
        fields += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if session:
        fields.append(f"Mcp-Session-Id: {session}")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"{method} /mcp HTTP/1.1\r\n" + "\r\n".join(fields) + "\r\n\r\n"
        connection.sendall(head.encode() + (body or b""))
        wanted = json.loads(body).get("id") if body else None
        answer = receive(connection, re.escape(json.dumps(wanted).encode()) if wanted else None,
                         quiet)
    head, _, rest = answer.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}
    if headers.get(b"transfer-encoding") == b"chunked":
        rest = unchunked(rest)
    kept = {name: value for name, value in headers.items() if name not in (
        b"date", b"connection", b"keep-alive", b"transfer-encoding", b"content-length",
        b"mcp-session-id", b"etag", b"ratelimit", b"ratelimit-reset", b"ratelimit-remaining")}
    return status, kept, rest, headers.get(b"mcp-session-id", b"").decode()


def talk(port, quiet):
    """Everything that a client gets which says the same to any server."""
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    *first, session = exchange(port, "POST", hello.encode(), quiet)
    answers = [first]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    body = exchange(port, "POST", json.dumps(listing).encode(), quiet, session)[2]
    tools = sorted(set(re.findall(rb'"name":"([\w-]+)"', body)))
    for message in requests([tool.decode() for tool in tools]):
        *answer, _ = exchange(port, "POST", json.dumps(message).encode(), quiet, session)
        answers.append(answer)
    for method, target in (("GET", session), ("DELETE", session), ("GET", None), ("OPTIONS", None)):
        *answer, _ = exchange(port, method, None, quiet, target)
        answers.append(answer)
    return [(status, headers, alike(body)) for status, headers, body in answers]


class Processes:
    def __init__(self, folder, environment):
        self.folder, self.environment, self.started = folder, environment, []

    def start(self, words, port=None, **more):
        process = subprocess.Popen(words, cwd=self.folder, env={**self.environment, **more},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)

        def listens():
            assert process.poll() is None, f"{words} ended"
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port.number)) == 0

        wait_until(listens, timeout=20, what=f"{words[-1]} listens")
        return process

    def close(self):
        for process in self.started:
            process.kill()
            process.wait()


@pytest.fixture
def processes(tools):
    made = Processes(tools.folder, tools.environment())
    yield made
    made.close()


def over_http(tools, processes, example, quiet):
    """What a client gets from the server itself, and what through a proxy."""
    answers = []
    for behind_proxy in (False, True):
        server, proxy = Port(), Port()
        processes.start([NODE, "--import", str(TESTS / "mcp/listen_elsewhere.mjs"),
                         str(EXAMPLES / f"{example}.js")], server,
                        LISTEN_PORT=str(server.number))
        port = server
        if behind_proxy:
            processes.start([str(tools.onceguard), "mcp", "--store", tools.executing.store,
                             "--argument", "", "--listen", f"127.0.0.1:{proxy.number}",
                             "--upstream", f"http://127.0.0.1:{server.number}/mcp"], proxy)
            port = proxy
        answers.append(talk(port.number, quiet))
        processes.close()
    assert len(answers[0]) > 5
    return answers


@pytest.mark.parametrize("example", OVER_HTTP)
def test_an_example_over_http_passes_byte_for_byte(tools, processes, example):
    for quiet in SILENCES:
        all_direct, all_through = over_http(tools, processes, example, quiet)
        if all_direct == all_through:
            return
    for direct, through in zip(all_direct, all_through):
        assert direct == through
    assert len(all_direct) == len(all_through)


def is_answered(taken, message):
    """Whether its answer is there, or a question to the client that it waits for."""
    for line in taken.splitlines(keepends=True):
        if line.endswith(b"\n") and b'"id"' in line:
            said = json.loads(line)
            if "method" in said or said.get("id") == message["id"]:
                return "id" in said
    return False


def converse(words, tools, quiet):
    """Lines to a server on standard streams, and the lines that come back."""
    process = subprocess.Popen(words, cwd=tools.folder, env=tools.environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    answers = []

    def say(message):
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        taken = b""
        while True:
            # However long it takes; what comes behind it comes at once.
            over = "id" not in message or is_answered(taken, message)
            if not select.select([process.stdout], [], [], quiet if over else PATIENCE)[0]:
                assert over, (message, taken)
                break
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                break
            taken += piece
        answers.append(alike(taken))
        return taken

    try:
        say({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
        listed = say({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        for message in requests(sorted(set(re.findall(r'"name":"([\w-]+)"', listed.decode())))):
            say(message)
        say({"jsonrpc": "2.0", "id": 70, "method": "ping", "params": {"_meta": {"a": [1.0, 1e3]}}})
    finally:
        process.kill()
        process.communicate()
    return answers


@pytest.mark.parametrize("example", ON_STREAMS)
def test_an_example_on_standard_streams_passes_byte_for_byte(tools, example):
    server = [NODE, str(EXAMPLES / f"{example}.js")]
    proxy = [str(tools.onceguard), "mcp", "--store", tools.executing.store, "--argument", "", "--",
             *server]
    for quiet in SILENCES:
        direct, through = (converse(words, tools, quiet) for words in (server, proxy))
        assert len(direct) > 5 and any(b"tools" in answers for answers in direct)
        if direct == through:
            break
    assert direct == through
