"""`onceguard messages` loses no message, whatever ends it, and however often it is called."""

import subprocess

from support.brokers import listed, message
from support.consumer import settled
from support.gateway import clean_environment
from support.waiting import wait_until


def test_a_retry_that_is_killed_amid_the_attempt_neither_loses_nor_doubles(
        billing, queues, own_upstream, onceguard):
    own_upstream.plan("/", {"status": 500}, {"gate": "never"}, {"status": 200})
    queues.send("x", "m1")
    consumer = billing(lease="3s", **queues.box_of_short_holds())
    settled(consumer, 1)
    retry = subprocess.Popen([onceguard, "messages", "retry", "m1", "--config", consumer.config],
                             env=clean_environment(), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    wait_until(lambda: own_upstream.runs("m1") == 2, 30, "the attempt")
    retry.kill()
    retry.wait(60)
    own_upstream.open("never")
    wait_until(lambda: [one["state"] for one in listed(consumer)] == ["unknown"], 30, "the letter")
    assert own_upstream.runs("m1") == 2, "nothing runs by itself"
    # This attempt is to end by itself, also on a busy machine.
    consumer.config.write_text(consumer.config.read_text().replace('"3s"', '"60s"'))
    code, said = message(consumer, "retry", "m1")
    assert code == 0 and own_upstream.runs("m1") == 3, said


def test_a_retry_that_is_killed_before_the_attempt_loses_nothing(billing, queues, own_upstream):
    """The key is free then, and the message still lies there."""
    own_upstream.plan("/", {"status": 500}, {"status": 200})
    queues.send("x", "m1")
    consumer = billing()
    settled(consumer, 1)
    freed = consumer.command("keys", "release", "m1", "--reason", "as the killed one")
    assert freed.returncode == 0, freed
    assert [one["state"] for one in listed(consumer)] == ["free"]
    code, said = message(consumer, "retry", "m1")
    assert code == 0 and own_upstream.runs("m1") == 2, said
    assert listed(consumer) == []


def test_looking_often_loses_nothing(billing, queues, own_upstream):
    """A broker may drop what is given back too often."""
    own_upstream.plan("/", {"status": 404})
    queues.send("x", "m1")
    queues.send("y")
    consumer = billing()
    settled(consumer, 2)
    for _ in range(2 * getattr(queues, "limit", 2)):
        assert sorted(one["state"] for one in listed(consumer)) == ["dead", "keyless"]
