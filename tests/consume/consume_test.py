"""`onceguard consume`: from a stream of Redis to an endpoint or a command, once per message id."""

import base64
import hashlib
import hmac
import itertools
import json
import shutil
import signal
import socket

import pytest

from support.consumer import Consumer, Stream
from support.redis import Redis
from support.waiting import wait_until

COUNTER = itertools.count()


@pytest.fixture(scope="module")
def redis():
    running = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    yield running
    running.close()


@pytest.fixture
def stream(redis):
    return Stream(redis, f"stream-{next(COUNTER)}")


@pytest.fixture
def consume(onceguard, tmp_path, stream):
    made = []

    def begin(started=True, ready="broker-connected", store=None, **table):
        table = {"subscriber": "billing", "from": stream.url, "dead_letter": stream.dead_url,
                 "backoff": "100ms", "backoff_max": "200ms", "attempts": 3, **table}
        consumer = Consumer(onceguard, tmp_path, [table], store)
        made.append(consumer)
        return consumer.start(ready) if started else consumer

    yield begin
    for consumer in made:
        consumer.stop(signal.SIGKILL)


def settled(consumer, count):
    """Waits until so many deliveries are settled for good."""
    names = ("message", "message-unknown", "message-dead")

    def enough():
        return sum(len(consumer.events(name)) for name in names) >= count

    wait_until(enough, 30, f"{count} messages")


def outcomes(consumer):
    return [event["outcome"] for event in consumer.events()
            if event["event"].startswith("message") and "outcome" in event]


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
    assert (last["received"], last["handled"], last["duplicates"]) == (6, 3, 3)


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


def test_a_500_is_unknown_listed_and_never_sent_again(consume, stream, own_upstream):
    own_upstream.plan("/", {"status": 500})
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url)
    settled(consumer, 1)
    stream.add("x", "m1")
    settled(consumer, 2)
    assert own_upstream.runs("m1") == 1
    assert [event["event"] for event in consumer.events() if "outcome" in event] == [
        "message-unknown"] * 2
    assert consumer.stop() == 0
    listed = consumer.command("keys", "list", "--attention", "--json")
    assert json.loads(listed.stdout.splitlines()[0])["key"] == "m1", listed


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
    (request,) = own_upstream.arrived(1, key="m1")
    fields = {name.lower(): value for name, value in request["fields"]}
    signed = f"{fields['webhook-id']}.{fields['webhook-timestamp']}.".encode() + b'{"a": 1}'
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert fields["webhook-signature"] == "v1," + expected
    assert fields["webhook-id"] == "m1"


@pytest.mark.parametrize("rule, message, key", [
    ("header:event-id", {"event-id": "e1"}, "e1"),
    ("json:/event/id", {"payload": '{"event": {"id": "j1"}}'}, "j1"),
    ("json:/id", {"payload": '{"id": 17}'}, "17"),
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


SCRIPT = """
import os, sys
payload = sys.stdin.buffer.read()
with open("effects", "ab") as effects:
    effects.write(b"%s %s\\n" % (os.environb[b"ONCEGUARD_MESSAGE_ID"], payload))
sys.exit(int(payload.split(b"=")[1]))
"""


def test_a_command_says_by_its_exit_code_what_became_of_the_message(consume, stream, tmp_path):
    (tmp_path / "handle.py").write_text(SCRIPT)
    for code in (0, 75, 65, 1):
        stream.add(f"code={code}", f"m{code}")
    consumer = consume(command=["/usr/bin/python3", "handle.py"], attempts=2)
    settled(consumer, 4)
    wait_until(lambda: len(consumer.events("message-dead")) == 2, 30, "the dead ones")
    found = {event["message"]: event["outcome"] for event in consumer.events() if "outcome" in event}
    assert found == {"m0": "handled", "m75": "dead", "m65": "dead", "m1": "unknown"}
    lines = (tmp_path / "effects").read_text().splitlines()
    assert sorted(lines) == ["m0 code=0", "m1 code=1", "m65 code=65", "m75 code=75", "m75 code=75"]


def test_a_command_that_hangs_is_killed_and_unknown(consume, stream):
    stream.add("x", "m1")
    consumer = consume(command=["/bin/sleep", "1000"], timeout="300ms")
    settled(consumer, 1)
    (event,) = consumer.events("message-unknown")
    assert "timeout" in event["reason"]


def test_a_command_that_can_not_be_started_is_a_failed_attempt(consume, stream):
    stream.add("x", "m1")
    consumer = consume(command=["/no/such/program"])
    wait_until(lambda: consumer.events("message-dead"), 30, "the dead letter")
    assert "No such file" in consumer.events("message-dead")[0]["reason"]


def test_a_command_counts_although_the_parent_process_ignores_ended_children(consume, stream):
    stream.add("x", "m1")
    consumer = consume(command=["/bin/sh", "-c", "cat > /dev/null"], started=False)
    consumer.start(prefix=["/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"])
    settled(consumer, 1)
    assert outcomes(consumer) == ["handled"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_command_counts_where_the_kernel_has_no_descriptors_of_processes(consume, stream):
    stream.add("x", "m1")
    consumer = consume(command=["/bin/sh", "-c", "cat > /dev/null; exit 65"], started=False)
    consumer.start(prefix=["strace", "-Dfqqo", "/dev/null", "-e", "trace=pidfd_open",
                           "-e", "inject=pidfd_open:error=ENOSYS"])
    settled(consumer, 1)
    assert outcomes(consumer) == ["dead"]


def test_a_command_has_the_usual_signals_and_its_own_message(consume, stream, tmp_path):
    stream.add("x", "m1")
    script = "env > found; grep SigIgn /proc/self/status >> found"
    consumer = consume(command=["/bin/sh", "-c", script], started=False)
    consumer.start(prefix=["env", "ONCEGUARD_MESSAGE_ID=of another"])
    settled(consumer, 1)
    lines = (tmp_path / "found").read_text().splitlines()
    assert [line for line in lines if line.startswith("ONCEGUARD_MESSAGE_ID=")] == [
        "ONCEGUARD_MESSAGE_ID=m1"]
    ignored = int(lines[-1].split()[1], 16)
    for one in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD):
        assert not ignored >> (one - 1) & 1, f"{one!r} is ignored"


def test_an_endpoint_that_answers_and_does_not_read_is_heard(consume, stream):
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream.add("x" * (8 << 20), "m1")
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
    own_upstream.arrived(1)
    consumer.process.send_signal(signal.SIGTERM)
    wait_until(lambda: consumer.events("draining"), 30, "the drain")
    own_upstream.open("slow")
    assert consumer.stop() == 0
    assert outcomes(consumer) == ["handled"]
    own_upstream.plan("/", {"status": 201})
    consumer.start(ready=None)
    wait_until(lambda: outcomes(consumer).count("handled") == 5, 30, "the rest")
    assert len(own_upstream.requests()) == 5


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


def test_a_stream_that_is_missing_is_said_at_the_start(consume, stream, own_upstream):
    consumer = consume(to=own_upstream.url, ready=None,
                       **{"from": f"{stream.at}/{stream.name}?group=consumers"})
    assert consumer.process.wait(30) == 3
    assert "start-failed" in [event["event"] for event in consumer.events()]


def test_without_a_place_for_dead_letters_it_does_not_start(consume, stream, own_upstream):
    consumer = consume(to=own_upstream.url, ready=None, dead_letter="")
    assert consumer.process.wait(30) == 3


def test_without_a_consumer_in_the_configuration_it_ends(onceguard, tmp_path):
    consumer = Consumer(onceguard, tmp_path, [])
    refused = consumer.command("consume")
    assert refused.returncode == 3
    assert "[[consume]]" in refused.stderr
