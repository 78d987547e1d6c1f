"""Whoever reads the log, or does not, has no say in the gateway's life."""

import contextlib
import fcntl
import json
import os
import signal
import struct
import termios

import pytest

from support.expecting import assert_first
from support.waiting import Stopwatch, wait_until

PAGE = 4096  # the least that a pipe holds
END = 24  # seconds; an idle gateway and the second for its log, and not the drain of 25 s


@contextlib.contextmanager
def pipe():
    """A pipe of a page: its two ends, closed in the end."""
    ends = list(os.pipe())
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PAGE)
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


def fill(gateway, reader):
    """Lines that anybody can cause, until one finds no room in the pipe, and for a second more."""
    unchanged = Stopwatch()
    before = -1

    def full():
        nonlocal unchanged, before
        assert gateway.get("/dead").status == 502
        now = waiting(reader)
        if now != before:
            unchanged, before = Stopwatch(), now
        # Of one event there are so many lines a second.
        return now > PAGE / 2 and unchanged.seconds > 1.2
    wait_until(full, 60, "the pipe being full")


def waiting(reader):
    return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0]


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line]


@pytest.fixture
def begin(start_gateway, own_upstream):
    """Starts a gateway that logs to what it is given."""
    def start(log):
        config = {"upstream": [{"name": "shop", "url": own_upstream.url},
                               {"name": "dead", "url": "http://127.0.0.1:1"}],
                  "route": [{"path": "/dead", "upstream": "dead"}]}
        return start_gateway(own_upstream, config, started=False).start(log=log)
    return start


def test_a_reader_that_is_gone_changes_nothing(begin, own_upstream, key):
    with pipe() as (reader, writer):
        gateway = begin(writer)
        os.close(writer)
        running = gateway.begin_post(key=key, plan={"gate": "reader"})
        wait_until(lambda: gateway.state(key) == "in_progress", 20, "the request running")
        os.close(reader)
        gateway.signal(signal.SIGUSR1)  # a line
        assert gateway.get("/").status == 201
        gateway.signal(signal.SIGHUP)
        own_upstream.open("reader")
        assert running.read().status == 201
        running.close()
        assert gateway.state(key) == "completed"
        assert gateway.stop(END) == 0


def test_a_full_disk_changes_nothing(begin, fresh_key):
    gateway = begin("/dev/full")
    gateway.signal(signal.SIGUSR1)
    assert_first(gateway.post(key=fresh_key()))
    assert gateway.stop(END) == 0


def test_a_log_that_nobody_reads_stops_nothing(begin, fresh_key):
    with pipe() as (reader, writer):
        gateway = begin(writer)
        fill(gateway, reader)
        for _ in range(40):  # more than any number of threads
            assert gateway.get("/dead").status == 502
        assert_first(gateway.post(key=fresh_key()))
        gateway.signal(signal.SIGTERM)
        wait_until(lambda: refuses(gateway), 20, "the drain")
        with contextlib.suppress(ProcessLookupError):
            gateway.signal(signal.SIGTERM)  # while it waits for its log
        assert gateway.wait(END) == 0


def test_a_second_sigint_ends_the_gateway_while_the_log_is_not_read(begin, key):
    with pipe() as (reader, writer):
        gateway = begin(writer)
        running = gateway.begin_post(key=key, plan={"gate": "never"})
        wait_until(lambda: gateway.state(key) == "in_progress", 20, "the request running")
        fill(gateway, reader)
        gateway.signal(signal.SIGINT)
        wait_until(lambda: refuses(gateway), 20, "the drain")
        gateway.signal(signal.SIGINT)
        assert gateway.wait(END) == 1
        running.close()


def refuses(gateway):
    try:
        gateway.connect().close()
        return False
    except OSError:
        return True


def test_what_was_dropped_is_counted_and_said(begin, tmp_path):
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    gateway = begin(fifo)

    def reported():
        nonlocal reader
        os.close(reader)
        gateway.signal(signal.SIGUSR1)
        assert gateway.get("/dead").status == 502  # and a line, by now or soon
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        gateway.signal(signal.SIGUSR1)
        assert gateway.get("/dead").status == 502
        with contextlib.suppress(BlockingIOError):
            text = os.read(reader, 1 << 16).decode()
            return [line for line in lines_of(text.rpartition("\n")[0])
                    if line["event"] == "log-lines-dropped"]
    said = wait_until(reported, 30, "the line about those that are missing")
    assert said[0]["level"] == "warning"
    assert int(said[0]["count"]) > 0
    os.close(reader)
    assert gateway.stop(END) == 0


def test_no_signal_kills_without_a_drain(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    running = gateway.begin_post(key=key, plan={"gate": "signals"})
    wait_until(lambda: gateway.state(key) == "in_progress", 20, "the request running")
    for number in (signal.SIGUSR1, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTTOU):
        gateway.signal(number)
    assert gateway.logged("signal-ignored")[0]["signal"] == "SIGUSR1"
    gateway.signal(signal.SIGQUIT)
    wait_until(lambda: "draining" in gateway.log(), 20, "the drain")
    own_upstream.open("signals")
    assert running.read().status == 201
    running.close()
    assert gateway.wait(END) == 0
    assert gateway.state(key) == "completed"


def test_a_closed_standard_error_is_not_the_next_file(start_gateway, own_upstream, fresh_key):
    # SQLite takes care of its own files.
    gateway = start_gateway(own_upstream, {"store": {"url": "memory:"}}, started=False)
    gateway.binary = closed_before(gateway, 2)
    gateway.start()
    opened = os.readlink(f"/proc/{gateway.process.pid}/fd/2")
    assert opened == "/dev/null"
    assert_first(gateway.post(key=fresh_key()))
    assert gateway.stop(END) == 0


def closed_before(gateway, descriptor):
    """A program that is the gateway's, started without that descriptor."""
    script = gateway.folder / "closed"
    script.write_text(f'#!/bin/sh\nexec "{gateway.binary}" "$@" {descriptor}>&-\n')
    script.chmod(0o755)
    return script
