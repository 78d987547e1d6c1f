"""`onceguard mcp --upstream`: what the answers of a server mean, and whose a key is."""

import base64
import json
import threading
import time

import jwt
import pytest

from support.client import Connection
from support.tool_server import call_of
from support.waiting import wait_until

RESULT = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
SESSION = ("Mcp-Session-Id", "s1")


def paid(_, sent):
    text = json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": {
        "content": [{"type": "text", "text": "paid"}]}})
    return 200, "application/json", text.encode()


def error_of(code, number="1"):
    return b'{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"m"}}' % (number.encode(), code)


CHALLENGE = ("WWW-Authenticate", "Bearer")
NULL = error_of(-32001, "null")


@pytest.mark.parametrize("status, kind, body, fields, state", [
    # Before any tool: the transport can't take the message, or wants a credential.
    (400, "application/json", NULL, (), "released"),
    (404, "application/json", NULL, (), "released"),
    (406, "application/json", NULL, (), "released"),
    (401, "text/plain", b"", (CHALLENGE,), "released"),
    (403, "application/json", b"{}", (CHALLENGE,), "released"),
    # Perhaps after it.
    (400, "application/json", b"{}", (), "unknown"), (401, "text/plain", b"", (), "unknown"),
    (404, "application/json", b"{}", (), "unknown"), (404, "text/plain", b"gone", (), "unknown"),
    (404, "application/json", error_of(-32001), (), "unknown"),
    (429, "text/plain", b"", (), "unknown"), (429, "application/json", NULL, (), "unknown"),
    (501, "text/plain", b"", (), "unknown"), (503, "text/html", b"", (), "unknown"),
    (500, "application/json", b"{}", (), "unknown"), (502, "text/html", b"", (), "unknown"),
    (200, "text/html", b"", (), "unknown"), (202, "text/plain", b"", (), "unknown"),
    (200, "application/json", b"{", (), "unknown"), (200, "text/event-stream", b"", (), "unknown"),
    (200, "application/json", RESULT.replace(b"1,", b"2,"), (), "unknown"),
    (200, "application/json", RESULT.replace(b"1,", b'"1",'), (), "unknown"),
    (200, "application/json", error_of(-32602), (), "unknown"),
    (200, "application/json", error_of(-32601), (), "unknown"),
    (200, "application/json", error_of(-32600), (), "unknown"),
    # An answer, however it is written.
    (200, "application/json", RESULT, (), "completed"),
    (200, "Application/JSON ; charset=utf-8", RESULT, (), "completed"),
    (200, "application/json", RESULT.replace(b"1,", b"1.0,"), (), "completed"),
    (200, "application/json", RESULT.replace(b"[]", b'[],"text":"\xff"'), (), "completed"),
    (200, "Text/Event-Stream", b"data: " + RESULT + b"\n\n", (), "completed")])
def test_only_who_surely_called_no_tool_releases(tools, place, key, status, kind, body, fields,
                                                 state):
    server, proxy = place(lambda *_: (status, kind, body, fields))
    first = proxy.post(call_of(key), SESSION)
    wait_until(lambda: tools.state(key) == state, what=f"the state {state}")
    assert len(server.calls) == 1
    if state != "unknown" or status >= 300:
        assert (first.status, first.body.strip()) == (status, body.strip())
    again = proxy.post(call_of(key, 2), SESSION)
    assert len(server.calls) == (2 if state == "released" else 1)
    if state == "unknown":
        assert b'"onceguard/outcome":"unknown"' in again.body
    if state == "completed":
        assert b'"onceguard/replayed":true' in again.body


def test_a_session_that_is_gone_is_none_of_a_request_without_one(tools, place, key):
    _, proxy = place(lambda *_: (404, "application/json", NULL))
    proxy.post(call_of(key))
    assert tools.state(key) == "unknown"


def test_a_tool_that_is_on_no_list_was_not_called(tools, place, key):
    server, proxy = place(lambda *_: (200, "application/json", error_of(-32602)))
    for _ in range(2):
        assert b"-32602" in proxy.post(call_of(key, tool="nowhere")).body
    assert tools.state(key) == "released" and len(server.calls) == 2


@pytest.mark.parametrize("head", [
    b"", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\ndata: {"],
    ids=["nothing", "half a message", "half an event"])
def test_a_broken_answer_is_reported_and_never_empty(tools, place, key, head):
    """In a session, too: without the id of an event, nobody can ask for the rest."""
    def answer(request, _):
        request.wfile.write(head)
        request.wfile.flush()
        request.close_connection = True

    server, proxy = place(answer)
    first = proxy.post(call_of(key), SESSION)
    assert b'"onceguard/outcome":"unknown"' in first.body and b'"id":1' in first.body
    assert tools.state(key) == "unknown" and len(server.calls) == 1


@pytest.mark.parametrize("origin", ["", "http://127.0.0.1:{port}"])
def test_a_redirect_of_a_slash_is_followed_here(tools, place, key, origin):
    """The client would go past the proxy: servers write their own address into it."""
    def answer(request, sent):
        if request.path == "/mcp/":
            return paid(request, sent)
        place_ = origin.format(port=request.server.server_port) + "/mcp/"
        return 307, "text/plain", b"", (("Location", place_),)

    server, proxy = place(answer)
    assert b"paid" in proxy.post(call_of(key)).body
    assert b"onceguard/replayed" in proxy.post(call_of(key, 2)).body
    assert tools.state(key) == "completed" and len(server.calls) == 2


def test_a_redirect_to_elsewhere_is_refused_and_frees_the_key(tools, place, key):
    _, proxy = place(lambda *_: (308, "text/plain", b"", (("Location", "http://other/mcp"),)))
    answer = proxy.post(call_of(key))
    assert answer.status == 502 and b"--upstream" in answer.body
    assert tools.state(key) == "released"


def test_an_id_is_of_one_request_at_a_time_in_a_session(tools, place, key):
    gate = threading.Event()

    def answer(request, sent):
        gate.wait(60)
        return paid(request, sent)

    server, proxy = place(answer)
    first = threading.Thread(target=proxy.post, args=(call_of(key), SESSION))
    first.start()
    wait_until(lambda: len(server.calls) == 1, what="the first call")
    for number in (1, 1.0):
        refused = proxy.post(call_of(f"{key}-2", number), SESSION)
        assert b"the id is that of a running request" in refused.body
    # Another session has ids of its own, and the text "1" is another one.
    others = [threading.Thread(target=proxy.post, args=given) for given in (
        (call_of(f"{key}-3"), ("Mcp-Session-Id", "s2")), (call_of(f"{key}-4", "1"), SESSION))]
    for other in others:
        other.start()
    wait_until(lambda: len(server.calls) == 3, what="the others")
    gate.set()
    for thread in (first, *others):
        thread.join()
    assert {tools.state(f"{key}{n}") for n in ("", "-3", "-4")} == {"completed"}
    assert b"paid" in proxy.post(call_of(f"{key}-2"), SESSION).body


def test_an_answer_on_a_resumed_stream_is_found(tools, place, key):
    """The server closes the stream of the call, and the client asks for what follows an event."""
    def answer(_, sent):
        if sent is None:
            return 200, "text/event-stream", b"id: 2\ndata: " + RESULT + b"\n\n"
        return 200, "text/event-stream", b"id: 1\nretry: 10\ndata:\n\n"

    server, proxy = place(answer)
    proxy.post(call_of(key), SESSION)
    assert tools.state(key) == "in_progress"
    with Connection(("127.0.0.1", proxy.port.number)) as connection:
        connection.send_request("GET", "/mcp", [("Accept", "text/event-stream"), SESSION,
                                                ("Last-Event-ID", "1")], host="localhost")
        assert RESULT in connection.read().body
    assert tools.state(key) == "completed"
    assert b"onceguard/replayed" in proxy.post(call_of(key, 2), SESSION).body
    assert len(server.calls) == 1


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_a_list_in_events_is_framed_anew(place, version):
    """It becomes longer than its head has said."""
    server, proxy = place(paid)
    server.lists_in_events = True
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    with Connection(("127.0.0.1", proxy.port.number)) as connection:
        connection.send_request("POST", "/mcp", [("Content-Type", "application/json")], body,
                                host="localhost", version=version)
        listed = connection.read().body
    assert listed.startswith(b"data: ") and listed.endswith(b"\n\n")
    [tool] = json.loads(listed[len("data: "):])["result"]["tools"]
    assert "idempotency_key" in tool["inputSchema"]["properties"]


def test_the_list_of_tools_is_framed_anew_and_an_error_of_it_passes(place):
    def answer(_, sent):
        return 401, "application/json", b'{"error":"invalid_token"}'

    _, proxy = place(answer)
    listed = proxy.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert b"idempotency_key" in listed.body and json.loads(listed.body)
    assert proxy.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 401


# ---- whose a key is


SECRET = "k" * 64


def bearer(subject, secret=SECRET, **claims):
    given = {"sub": subject, "iss": "https://login.example", "exp": int(time.time()) + 300}
    return ("Authorization", "Bearer " + jwt.encode({**given, **claims}, secret, algorithm="HS256"))


def test_a_refreshed_token_is_the_same_caller(tools, place, key):
    keys = tools.folder / "keys.json"
    encoded = base64.urlsafe_b64encode(SECRET.encode()).rstrip(b"=").decode()
    keys.write_text(json.dumps({"keys": [{"kty": "oct", "k": encoded}]}))
    server, proxy = place(paid, "--scope", "jwt:sub", "--jwt-keys-file", keys, "--jwt-issuer",
                          "https://login.example")
    assert b"paid" in proxy.post(call_of(key), bearer("ann", jti="1")).body
    assert b"onceguard/replayed" in proxy.post(call_of(key), bearer("ann", jti="2")).body
    assert len(server.calls) == 1
    assert b"onceguard/replayed" not in proxy.post(call_of(key), bearer("bob")).body
    assert len(server.calls) == 2
    for fields in ((bearer("ann", "x" * 64),), ()):
        assert b'"scope-missing"' in proxy.post(call_of(key), *fields).body
    assert len(server.calls) == 2


def test_a_credential_that_is_signed_anew_makes_no_scope(place, key):
    server, proxy = place(paid)
    answer = proxy.post(call_of(key), ("Authorization", "Signature keyId=a,signature=b"))
    assert b'"scope-missing"' in answer.body and not server.calls
    assert b"paid" in proxy.post(call_of(), ("Authorization", "Signature keyId=a,signature=b")).body


def test_callers_without_a_credential_differ_by_what_they_send(place, key):
    server, proxy = place(paid)
    proxy.post(call_of(key), ("X-Tenant", "one"), SESSION)
    assert b'"mismatch"' in proxy.post(call_of(key), ("X-Tenant", "two"), SESSION).body
    # Another session is the same caller.
    again = proxy.post(call_of(key), ("X-Tenant", "one"), ("Mcp-Session-Id", "s2"))
    assert b"onceguard/replayed" in again.body and len(server.calls) == 1


def test_a_key_in_the_header_is_one(tools, place, key):
    server, proxy = place(paid)
    for value in (f'"{key}"', key):
        assert b"paid" in proxy.post(call_of(), ("Idempotency-Key", value)).body
    assert len(server.calls) == 1 and tools.state(key) == "completed"
    for values in (['"'], ["a", "b"]):
        fields = [("Idempotency-Key", value) for value in values]
        assert b'"key-malformed"' in proxy.post(call_of(), *fields).body
    assert b'"key-malformed"' in proxy.post(call_of("other"), ("Idempotency-Key", key)).body
    assert len(server.calls) == 1


def test_a_message_of_a2a_is_a_call(tools, place, key):
    def answer(_, sent):
        text = {"jsonrpc": "2.0", "id": sent["id"], "result": {"kind": "task", "id": "t1"}}
        return 200, "application/json", json.dumps(text).encode()

    server, proxy = place(answer, "--preset", "a2a")
    sent = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {
        "role": "user", "messageId": key, "parts": [{"kind": "text", "text": "order one"}]}}}
    assert json.loads(proxy.post(sent).body)["result"] == {"kind": "task", "id": "t1"}
    again = json.loads(proxy.post({**sent, "id": 2}).body)
    assert again["id"] == 2 and again["result"]["metadata"] == {"onceguard/replayed": True}
    sent["params"]["message"]["parts"] = []
    refused = json.loads(proxy.post(sent).body)
    assert refused["error"]["data"]["onceguard/outcome"] == "mismatch"
    assert len(server.calls) == 1
