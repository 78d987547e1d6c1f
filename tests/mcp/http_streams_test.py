"""`onceguard mcp --upstream`: streams that stay open, callers that differ, and the proxy's end."""

import contextlib
import json
import threading

import pytest

from support.client import Connection
from support.tool_server import call_of
from support.waiting import wait_until

SESSION = ("Mcp-Session-Id", "s1")


def result_of(sent):
    return json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": {"content": []}}).encode()


def paid(_, sent):
    return 200, "application/json", result_of(sent)


def begin(request, *events):
    """The head of a stream, and its first events."""
    request.send_response(200)
    request.send_header("Content-Type", "text/event-stream")
    request.send_header("Connection", "close")
    request.end_headers()
    for event in events:
        say(request, event)


def say(request, event):
    request.wfile.write(event)
    request.wfile.flush()


def open_call(proxy, sent):
    """A call whose answer nobody has read yet."""
    connection = Connection(("127.0.0.1", proxy.port.number))
    connection.send_request("POST", "/mcp", [("Content-Type", "application/json"), SESSION],
                            json.dumps(sent).encode(), host="localhost")
    return connection


def test_a_byte_order_mark_is_no_part_of_an_event(tools, place, key):
    _, proxy = place(lambda _, sent: (200, "text/event-stream",
                                      b"\xef\xbb\xbfdata: " + result_of(sent) + b"\n\n"))
    assert b'"content"' in proxy.post(call_of(key)).body
    assert tools.state(key) == "completed"


def test_hints_count_for_the_caller_whose_list_has_them(place, key):
    """Another one is shown what its calls do for it."""
    server, proxy = place(paid)
    server.hints = lambda request: {"readOnlyHint": request.headers["Authorization"] == "Bearer a"}
    for name, calls in (("a", 2), ("b", 3)):
        for number in (1, 2):
            proxy.post(call_of(key, number), ("Authorization", f"Bearer {name}"))
        assert len(server.calls) == calls


def test_resuming_one_stream_leaves_the_others_of_the_session(tools, place, key):
    resumed, release = threading.Event(), threading.Event()

    def answer(request, sent):
        if sent is None:
            resumed.set()
            return 200, "text/event-stream", b"id: a2\ndata: " + result_of({"id": 1}) + b"\n\n"
        name = "ab"[sent["id"] - 1]
        begin(request, f"id: {name}1\ndata:\n\n".encode())
        (resumed if name == "a" else release).wait(60)
        with contextlib.suppress(OSError):
            say(request, b"data: " + result_of(sent) + b"\n\n")
        request.close_connection = True

    server, proxy = place(answer)
    for number in (1, 2):
        with open_call(proxy, call_of(f"{key}-{number}", number)) as connection:
            wait_until(lambda: b"id: " in connection.socket.recv(65536), what="the first event")
    with Connection(("127.0.0.1", proxy.port.number)) as connection:
        connection.send_request("GET", "/mcp", [("Accept", "text/event-stream"), SESSION,
                                                ("Last-Event-ID", "a1")], host="localhost")
        assert b"content" in connection.read().body
    wait_until(lambda: tools.state(f"{key}-1") == "completed", what="the resumed call")
    assert tools.state(f"{key}-2") == "in_progress"
    release.set()
    wait_until(lambda: tools.state(f"{key}-2") == "completed", what="the other call")
    assert len(server.calls) == 2


def test_a_client_that_reads_nothing_holds_no_key(tools, place, key):
    def answer(request, sent):
        begin(request)
        for _ in range(80):
            say(request, b'data: {"jsonrpc":"2.0","method":"notifications/message","params":"'
                + b"x" * 100_000 + b'"}\n\n')
        say(request, b"data: " + result_of(sent) + b"\n\n")
        request.close_connection = True

    server, proxy = place(answer)
    with open_call(proxy, call_of(key)):
        wait_until(lambda: tools.state(key) == "completed", timeout=60, what="the recorded answer")
    assert b"onceguard/replayed" in proxy.post(call_of(key, 2)).body
    assert len(server.calls) == 1


@pytest.mark.parametrize("events", [None, [], [b"id: 1\ndata:\n\n"]],
                         ids=["no answer", "a head", "an event"])
@pytest.mark.parametrize("left", [False, True], ids=["stays", "left"])
def test_a_second_signal_ends_open_calls_as_unknown(tools, place, key, events, left):
    gate = threading.Event()

    def answer(request, _):
        if events is not None:
            begin(request, *events)
        gate.wait(60)
        request.close_connection = True

    server, proxy = place(answer)
    # One without a key, too.
    calls = [open_call(proxy, call_of(key)), open_call(proxy, call_of(number=2))]
    wait_until(lambda: len(server.calls) == 2, what="the calls")
    if left:
        for call in calls:
            call.close()
    proxy.process.terminate()
    wait_until(lambda: not proxy.answers(), what="the end of listening")
    assert proxy.process.poll() is None
    proxy.process.terminate()
    assert proxy.process.wait(60) == 0
    gate.set()
    assert tools.state(key) == "unknown"
    for call in calls:
        call.close()


def test_sigterm_ends_the_proxy_amid_calls_that_are_not_guarded(place):
    gate = threading.Event()

    def answer(request, _):
        begin(request, b"id: 1\ndata:\n\n")
        gate.wait(60)
        request.close_connection = True

    server, proxy = place(answer)
    with open_call(proxy, call_of()):
        wait_until(lambda: len(server.calls) == 1, what="the call")
        proxy.process.terminate()
        assert proxy.process.wait(60) == 0
    gate.set()
