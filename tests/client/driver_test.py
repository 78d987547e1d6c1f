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
    in_doubt = b"outcome-unknown" in answer[1] or b" 503 " in answer[1]
    assert got["end"] == ("unknown" if in_doubt else "refused")
    assert server.whole[f'"{key}"'] == 1


def refused(status, **fields):
    return {"status": status, "headers": [[name.replace("_", "-"), value]
                                          for name, value in fields.items()]}


@pytest.mark.parametrize("first", [{"drop": "body"}, refused(500), refused(503, Retry_After="0")],
                         ids=["broken", "500", "503"])
@pytest.mark.parametrize("last", [
    refused(401), refused(404), refused(400, Onceguard_Retry="no"),
    refused(422, Onceguard_Retry="new-key"), refused(308, Location="/else"),
], ids=["401", "404", "400-no", "new-key", "308"])
def test_nothing_is_refused_after_an_attempt_that_may_have_arrived(driver, upstream, key, first,
                                                                   last):
    upstream.plan("/" + key, first, last)
    got = send_with(driver, "POST", f"{upstream.url}/{key}", key, "body")
    assert (got["end"], got["attempts"]) == ("unknown", 2), got


def test_what_was_done_and_has_no_answer_is_done(driver, upstream, key):
    not_kept = refused(409, Onceguard_Retry="no", Content_Type="application/problem+json")
    not_kept["body"] = problem("answer-not-kept", False).decode()
    upstream.plan("/" + key, {"drop": "body"}, not_kept)
    got = send_with(driver, "POST", f"{upstream.url}/{key}", key, "body")
    assert (got["end"], got["attempts"]) == ("done", 2), got


@pytest.mark.parametrize("step", [("rst",), ("fin",)], ids=["reset", "end"])
def test_a_post_without_a_key_that_was_sent_is_not_sent_again(driver, scripted, step):
    server = scripted.add(*WHOLE, step, always=True)
    got = send_with(driver, "POST", server.url + "/orders", "", "body")
    assert (got["end"], got["attempts"], got["sent"]) == ("unknown", 1, True)
    assert server.whole[None] == 1


def test_a_post_without_a_key_needs_a_connection_of_its_own(driver, scripted):
    """On one that was used before, a library may send again by itself what found it closed."""
    server = scripted.add(*WHOLE, ("answer",), *WHOLE, ("fin",))
    got = send_with(driver, "POST", server.url + "/orders", "", "body", "", 1, 2)
    assert (got["end"], got["status"]) == ("success", 201)
    assert server.whole[None] == 2


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


@pytest.mark.parametrize("framing", ["length", "chunked", "eof"])
def test_an_answer_that_is_too_long_leaves_the_outcome_unknown_and_names_its_status(
        driver, upstream, key, framing):
    upstream.plan("/long", {"status": 201, "size": 100_001, "framing": framing})
    got = send_with(driver, "POST", upstream.url + "/long", key, "body")
    assert (got["end"], got["attempts"]) == ("unknown", 1)
    assert got["fault"] == "201 came, and its body is longer than 100000 bytes"


def test_interim_answers_come_before_the_one_that_counts(driver, scripted, key):
    server = scripted.add(*WHOLE, ("send", b"HTTP/1.1 103 Early\r\nX-Early: a\r\n\r\n" * 16),
                          ("answer",))
    got = send_with(driver, "POST", server.url + "/orders", key, "body")
    assert (got["end"], got["status"], got["attempts"]) == ("success", 201, 1)
    assert "X-Early" not in [name for name, _ in got["headers"]]


def test_more_than_16_interim_answers_are_no_answer(driver, scripted, key):
    server = scripted.add(*WHOLE, ("send", b"HTTP/1.1 103 Early\r\n\r\n" * 17), ("stall",),
                          always=True)
    got = send_with(driver, "POST", server.url + "/orders", key, "body")
    assert (got["end"], got["attempts"], got["sent"]) == ("gave-up", 8, True)
    assert got["fault"] == "more than 16 answers of 1xx came, and no other"


def test_an_answer_without_an_end_ends_with_the_limit_of_the_attempt(driver, scripted, key):
    head = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
    server = scripted.add(*WHOLE, ("send", head), ("drip", b"1\r\nx\r\n"))
    watch = Stopwatch()
    got = send_with(driver, "POST", server.url + "/orders", key, "body", "", 1)
    assert (got["end"], got["attempts"], got["sent"]) == ("gave-up", 1, True)
    assert "in time" in got["fault"] or "timed out" in got["fault"]
    assert 5 <= watch.seconds < 25  # and not the usual 30


def test_a_look_up_that_hangs_ends_with_the_limit_of_the_attempt(driver, names, key):
    names.add("slow.test", hangs=True)
    watch = Stopwatch()
    got = send_with(driver, "POST", "http://slow.test:1/", key, "body", "", 1,
                    environment=names.environment)
    assert (got["end"], got["attempts"], got["sent"]) == ("gave-up", 1, False)
    assert names.look_ups("slow.test") >= 1
    assert 5 <= watch.seconds < 25  # and not the usual 30


def test_a_name_is_looked_up(driver, names, upstream, key):
    names.add("shop.test")
    url = upstream.url.replace("127.0.0.1", "shop.test")
    got = send_with(driver, "POST", url + "/orders", key, "body", environment=names.environment)
    assert (got["end"], got["attempts"]) == ("success", 1), got
    assert names.look_ups("shop.test") >= 1


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
