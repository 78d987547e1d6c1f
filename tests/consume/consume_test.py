"""`onceguard consume`: from a stream of Redis to an endpoint, once per message id."""

import base64
import hashlib
import hmac
import http.server
import json
import signal
import socket
import threading
import urllib.error
import urllib.request

import pytest

from support.consumer import Consumer, Stream, outcomes, settled
from support.waiting import wait_until


def test_each_message_is_posted_once_with_its_id(consume, stream, own_upstream):
    for number in range(3):
        for _ in range(2):
            stream.add(f"payload {number}", f"m{number}", content_type="text/plain")
    consumer = consume(to=own_upstream.url + "/events?x=1")
    settled(consumer, 6)
    requests = own_upstream.requests()
    assert sorted(request["key"] for request in requests) == ["m0", "m1", "m2"]
    assert {request["target"] for request in requests} == {"/events?x=1"}
    assert sorted(outcomes(consumer)) == ["duplicate"] * 3 + ["handled"] * 3
    assert stream.pending() == 0
    assert consumer.stop() == 0
    (last,) = consumer.events("consumed")
    assert (last["handled"], last["duplicates"]) == (3, 3)
    assert last["received"] >= 6, "a busy one comes again"


def test_a_restart_remembers_what_was_handled(consume, stream, own_upstream):
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    assert consumer.stop() == 0
    stream.add("x", "m1")
    consumer.start()
    settled(consumer, 2)
    assert outcomes(consumer) == ["handled", "duplicate"]
    assert own_upstream.runs("m1") == 1


def test_a_refusal_is_tried_again_and_ends_among_the_dead_letters(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 404})
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    assert own_upstream.runs("m1") == 3
    assert len(consumer.events("message-failed")) == 2
    (dead,) = consumer.events("message-dead")
    assert "404" in dead["reason"]
    assert b"onceguard-reason" in stream.dead() and b"404" in stream.dead()
    assert stream.pending() == 0


def test_a_message_that_failed_at_first_is_handled_later(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 503}, {"status": 201})
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    wait_until(lambda: "handled" in outcomes(consumer), 30, "the message")
    assert own_upstream.runs("m1") == 2
    keys = {request["key"] for request in own_upstream.requests()}
    assert keys == {"m1"}, "the same key in each attempt"


@pytest.mark.parametrize("plan", [{"status": 500}, {"status": 502}, {"status": 504},
                                  {"status": 101},
                                  {"drop": "head"}, {"drop": "half"}])
def test_what_may_have_happened_is_listed_and_never_sent_again(consume, stream, own_upstream,
                                                               plan):
    own_upstream.plan("/", plan)
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    stream.add("x", "m1")
    settled(consumer, 2)
    assert len(own_upstream.requests()) == 1
    assert [event["event"] for event in consumer.events() if "outcome" in event] == [
        "message-unknown"] * 2
    assert consumer.stop() == 0
    listed = consumer.command("keys", "list", "--attention", "--json")
    assert json.loads(listed.stdout.splitlines()[0])["key"] == "m1", listed


def test_a_redirection_is_followed_by_nobody(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 302, "headers": [["Location", "/elsewhere"]]})
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url, attempts=2)
    settled(consumer, 1)
    assert outcomes(consumer) == ["dead"]


def test_outcome_says_otherwise_for_a_status(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 500}, {"status": 201})
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url, outcome={"5xx": "release"})
    wait_until(lambda: "handled" in outcomes(consumer), 30, "the message")
    assert own_upstream.runs("m1") == 2


def test_without_an_endpoint_nothing_is_lost(consume, stream, own_upstream):
    own_upstream.refuse()
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url, attempts=1000)
    wait_until(lambda: consumer.events("message-failed"), 30, "a failed attempt")
    own_upstream.listen()
    wait_until(lambda: "handled" in outcomes(consumer), 30, "the message")
    assert own_upstream.runs("m1") == 1


def test_poison_messages_block_nobody(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 400})
    consumer = consume(to=own_upstream.url, concurrency=1)
    for number in range(20):
        stream.add("x", f"m{number}")
    settled(consumer, 20)
    assert {event["message"] for event in consumer.events("message-dead")} == {
        f"m{number}" for number in range(20)}
    own_upstream.plan("/", {"status": 200})
    stream.add("x", "good")
    wait_until(lambda: "handled" in outcomes(consumer), 30, "the good message")


def test_requests_are_signed_as_standard_webhooks_has_it(consume, stream, own_upstream, tmp_path):
    secret = b"0123456789abcdef01234567"
    (tmp_path / "secret").write_text("whsec_" + base64.b64encode(secret).decode() + "\n")
    stream.add('{"a": 1}', "m1")
    consume(to=own_upstream.url, secret_file=str(tmp_path / "secret"))
    (request,) = own_upstream.arrived(1, key="m1", timeout=60)
    fields = {name.lower(): value for name, value in request["fields"]}
    signed = f"{fields['webhook-id']}.{fields['webhook-timestamp']}.".encode() + b'{"a": 1}'
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert fields["webhook-signature"] == "v1," + expected
    assert fields["webhook-id"] == "m1"


@pytest.mark.parametrize("rule, message, key", [
    ("header:event-id", {"event-id": "e1"}, "e1"),
    ("json:/event/id", {"payload": '{"event": {"id": "j1"}}'}, "j1"),
    ("json:/id", {"payload": '{"id": 17}'}, "17"),
    ("json:/id", {"payload": '{"id": 9007199254740993}'}, "9007199254740993"),
    ("body-hash", {"payload": "same"}, hashlib.sha256(b"same").hexdigest()),
])
def test_the_id_stands_where_the_rule_says(consume, stream, own_upstream, rule, message, key):
    for _ in range(2):
        rest = dict(message)
        stream.add(rest.pop("payload", "x"), None, **rest)
    consumer = consume(to=own_upstream.url, id=rule)
    settled(consumer, 2)
    assert [request["key"] for request in own_upstream.requests()] == [key]
    assert bool(consumer.events("configuration")) == (rule == "body-hash")


def test_a_message_without_an_id_is_dead(consume, stream, own_upstream):
    stream.add("x")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    (dead,) = consumer.events("message-dead")
    assert "id" in dead["reason"]
    assert own_upstream.requests() == []
    assert b"payload" in stream.dead()


def test_the_id_of_another_message_is_dead_unless_only_ids_count(consume, stream, own_upstream):
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    stream.add("y", "m1")
    settled(consumer, 2)
    assert outcomes(consumer) == ["handled", "reused"]
    assert own_upstream.runs("m1") == 1


def test_metrics_and_readiness_of_each_subscriber(onceguard, redis, own_upstream, tmp_path):
    streams = [Stream(redis, f"numbers-{name}") for name in ("a", "b")]
    tables = [{"subscriber": stream.name, "from": stream.url, "dead_letter": "drop",
               "to": own_upstream.url} for stream in streams]
    consumer = Consumer(onceguard, tmp_path, tables, gateway={"admin": "127.0.0.1:0"})
    streams[0].add("x", "m1")
    streams[0].add("x", "m1")
    streams[1].add("x")
    try:
        consumer.start()
        settled(consumer, 3)
        (listening,) = consumer.events("admin-listening")
        at = "http://" + listening["address"]

        def metrics():
            return urllib.request.urlopen(at + "/metrics", timeout=60).read().decode()

        connected = 'onceguard_broker_up{subscriber="numbers-a"} 1'
        wait_until(lambda: connected in metrics().splitlines(), 30)
        text = metrics()
        for line in ('onceguard_messages_received_total{subscriber="numbers-b"} 1',
                     'onceguard_messages_total{subscriber="numbers-a",outcome="handled"} 1',
                     'onceguard_messages_total{subscriber="numbers-a",outcome="duplicate"} 1',
                     'onceguard_messages_total{subscriber="numbers-b",outcome="dead"} 1',
                     'onceguard_messages_dead_lettered_total{subscriber="numbers-b"} 1',
                     "onceguard_store_up 1"):
            assert line in text.splitlines(), line
        assert 'onceguard_messages_backlog{subscriber="numbers-a"} ' in text
        assert urllib.request.urlopen(at + "/readyz", timeout=60).status == 200
        redis.crash()
        try:
            wait_until(lambda: consumer.events("broker-away"), 30)
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(at + "/readyz", timeout=60)
        finally:
            redis.start()
    finally:
        consumer.stop()


def test_an_endpoint_that_answers_and_does_not_read_has_answered(consume, stream):
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream.add("x" * (5 << 20), "m1")
        consumer = consume(to=f"http://127.0.0.1:{server.getsockname()[1]}/", attempts=1)
        line, _ = server.accept()
        line.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        settled(consumer, 1)
        line.close()
    assert outcomes(consumer) == ["dead"]


@pytest.mark.parametrize("message_id", [b"m\r\nX-Injected: yes", b" m\n", b"\x00", b"\xff\x1b[2J"])
def test_an_id_of_any_bytes_injects_nothing(consume, stream, own_upstream, tmp_path, message_id):
    stream.add("x", message_id, content_type=b"text/plain\r\nX-Injected: yes")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    assert outcomes(consumer) == ["handled"]
    (request,) = own_upstream.requests()
    fields = {name.lower(): value for name, value in request["fields"]}
    assert "x-injected" not in fields
    assert fields["content-type"] == "application/octet-stream"
    assert request["key"] and request["key"].isprintable() and " " not in request["key"]
    log = (tmp_path / "log").read_bytes()
    assert not any(byte < 32 and byte != 10 for byte in log)
    assert all(line.startswith(b"{") for line in log.splitlines())


def test_sigterm_finishes_what_runs_and_gives_back_the_rest(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 201, "gate": "slow"})
    for number in range(5):
        stream.add("x", f"m{number}")
    consumer = consume(to=own_upstream.url, concurrency=1)
    own_upstream.arrived(1, timeout=60)
    consumer.process.send_signal(signal.SIGTERM)
    wait_until(lambda: consumer.events("draining"), 30, "the drain")
    own_upstream.open("slow")
    assert consumer.stop() == 0
    assert outcomes(consumer) == ["handled"]
    own_upstream.plan("/", {"status": 201})
    consumer.start(ready=None)
    wait_until(lambda: outcomes(consumer).count("handled") == 5, 30, "the rest")
    assert len(own_upstream.requests()) == 5


def test_a_second_sigint_does_not_wait(consume, stream, own_upstream):
    own_upstream.plan("/", {"gate": "never"})
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    own_upstream.arrived(1, timeout=60)
    consumer.process.send_signal(signal.SIGINT)
    wait_until(lambda: consumer.events("draining"), 30, "the drain")
    consumer.process.send_signal(signal.SIGTERM)  # of which the first one is enough
    consumer.process.send_signal(signal.SIGINT)
    assert consumer.process.wait(60) == 1
    assert len(consumer.events("draining")) == len(consumer.events("stopped-early")) == 1


def test_it_waits_for_a_broker_and_a_store_that_are_away(consume, stream, redis, own_upstream):
    redis.crash()
    try:
        consumer = consume(to=own_upstream.url, ready="broker-away")
    finally:
        redis.start()
    wait_until(lambda: consumer.events("broker-connected"), 30, "the broker")
    stream.add("x", "m1")
    wait_until(lambda: "handled" in outcomes(consumer), 30, "the message")


@pytest.mark.parametrize("table, words", [
    ({"to": "ftp://x"}, "to: "),
    ({"to": "http://127.0.0.1:1", "command": ["x"]}, "both to and command"),
    ({}, "needs to, or command"),
    ({"to": "http://127.0.0.1:1", "from": "ampq://127.0.0.1/x"}, "no broker has the scheme ampq"),
    ({"to": "http://127.0.0.1:1", "from": "redis://:pw@127.0.0.1/x"}, "from: "),
    ({"to": "http://127.0.0.1:1", "id": "nothing"}, "id: expected"),
    ({"to": "http://127.0.0.1:1", "id": "json:x"}, "begins with a slash"),
    ({"to": "http://127.0.0.1:1", "subscriber": "a b"}, "subscriber: "),
    ({"to": "http://127.0.0.1:1", "attempts": 0}, "attempts: "),
    ({"to": "http://127.0.0.1:1", "retention": "1s", "backoff": "10s", "backoff_max": "10s"},
     "retention: must exceed 20s"),
    ({"to": "http://127.0.0.1:1", "atempts": 1}, "did you mean"),
])
def test_what_can_not_be_is_refused_with_its_place(consume, table, words):
    consumer = consume(started=False, **table)
    refused = consumer.command("consume")
    assert refused.returncode == 3, refused
    assert words in refused.stderr
    assert "onceguard.toml:" in refused.stderr
    assert ":pw@" not in refused.stderr


def test_without_a_place_for_dead_letters_it_does_not_start(consume, stream, own_upstream):
    consumer = consume(to=own_upstream.url, ready=None, dead_letter="")
    assert consumer.process.wait(60) == 3


class FakeQueue(http.server.BaseHTTPRequestHandler):
    """Amazon SQS, as far as it says how long it may deliver a message again: four days."""

    def do_POST(self):
        attributes = {"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600",
                      "MaximumMessageSize": "1048576"}
        wanted = self.headers["X-Amz-Target"].endswith("GetQueueUrl")
        body = json.dumps({"QueueUrl": "http://queue"} if wanted
                          else {"Attributes": attributes}).encode()
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_an_inbox_that_forgets_before_the_broker_does_not_start(consume, own_upstream):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeQueue) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        queue = f"sqs://us-east-1/orders?endpoint=http://127.0.0.1:{server.server_port}"
        consumer = consume(to=own_upstream.url, retention="1h", started=False,
                           **{"from": queue})
        consumer.start(ready=None, env={"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
        assert consumer.process.wait(60) == 3
        server.shutdown()
    assert "the retention of the inbox must exceed the 345600 seconds" in json.dumps(
        consumer.events("start-failed"))


def test_without_a_consumer_in_the_configuration_it_ends(onceguard, tmp_path):
    consumer = Consumer(onceguard, tmp_path, [])
    refused = consumer.command("consume")
    assert refused.returncode == 3
    assert "[[consume]]" in refused.stderr
