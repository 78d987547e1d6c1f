"""What clients that read nothing can make the service hold."""

import contextlib
import json
import select
import socket

import pytest

from support.decisions import FRAMED, parts
from support.waiting import PATIENCE, Stopwatch, wait_until

MEGABYTE = 1 << 20
ROOM = 32 * MEGABYTE  # max_messages; claims have half of it
CLIENTS = 200
# Beside the room: what is on its way from the store, threads, and what the heap keeps.
MARGIN = 64 * MEGABYTE


def memory(service, name):
    """Bytes, by /proc/PID/status: VmHWM, at most so far; RssAnon, now."""
    with open(f"/proc/{service.process.pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name + ":"))


def silent_claim(service, text, accept):
    out = socket.socket(socket.AF_UNIX)
    out.settimeout(60 * PATIENCE)
    out.connect(str(service.socket))
    out.sendall(b"POST /v1/operations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Accept: %s\r\nContent-Length: %d\r\n\r\n%s" % (accept.encode(), len(text), text))
    return out


def status_of(connection):
    return int(connection.recv(64, socket.MSG_PEEK).split()[1])


def complete_big(service, body):
    wanted = parts()
    with contextlib.closing(service.connect()) as caller:
        operation = caller.claim(**wanted)["operation"]
        assert caller.complete(operation, body=body)["outcome"] == "settled"
    return wanted


@pytest.fixture
def roomy(start_service):
    return start_service(options=("--serve-max-messages", "32MiB", "--max-answer-body", "2MiB",
                                  "--serve-threads", "2", "--serve-write-timeout", "10m"))


@pytest.mark.parametrize("accept", ("application/json", FRAMED))
def test_who_reads_nothing_makes_the_service_hold_no_more_than_its_room(roomy, accept):
    wanted = complete_big(roomy, "x" * MEGABYTE)
    text = json.dumps(wanted).encode()
    other = roomy.connect()
    before = memory(roomy, "RssAnon")
    with contextlib.ExitStack() as opened:
        silent = [opened.enter_context(silent_claim(roomy, text, accept))
                  for _ in range(CLIENTS)]
        watch, waiting = Stopwatch(), set(silent)
        while waiting:
            assert watch.seconds < 60 * PATIENCE, f"{len(waiting)} without an answer"
            # Whoever asks for little is served all the while.
            asked = Stopwatch()
            assert other.claim(**parts())["verdict"] == "run"
            assert asked.seconds < 5 * PATIENCE
            waiting -= set(select.select(list(waiting), [], [], 0.05)[0])
        said = [status_of(each) for each in silent]
        assert set(said) == {200, 503}
        assert 1 <= said.count(200) <= 3 * ROOM // 8 // MEGABYTE
        assert memory(roomy, "VmHWM") - before < ROOM + MARGIN
        refused = silent[said.index(503)]
        answer = b""
        while b"again." not in answer:
            answer += refused.recv(1 << 16)
        assert b"\r\nRetry-After: 1\r\n" in answer and b":overloaded" in answer
        # Settles have the other half.
        begun = other.claim(**parts())
        assert other.complete(begun["operation"], body="x" * MEGABYTE)["outcome"] == "settled"
    wait_until(lambda: memory(roomy, "RssAnon") - before < ROOM, what="the memory back")
    got = wait_until(lambda: (got := other.post("/v1/operations", wanted))[0] == 200 and got[1],
                     what="room for an answer")
    assert got["answer"]["body"] == "x" * MEGABYTE


def test_a_batch_holds_no_more_than_the_room(roomy):
    many = [complete_big(roomy, "y" * MEGABYTE) for _ in range(20)]
    before = memory(roomy, "RssAnon")
    fresh = parts()
    calls = [{"call": "claim", **each} for each in (*many, fresh)]
    status, answer = roomy.connect().post("/v1/batch", {"calls": calls})
    assert status == 200
    *results, last = answer["results"]
    said = [each["status"] for each in results]
    assert set(said) == {200, 503} and 1 <= said.count(200) <= ROOM // 2 // (2 * MEGABYTE)
    refused = results[said.index(503)]
    assert refused["type"].endswith(":overloaded") and refused["retryable"]
    assert last["verdict"] == "run"
    assert memory(roomy, "VmHWM") - before < ROOM + MARGIN


def test_an_answer_that_is_longer_than_the_room_goes_alone(start_service):
    service = start_service(options=("--serve-max-messages", "4MiB", "--max-answer-body", "3MiB"))
    wanted = complete_big(service, "z" * (3 * MEGABYTE))
    assert service.connect().claim(**wanted)["answer"]["body"] == "z" * (3 * MEGABYTE)


def test_what_a_leaver_asked_for_is_dropped(roomy):
    """Half of the clients leave at once; none of their answers stays."""
    wanted = complete_big(roomy, "x" * MEGABYTE)
    text = json.dumps(wanted).encode()
    for _ in range(5):
        for each in [silent_claim(roomy, text, "application/json") for _ in range(CLIENTS // 2)]:
            each.close()
    other = roomy.connect()
    wait_until(lambda: other.post("/v1/operations", wanted)[0] == 200, what="room for an answer")
    assert memory(roomy, "VmHWM") < ROOM + MARGIN + 64 * MEGABYTE
