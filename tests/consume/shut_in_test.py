"""`onceguard consume` is shut in where it runs no command, and learns none while it runs."""

import signal

from support.consumer import settled
from support.shut_in import OPEN, SHUT_IN, status_of
from support.waiting import wait_until


def test_with_an_endpoint_it_is_and_refuses_a_command_later(consume, stream, own_upstream):
    consumer = consume(to=own_upstream.url)
    assert status_of(consumer.process.pid) == SHUT_IN
    stream.add("a", "m1")
    settled(consumer, 1)
    text = consumer.config.read_text()
    consumer.config.write_text(text.replace(f'to = "{own_upstream.url}"', 'command = ["cat"]'))
    consumer.process.send_signal(signal.SIGHUP)
    wait_until(lambda: consumer.events("reload-refused"), what="the refusal")
    assert consumer.events("command-refused")
    consumer.config.write_text(text)
    consumer.process.send_signal(signal.SIGHUP)
    wait_until(lambda: consumer.events("reloaded"), what="the reload")
    stream.add("b", "m2")
    settled(consumer, 2)
    assert own_upstream.runs("m1") == own_upstream.runs("m2") == 1


def test_with_a_command_it_is_not_and_says_so(consume, stream):
    consumer = consume(command=["true"])
    assert status_of(consumer.process.pid) == OPEN
    assert {one["part"] for one in consumer.events("not-shut-in")} == {"files", "calls"}
    stream.add("a", "m1")
    settled(consumer, 1)
