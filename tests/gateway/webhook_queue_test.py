"""Webhooks that are answered at once: durable in a queue first, and worked on behind the answer."""

import hashlib
import hmac
import json
import signal
import time
import uuid

import pytest

from support.client import all_at_once, request_bytes
from support.consumer import Consumer, Stream
from support.expecting import assert_problem, assert_replay_of
from support.redis import Redis
from support.waiting import wait_until

SECRET = "a secret"
OWN = {"name": "own", "id": ["header:X-Id"], "signature": "header:X-Own", "signed": "{id}.{body}",
       "queued_headers": ["X-Kind"], "accepted_status": 202, "accepted_type": "text/plain",
       "accepted_body": "[accepted]"}


def mark_of(text):
    return hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()


def github(name, body=b'{"amount":1}', kind="push"):
    return body, [("X-GitHub-Delivery", name), ("X-GitHub-Event", kind),
                  ("Authorization", "Bearer secret"),
                  ("X-Hub-Signature-256", f"sha256={mark_of(body)}")]


def slack(body):
    text, now = json.dumps(body).encode(), str(int(time.time()))
    mark = mark_of(f"v0:{now}:".encode() + text)
    return text, [("X-Slack-Request-Timestamp", now), ("X-Slack-Signature", f"v0={mark}")]


def new_name():
    return str(uuid.uuid4())


@pytest.fixture(scope="module")
def broker():
    running = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    yield running
    running.close()


@pytest.fixture
def queue(broker):
    return Stream(broker, f"stream-{new_name()}")


@pytest.fixture
def begin(start_gateway, upstream, tmp_path):
    """Starts a gateway whose deliveries go to the queue."""
    def start(queue, webhook=(OWN,), **more):
        (tmp_path / "secret").write_text(SECRET)
        routes = [{"path": f"/{sender}", "webhook": sender, "upstream_timeout": "20s",
                   "webhook_secret_file": str(tmp_path / "secret"),
                   "webhook_queue": f"{queue.at}/{queue.name}", **more}
                  for sender in ("github", "slack", "own")]
        return start_gateway(upstream, {"webhook": list(webhook), "route": routes})
    return start


def post(gateway, sender, delivery):
    body, fields = delivery
    return gateway.post(f"/{sender}", body=body, fields=fields)


def length(queue):
    return int(queue.command("XLEN", queue.name)[1:])


def entries(queue):
    return queue.command("XRANGE", queue.name, "-", "+")


def test_a_delivery_is_answered_at_once_and_stands_in_the_queue_once(begin, queue, upstream):
    gateway, name = begin(queue), new_name()
    first = post(gateway, "github", github(name))
    assert (first.status, first.body) == (200, b"")
    assert_replay_of(post(gateway, "github", github(name)), first)
    assert length(queue) == 1
    entry = entries(queue)
    for word in (name.encode(), b'{"amount":1}', b"push", b"application/json"):
        assert b"\r\n" + word + b"\r\n" in entry, entry
    assert b"Bearer" not in entry and SECRET.encode() not in entry
    assert upstream.runs(f'"{name}"') == 0
    assert_problem(post(gateway, "github", github(name, b"{}")), 422, "key-reused", False)


def test_what_is_not_signed_does_not_reach_the_queue(begin, queue):
    gateway = begin(queue)
    body, fields = github(new_name())
    answer = gateway.post("/github", body=body + b" ", fields=fields)
    assert_problem(answer, 403, "signature-invalid", False)
    assert length(queue) == 0


def test_the_answer_is_the_one_that_the_sender_expects(begin, queue):
    gateway, name = begin(queue), new_name()
    fields = [("X-Id", name), ("X-Own", mark_of(name.encode() + b".x")), ("X-Kind", "odd")]
    answer = gateway.post("/own", body=b"x", fields=fields)
    assert (answer.status, answer.body, answer.get("Content-Type")) == (
        202, b"[accepted]", "text/plain")
    assert b"odd" in entries(queue)


def test_the_check_of_a_new_address_is_answered_and_not_published(begin, queue):
    gateway = begin(queue)
    answer = post(gateway, "slack", slack({"type": "url_verification", "challenge": "3eZbrw"}))
    assert (answer.status, answer.body) == (200, b"3eZbrw")
    assert post(gateway, "slack", slack({"event_id": "Ev1"})).status == 200
    assert length(queue) == 1


def test_while_the_queue_is_away_nothing_is_accepted_and_a_retry_is(begin):
    broker = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    queue = Stream(broker, "orders")
    try:
        gateway, name = begin(queue), new_name()
        assert post(gateway, "github", github(new_name())).status == 200
        broker.stop()
        # Over the connection that broke, the first may have been sent.
        for problem in ("upstream-broken", "upstream-unreachable"):
            assert_problem(post(gateway, "github", github(name)), 502, problem, True)
        assert gateway.state(name) != "completed"
        event = gateway.logged("upstream-unreachable")[0]
        assert event["upstream"] == "webhook_queue"
        broker.start()
        assert post(gateway, "github", github(name)).status == 200
        assert length(queue) == 2
    finally:
        broker.close()


def test_a_queue_that_stalls_holds_up_nobody_for_ever(begin):
    broker = Redis().start()
    try:
        gateway, name = begin(Stream(broker, "orders"), upstream_timeout="1s"), new_name()
        broker.process.send_signal(signal.SIGSTOP)
        late = post(gateway, "github", github(name))
        assert_problem(late, 504, "upstream-timeout", True)
        assert b"othing was sent" not in late.body
        assert gateway.get("/other").status == 201  # of the upstream
        broker.process.send_signal(signal.SIGCONT)
        wait_until(lambda: post(gateway, "github", github(name)).status == 200, 30, "the queue")
        broker.process.send_signal(signal.SIGSTOP)
        assert gateway.stop() == 0
    finally:
        broker.process.send_signal(signal.SIGCONT)
        broker.close()


def test_many_at_once_are_each_published_once(begin, queue):
    gateway = begin(queue)
    names = [new_name() for _ in range(60)]

    def request(name):
        body, fields = github(name)
        fields = [("Content-Type", "application/json")] + fields
        return request_bytes("POST", "/github", fields, body)

    answers = all_at_once(gateway.address, [request(name) for name in names * 2])
    assert {answer.status for answer in answers} <= {200, 409}
    for name in names:
        assert post(gateway, "github", github(name)).status == 200
    assert length(queue) == len(names)


def test_the_work_is_done_behind_the_answer_until_it_succeeds(begin, queue, own_upstream,
                                                              onceguard, tmp_path):
    gateway, name = begin(queue), new_name()
    assert post(gateway, "github", github(name)).status == 200
    own_upstream.plan("/work", {"status": 503, "effect": False}, {"status": 204})
    consumer = Consumer(onceguard, tmp_path, [{
        "subscriber": "hooks", "from": queue.url, "dead_letter": queue.dead_url,
        "to": own_upstream.url + "/work", "headers": ["X-GitHub-Event", "X-Nothing"],
        "backoff": "100ms"}]).start()
    try:
        assert post(gateway, "github", github(name)).status == 200
        wait_until(lambda: len(own_upstream.requests(name)) == 2, 30, "the second attempt")
        for request in own_upstream.requests(name):
            fields = {field.lower(): value for field, value in request["fields"]}
            assert fields["x-github-event"] == "push"
            assert fields["content-type"] == "application/json"
            assert "x-nothing" not in fields
        wait_until(lambda: queue.pending() == 0, 30, "the acknowledgement")
    finally:
        assert consumer.stop() == 0


@pytest.mark.parametrize("line, fault", [
    ('webhook_queue = "redis://ada:hidden@127.0.0.1/x"',
     ":5:17: [[route]] webhook_queue: only with"),
    ('webhook = "github"\nwebhook_secret_file = "FILE"\nwebhook_queue = "ftp://ada:hidden@h/x"',
     ":7:17: [[route]] webhook_queue: "),
    ('webhook = "github"\nwebhook_secret_file = "FILE"\nwebhook_queue = "redis://h/x"\n'
     'unknown = "probe"\nprobe = "http://127.0.0.1:1/{scope}/{key}"',
     ":8:11: [[route]] unknown: no"),
])
def test_check_says_what_is_wrong(start_gateway, upstream, tmp_path, line, fault):
    gateway = start_gateway(upstream, started=False)
    (tmp_path / "secret").write_text(SECRET)
    file = tmp_path / "config.toml"
    file.write_text('[[upstream]]\nname = "a"\nurl = "http://127.0.0.1:1"\n[[route]]\n'
                    + line.replace("FILE", str(tmp_path / "secret")) + "\n")
    ended = gateway.command("check", "--config", str(file))
    said = ended.stdout + ended.stderr
    assert ended.returncode == 3, ended
    assert fault in said, said
    assert "hidden" not in said
