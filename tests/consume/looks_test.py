"""Who only looks at the dead letters uses up no delivery that the broker allows."""

import json
import signal

import pytest

from support.admin import Admin
from support.brokers import NatsQueues, RabbitQueues, RedisQueues
from support.consumer import Consumer, settled
from support.waiting import wait_until

VIEWER = "viewer-token-00002"
PATH = "/api/workers/billing/messages"


@pytest.fixture
def lying(onceguard, tmp_path, queues, own_upstream):
    """A consumer with a page, and two dead letters; its listener."""
    admin = Admin("operator-token-0001")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"operator operator-token-0001 alice\nviewer {VIEWER} bob\n")
    tokens.chmod(0o600)
    consumer = Consumer(onceguard, tmp_path, [
        {"subscriber": "billing", "to": own_upstream.url, "attempts": 1, **queues.tables}],
        gateway={"admin": admin.text, "admin_token_file": str(tokens),
                 "audit_log": str(tmp_path / "audit")})
    consumer.start()
    own_upstream.plan("/", {"status": 404})
    for count, key in enumerate(("m1", "m2"), 1):
        queues.send("x", key)
        settled(consumer, count)
    admin.consumer = consumer
    yield admin
    consumer.stop(signal.SIGKILL)
    admin.close()


def deliveries(queues):
    """Of the dead letters, as the broker counts them. May be asked once in a test."""
    if isinstance(queues, NatsQueues):
        return queues.server.api(f"CONSUMER.INFO.{queues.name}-dead.billing",
                                 {})["delivered"]["consumer_seq"]
    found = 0
    while True:
        method, properties, _ = queues.channel.basic_get(queues.name + ".dead")
        if method is None:
            return found
        found += (properties.headers or {}).get("x-delivery-count", int(method.redelivered))


def keys_of(answer):
    assert answer.status == 200, answer.body
    return sorted(one["key"] for one in answer.json()["messages"])


def test_a_viewer_uses_up_no_delivery(lying, queues):
    first = lying.get(PATH, token=VIEWER)
    for _ in range(6):
        seen = lying.get(PATH, token=VIEWER).json()
        assert seen["faults"] == []
    if isinstance(queues, RedisQueues):  # whose groups have no limit
        assert not seen["counted"] and keys_of(first) == ["m1", "m2"]
        return
    assert seen["counted"] and seen["messages"] == [] and "looked_at" not in seen
    assert lying.post(PATH + "/look", {}, token=VIEWER).status == 403
    assert deliveries(queues) == 0


def test_an_operators_look_is_written_and_serves_everybody(lying, queues, tmp_path):
    assert lying.post(PATH + "/look", {"why": "x"}).status == 422
    assert lying.post("/api/workers/other/messages/look", {}).status == 404
    looked = lying.post(PATH + "/look", {"reason": "a complaint"})
    assert keys_of(looked) == ["m1", "m2"]
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [(one["stage"], one["action"], one["who"], one["key"], one["why"])
            for one in lines] == [("intended", "look", "alice", "billing", "a complaint"),
                                  ("done", "look", "alice", "billing", "a complaint")]
    for _ in range(4):
        assert keys_of(lying.get(PATH, token=VIEWER)) == ["m1", "m2"]
    if isinstance(queues, (RabbitQueues, NatsQueues)):
        assert deliveries(queues) == 2


def test_after_an_act_what_is_left_needs_no_look(lying):
    seen = {one["key"]: one for one in lying.post(PATH + "/look", {}).json()["messages"]}
    wanted = {name: seen["m1"][name] for name in ("message", "state", "token")}
    dropped = lying.post(PATH + "/drop", {"reason": "paid by hand", "messages": [wanted],
                                          "dry_run": False}).json()
    assert [one["outcome"] for one in dropped["messages"]] == ["done"], dropped
    assert keys_of(lying.get(PATH, token=VIEWER)) == ["m2"]


def reload(lying, *change):
    """The process reads its configuration again, with a change in its text."""
    consumer = lying.consumer
    consumer.config.write_text(consumer.config.read_text().replace(*change))
    before = len(consumer.events("reloaded"))
    consumer.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(consumer.events("reloaded")) > before, 30, "the reload")
    wait_until(lying.is_ready, 30, "the listener")


def test_a_look_outlasts_a_reload(lying, queues):
    lying.post(PATH + "/look", {})
    looked = lying.get(PATH).json().get("looked_at")
    reload(lying, "attempts = 1", "attempts = 2")
    now = lying.get(PATH, token=VIEWER)
    assert keys_of(now) == ["m1", "m2"]
    if not isinstance(queues, RedisQueues):
        assert now.json()["looked_at"] == looked is not None


def other_dead_letters(queues):
    """The end of the names of another queue of dead letters."""
    if isinstance(queues, RabbitQueues):
        queues.channel.queue_declare(queues.name + ".other", durable=True)
        return ".other"
    if isinstance(queues, NatsQueues):
        queues.server.add_stream(queues.name + "-other")
        queues.server.add_consumer(queues.name + "-other", "billing")
    return "-other"


def test_of_another_queue_nobody_has_looked(lying, queues):
    lying.post(PATH + "/look", {})
    other = other_dead_letters(queues)
    reload(lying, f"{queues.name}{other[0]}dead", queues.name + other)
    now = lying.get(PATH, token=VIEWER).json()
    assert now["faults"] == now["messages"] == []
    if not isinstance(queues, RedisQueues):  # which is read by whoever asks
        assert "looked_at" not in now
