"""What a command writes is part of the log: lines that say whose they are."""

import json
import sys

from support.consumer import settled
from support.waiting import wait_until


def lines_of(consumer, message):
    return [event["line"] for event in consumer.events("handler-output")
            if event["message"] == message]


def command(code):
    return [sys.executable, "-c", code]


def test_each_line_is_an_event_that_names_subscriber_and_message(consume, stream):
    consumer = consume(command=command(
        "import sys; print('paid \\x1b[31m{\"event\":\"listening\"}'); "
        "print('to the error stream', file=sys.stderr); print('no end', end='')"))
    stream.add("x", "m1")
    settled(consumer, 1)
    wait_until(lambda: len(lines_of(consumer, "m1")) == 3, 30, "the lines")
    assert set(lines_of(consumer, "m1")) == {
        'paid \x1b[31m{"event":"listening"}', "to the error stream", "no end"}
    for event in consumer.events("handler-output"):
        assert (event["subscriber"], event["attempt"]) == ("billing", 1)
    assert consumer.stop() == 0
    for line in (consumer.folder / "log").read_bytes().splitlines():
        json.loads(line)
    assert consumer.events("listening") == []


def test_lines_are_bounded_in_length_and_number(consume, stream):
    consumer = consume(command=command(
        "import os; os.write(1, b'x' * 300000 + b'\\n'); "
        "[print('line', n) for n in range(5000)]"))
    stream.add("x", "m1")
    settled(consumer, 1)
    wait_until(lambda: consumer.events("handler-output-cut"), 30, "the last line")
    lines = lines_of(consumer, "m1")
    assert len(lines) == 200 and lines[0] == "x" * 2048
    [cut] = consumer.events("handler-output-cut")
    assert cut["message"] == "m1" and cut["bytes"] > 300000 - 2048


def test_what_a_command_leaves_running_can_write_on(consume, stream, tmp_path):
    consumer = consume(command=[
        "/bin/sh", "-c", "(trap 'echo pipe > broken' PIPE; while [ ! -e go ]; do sleep 0.02; done; "
        "echo late; touch written) &"])
    stream.add("x", "m1")
    settled(consumer, 1)
    (tmp_path / "go").touch()
    wait_until(lambda: (tmp_path / "written").exists(), 30, "the one left behind")
    wait_until(lambda: lines_of(consumer, "m1") == ["late"], 30, "its line")
    assert not (tmp_path / "broken").exists()
