"""`onceguard mcp --upstream`: a server that answers out of turn, too early, or by no rule."""

import json
import socket
import subprocess
import threading

import pytest

from support.certificates import Authority
from support.client import Connection
from support.tool_server import call_of

LARGE = "x" * (5 << 20)  # more than the system takes for a peer that reads nothing
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def paid(_, sent):
    text = json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": {
        "content": [{"type": "text", "text": "paid"}]}})
    return 200, "application/json", text.encode()


@pytest.mark.parametrize("location", ["/a b", "/a\tb", "{origin}/a b", "/a b#c"])
def test_a_redirect_to_no_target_ends_one_call_and_no_proxy(tools, place, key, location):
    def answer(request, _):
        origin = f"http://127.0.0.1:{request.server.server_port}"
        return 308, "text/plain", b"", (("Location", location.format(origin=origin)),)

    server, proxy = place(answer)
    for _ in range(2):
        got = proxy.post(call_of(key))
        assert got.status == 502 and b"redirects to another place, or to no path" in got.body
        assert tools.state(key) == "released"
    assert len(server.calls) == 2


@pytest.mark.parametrize("url, why", [
    ("http://127.0.0.1:1/a b", "its path has a space or a control character"),
    ("http://127.0.0.1:1/a\tb", "its path has a space or a control character"),
    ("http://127.0.0.1:1/a?b\x01", "its path has a space or a control character"),
    ("http://a b:1/", "expected http://HOST[:PORT]/PATH"),
    ("http://a\r\nb/", "expected http://HOST[:PORT]/PATH"),
    ("http://[::1/", "expected http://HOST[:PORT]/PATH"),
    ("http://[::1]x:1/", "expected http://HOST[:PORT]/PATH"),
    ("http://a:65536/", "expected http://HOST[:PORT]/PATH"),
    ("http://a:/", "expected http://HOST[:PORT]/PATH"),
    ("http:///a", "expected http://HOST[:PORT]/PATH")])
def test_a_url_that_no_request_can_have_is_refused_at_the_start(tools, url, why):
    got = subprocess.run(
        [str(tools.onceguard), "mcp", "--store", tools.executing.store, "--listen", "127.0.0.1:0",
         "--upstream", url], env=tools.environment(), cwd=tools.folder, capture_output=True,
        text=True, timeout=120)
    assert 0 < got.returncode < 128
    assert f"--upstream: {why}" in got.stderr


@pytest.mark.parametrize("before", ["guarded", "ping"])
def test_a_second_answer_is_nobody_elses(tools, place, fresh_key, before):
    """A server that answers twice, late: the second answer comes when the next one asks."""
    owed = {}

    def answer(request, sent):
        got = owed.get(request)
        if got is None:
            name = sent["params"]["arguments"]["idempotency_key"] if "params" in sent else "ping"
            got = owed[request] = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {
                "content": [{"type": "text", "text": name}]}}).encode()
        return 200, "application/json", got

    _, proxy = place(answer)
    for _ in range(4):
        key, other = fresh_key(), fresh_key()
        proxy.post(PING if before == "ping" else call_of(other))
        assert key.encode() in proxy.post(call_of(key)).body


@pytest.mark.parametrize("before", ["guarded", "ping"])
def test_a_server_that_ends_its_connections_without_a_word_costs_no_call(tools, place, fresh_key,
                                                                         before):
    served = set()

    def answer(request, sent):
        if request in served:
            request.close_connection = True
            return None
        served.add(request)
        return paid(request, sent)

    _, proxy = place(answer)
    for _ in range(4):
        key = fresh_key()
        proxy.post(PING if before == "ping" else call_of(fresh_key()))
        assert b"paid" in proxy.post(call_of(key)).body
        assert tools.state(key) == "completed"


@pytest.fixture
def reads_nothing(place, tmp_path):
    """A server that does to a large call what it is told before it reads it, and a proxy."""
    over = threading.Event()

    def start(answer, secure=False):
        authority = Authority(tmp_path / "authority") if secure else None
        environment = {"SSL_CERT_FILE": authority.file} if secure else {}
        server, proxy = place(paid, authority=authority, **environment)

        def before_body(request):
            if int(request.headers["Content-Length"]) < len(LARGE):
                return False
            request.wfile.write(answer)
            request.wfile.flush()
            if answer.startswith(b"HTTP/1.1 100 "):
                return False
            over.wait(60)
            request.close_connection = True
            return True

        server.server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        server.before_body = before_body
        return server, proxy

    yield start
    over.set()


def early(status, body, kind="application/json"):
    return (f"HTTP/1.1 {status} Early\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
            f"\r\n\r\n{body}").encode()


@pytest.mark.parametrize("status, kind, secure", [
    (413, "text/plain", False), (413, "application/json", True), (503, "text/html", False)])
def test_a_call_that_is_refused_before_it_is_read_has_run_nothing(tools, reads_nothing, key, status,
                                                                 kind, secure):
    server, proxy = reads_nothing(early(status, "{}", kind), secure)
    got = proxy.post(call_of(key, text=LARGE))
    assert (got.status, got.body) == (status, b"{}")
    assert tools.state(key) == "released"
    assert b"paid" in proxy.post(call_of(key)).body and len(server.calls) == 1


def test_a_result_before_the_call_was_read_is_none(tools, reads_nothing, key):
    result = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
    _, proxy = reads_nothing(early(200, result))
    assert b'"onceguard/outcome":"unknown"' in proxy.post(call_of(key, text=LARGE)).body
    assert tools.state(key) == "unknown"


@pytest.mark.parametrize("secure", [False, True])
def test_an_answer_on_the_way_ends_no_request(tools, reads_nothing, key, secure):
    server, proxy = reads_nothing(b"HTTP/1.1 100 Continue\r\n\r\n", secure)
    assert b"paid" in proxy.post(call_of(key, text=LARGE)).body
    assert tools.state(key) == "completed" and len(server.calls[0]["params"]["arguments"]["text"]) \
        == len(LARGE)


def test_a_server_that_reads_nothing_holds_no_key(tools, reads_nothing, key):
    """The proxy waits 20 s."""
    _, proxy = reads_nothing(b"")
    with Connection(("127.0.0.1", proxy.port.number), timeout=60) as connection:
        body = json.dumps(call_of(key, text=LARGE)).encode()
        connection.send_request("POST", "/mcp", [("Content-Type", "application/json")], body,
                                host="localhost")
        assert b'"onceguard/outcome":"unknown"' in connection.read().body
    assert tools.state(key) == "unknown"


@pytest.mark.parametrize("status", [200, 204, 205, 304])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream"])
def test_a_lost_call_gets_a_body_that_its_status_allows(tools, place, key, status, kind):
    def answer(request, sent):
        return paid(request, sent) if sent["method"] == "ping" else (status, kind, b"")

    _, proxy = place(answer)
    with Connection(("127.0.0.1", proxy.port.number)) as connection:
        for message, expected in ((call_of(key), b'"onceguard/outcome":"unknown"'),
                                  (PING, b"paid")):
            connection.send_request("POST", "/mcp", [("Content-Type", "application/json")],
                                    json.dumps(message).encode(), host="localhost")
            got = connection.read()
            assert got.status == 200 and expected in got.body
    assert tools.state(key) == "unknown"


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/plain"])
def test_nothing_stands_behind_the_head_that_was_asked_for(place, kind):
    _, proxy = place(lambda *_: (200, kind, b"data: 1\n\n"))
    with Connection(("127.0.0.1", proxy.port.number)) as connection:
        for method in ("HEAD", "GET", "HEAD", "GET"):
            connection.send_request(method, "/mcp", [], host="localhost")
            got = connection.read()
            assert got.status == 200
            assert got.body == (b"" if method == "HEAD" else b"data: 1\n\n")


def test_a_refusal_of_a_head_has_no_body(place):
    _, proxy = place(paid)
    with Connection(("127.0.0.1", proxy.port.number)) as connection:
        for _ in range(2):
            connection.send_request("HEAD", "/mcp", [], host="elsewhere.test")
            assert connection.read().status == 403
