"""The drivers of the client against servers that go wrong: Beast (blocking, awaited) and curl."""

import http.server
import json
import ssl
import threading

import pytest

from support.doctor import certificate
from support.ports import Port
from support.sending import DRIVERS, send_with
from support.waiting import Stopwatch

pytestmark = pytest.mark.parametrize("driver", DRIVERS)

WHOLE = [("head",), ("rest",)]


def refusal(status, fields="", body=b""):
    return ("send", b"HTTP/1.1 %d Refused\r\n%sContent-Length: %d\r\n\r\n%s"
            % (status, fields.encode(), len(body), body))


def problem(kind, retryable):
    return json.dumps({"type": f"urn:onceguard:problem:{kind}", "retryable": retryable}).encode()


def test_an_answer_comes_whole_with_its_headers(driver, upstream, key):
    upstream.plan("/whole", {"status": 201, "body": "x" * 90_000, "headers": [["X-Mark", "a"]]})
    got = send_with(driver, "POST", upstream.url + "/whole?a=b", key, "body")
    assert (got["end"], got["status"], got["attempts"]) == ("success", 201, 1)
    assert got["body"] == "x" * 90_000
    assert ["X-Mark", "a"] in got["headers"]
    [request] = upstream.requests(f'"{key}"')
    assert (request["method"], request["target"]) == ("POST", "/whole?a=b")
    assert (request["body"], request["framing"]) == ("body", "length")


@pytest.mark.parametrize("framing", ["length", "chunked", "eof"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_every_framing_of_an_answer_is_read(driver, upstream, framing, method):
    upstream.plan("/framed", {"status": 200, "body": "the answer", "framing": framing})
    got = send_with(driver, method, upstream.url + "/framed")
    assert (got["end"], got["status"]) == ("success", 200)
    assert got["body"] == ("" if method == "HEAD" else "the answer")


@pytest.mark.parametrize("script", [
    [("rst",)],
    [("head",), ("rst",)],
    [*WHOLE, ("rst",)],
    [*WHOLE, ("fin",)],
    [*WHOLE, ("send", b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n12345"), ("fin",)],
    [*WHOLE, refusal(503, "Retry-After: 0\r\n")],
    [*WHOLE, refusal(429)],
    [*WHOLE, refusal(409, "Onceguard-Retry: same-key\r\n")],
    [*WHOLE, refusal(409, "Content-Type: application/problem+json\r\n",
                     problem("in-progress", True))],
], ids=["reset-at-once", "reset-after-the-head", "reset-after-the-request", "end-after-the-request",
        "half-an-answer", "503", "429", "409-same-key", "409-retryable"])
def test_the_same_request_is_sent_again_with_the_same_key(driver, scripted, key, script):
    server = scripted.add(*script)
    got = send_with(driver, "POST", server.url + "/orders", key, "body")
    assert (got["end"], got["status"], got["attempts"]) == ("success", 201, 2)
    assert set(server.whole) == {f'"{key}"'}


@pytest.mark.parametrize("answer", [
    refusal(409, "Onceguard-Retry: no\r\nContent-Type: application/problem+json\r\n",
            problem("outcome-unknown", False)),
    refusal(422, "Onceguard-Retry: new-key\r\n"),
    refusal(400),
    refusal(409),
    refusal(503, "Onceguard-Retry: no\r\n"),
], ids=["outcome-unknown", "new-key", "400", "409", "503-no"])
def test_a_final_answer_is_not_asked_for_again(driver, scripted, key, answer):
    server = scripted.add(*WHOLE, answer, always=True)
    got = send_with(driver, "POST", server.url + "/orders", key, "body")
    assert got["attempts"] == 1
    assert got["end"] == ("unknown" if b"outcome-unknown" in answer[1] else "refused")
    assert server.whole[f'"{key}"'] == 1


@pytest.mark.parametrize("step", [("rst",), ("fin",)], ids=["reset", "end"])
def test_a_post_without_a_key_that_was_sent_is_not_sent_again(driver, scripted, step):
    server = scripted.add(*WHOLE, step, always=True)
    got = send_with(driver, "POST", server.url + "/orders", "", "body")
    assert (got["end"], got["attempts"], got["sent"]) == ("unknown", 1, True)
    assert server.whole[None] == 1


@pytest.mark.parametrize("key", ["", "a-key"])
def test_a_refused_connection_is_tried_again_in_any_case(driver, key):
    port = Port()
    got = send_with(driver, "POST", f"http://127.0.0.1:{port.number}/", key, "body")
    port.close()
    assert (got["end"], got["attempts"], got["sent"]) == ("gave-up", 8, False)
    assert got["fault"]


def test_retry_after_is_waited_for(driver, scripted, key):
    server = scripted.add(*WHOLE, refusal(503, "Retry-After: 1\r\n"))
    watch = Stopwatch()
    got = send_with(driver, "POST", server.url + "/orders", key, "body")
    assert (got["end"], got["attempts"]) == ("success", 2)
    assert watch.seconds >= 1


def test_an_answer_before_the_end_of_the_request_counts(driver, scripted, key):
    server = scripted.add(("head",), refusal(413), ("rest",), ("fin",), always=True)
    got = send_with(driver, "POST", server.url + "/orders", key, "x" * 100_000)
    assert (got["end"], got["status"], got["attempts"]) == ("refused", 413, 1), got


def test_an_answer_that_is_too_long_is_not_asked_for_again(driver, upstream, key):
    upstream.plan("/long", {"size": 100_001})
    got = send_with(driver, "POST", upstream.url + "/long", key, "body")
    assert (got["end"], got["attempts"]) == ("refused", 1)
    assert "longer" in got["fault"]


class Created(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


@pytest.fixture
def tls_server(tmp_path):
    """Its port, and the file of its certificate, which is that of localhost."""
    proof, private = certificate(tmp_path, 1)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Created)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(proof, private)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1], proof
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_certificate_of_a_known_authority_is_trusted(driver, tls_server, key):
    port, proof = tls_server
    got = send_with(driver, "POST", f"https://localhost:{port}/", key, "body", proof)
    assert (got["end"], got["status"], got["body"]) == ("success", 201, "ok"), got


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"], ids=["authority", "host"])
def test_a_certificate_that_is_not_trusted_ends_it(driver, tls_server, key, host):
    port, proof = tls_server
    trusted = [proof] if host == "127.0.0.1" else []
    got = send_with(driver, "POST", f"https://{host}:{port}/", key, "body", *trusted)
    assert (got["end"], got["attempts"], got["sent"]) == ("refused", 1, False), got
