"""Under load, a reader of the log that stalls or goes away fails no request, and each line that is
missing is counted."""

import fcntl
import json
import os
import resource
import threading

import pytest

from support.post_load import PostLoad
from support.samples import scrape
from support.waiting import wait_until

LONG = 400  # of a path: the queue of lines is full sooner
PIPE_SIZE = 4096
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def dropped(admin):
    return int(scrape(admin).value("onceguard_log_lines_dropped_total"))


def wait_dropped(admin, more_than=0):
    wait_until(lambda: dropped(admin) > more_than, 60, "a line that is dropped")


def parsed(text):
    """The lines that are whole: a full device may keep a part of one."""
    out = []
    for line in text.splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            continue
    return out


def missing(lines):
    return sum(line["count"] for line in lines if line["event"] == "log-lines-dropped")


def logged_paths(lines):
    return [line["path"] for line in lines if line["event"] == "request"]


@pytest.fixture
def begin(start_gateway, own_upstream, admin_listener):
    """A gateway with an admin listener, and with a log of its own kind."""
    def start(log=None, **table):
        config = {"gateway": {"admin": admin_listener.text, **table}, "store": {"url": "memory:"}}
        return start_gateway(own_upstream, config, started=False).start(log=log)
    return start


@pytest.fixture
def pipe():
    """A small pipe; the reading end is a file, the writing end a descriptor."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    with open(reader, encoding="utf-8") as end:
        yield end, writer


def assert_all_accounted(lines, load, admin_count):
    """Each request has its line, or is counted as missing."""
    paths = logged_paths(lines)
    assert len(paths) == len(set(paths)) and set(paths) <= set(load.paths())
    assert len(paths) + missing(lines) == len(load.paths())
    # A line may be dropped after its request was answered, and after the metric was read.
    assert 0 < admin_count <= missing(lines)


def test_a_reader_that_comes_back_gets_the_number_of_lines_it_missed(begin, pipe, admin_listener):
    reader, writer = pipe
    gateway = begin(log=writer)
    os.close(writer)
    pieces = []
    back = threading.Thread(target=lambda: pieces.append(reader.read()))
    with PostLoad(gateway, path_size=LONG) as load:
        wait_dropped(admin_listener)
        load.wait_for(100)
        back.start()
        load.wait_for(100)
    count = dropped(admin_listener)
    assert load.statuses() == {201}
    assert gateway.stop() == 0
    back.join(90)
    assert_all_accounted(parsed(pieces[0]), load, count)


def test_a_reader_that_stalls_and_leaves_costs_its_lines_alone(begin, pipe, admin_listener):
    reader, writer = pipe
    gateway = begin(log=writer)
    os.close(writer)
    with PostLoad(gateway, path_size=LONG) as load:
        wait_dropped(admin_listener)
        reader.close()
        before = dropped(admin_listener)
        load.wait_for(200)
        wait_dropped(admin_listener, before + 100)
    assert load.statuses() == {201}
    in_the_pipe = PIPE_SIZE // LONG + 1  # written, and then nobody read them
    wait_until(lambda: dropped(admin_listener) >= len(load.paths()) - in_the_pipe,
               what="the count of all lines")
    assert gateway.stop() == 0


def test_a_full_device_costs_lines_alone_and_its_space_brings_them_back(begin, admin_listener):
    gateway = begin(log_file="requests.log")
    path = gateway.folder / "requests.log"
    with PostLoad(gateway) as load:
        load.wait_for(20)
        size = path.stat().st_size + 20_000
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE,
                         (size, resource.RLIM_INFINITY))
        wait_dropped(admin_listener)
        load.wait_for(100)
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
        load.wait_for(100)
    assert load.statuses() == {201}
    wait_until(lambda: missing(parsed(path.read_text())) == dropped(admin_listener), 20,
               "the line about those that are missing")
    count = dropped(admin_listener)
    assert gateway.stop() == 0
    assert_all_accounted(parsed(path.read_text()), load, count)


def test_a_device_that_is_full_from_the_start_costs_lines_alone(begin, admin_listener):
    gateway = begin(log_file="/dev/full")
    with PostLoad(gateway) as load:
        load.wait_for(200)
    assert load.statuses() == {201}
    in_the_pipe = PIPE_SIZE // LONG + 1  # written, and then nobody read them
    wait_until(lambda: dropped(admin_listener) >= len(load.paths()) - in_the_pipe,
               what="the count of all lines")
    assert gateway.stop() == 0
