"""An upstream that misbehaves in the middle: where it stops, how, and with which body.

Each case has an upstream of its own, and all of them run at once. Each is judged by what its client
got, by the state of the key, by what ran, by what a repeat gets, and by what the next request to
that upstream gets.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from support.client import fields_for
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import Gateway
from support.pattern import pattern
from support.scripted_upstream import ScriptedUpstreams
from support.waiting import wait_until

WAYS = ["stall", "fin", "rst"]
LARGE = 2_000_000             # more than the kernels between take
LONGEST_KEPT = 64 * 1024      # max_answer_body
READ = [("head",), ("rest",)]


@dataclass
class Case:
    where: str
    how: str
    script: list
    expected: str             # a function below, by its name
    shape: str = ""
    sends: int = 100          # bytes of the request's body
    chunked: bool = False     # by the client
    answer: str = "full"
    ran: int = 1              # whole requests that the upstream read by the script
    upstream: object = None
    record: object = None
    got: dict = field(default_factory=dict)

    @property
    def name(self):
        parts = [self.where, self.shape, self.how, f"answer={self.answer}"]
        return ", ".join(part for part in parts if part)

    @property
    def request(self):
        return pattern(self.sends)

    @property
    def upstream_timeout(self):
        """Of one that never ends it by itself; any other may be late on a busy machine."""
        endless = any(step[0] in ("stall", "drip") for step in self.script)
        return "4s" if endless else "60s"


def after_a_pause(how):
    """A reset drops what is not delivered yet; that is not what these are about."""
    return [("pause", 1), (how,)] if how == "rst" else [(how,)]


# ---- what the upstreams answer

def head(*lines):
    return "\r\n".join(("HTTP/1.1 200 OK",) + lines + ("", "")).encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


BODY = pattern(5_000)
LONG = pattern(100_000)
TEXT = "Content-Type: text/plain"
CHUNKED = "Transfer-Encoding: chunked"
EVENTS = "Content-Type: text/event-stream"

# shape: (whole answer, part of it, what the first client gets of the part)
SHAPES = {
    "sized": (head(TEXT, "Content-Length: 5000") + BODY,
              head(TEXT, "Content-Length: 5000") + BODY[:2_000], "broken"),
    "chunked": (head(TEXT, CHUNKED) + chunk(BODY) + b"0\r\n\r\n",
                head(TEXT, CHUNKED) + chunk(BODY[:2_000]) + b"bb8\r\nxxx", "broken"),
    "chunked, but its end": (head(TEXT, CHUNKED) + chunk(BODY) + b"0\r\n\r\n",
                             head(TEXT, CHUNKED) + chunk(BODY) + b"0\r\n", "broken"),
    "streamed": (head(EVENTS, CHUNKED) + chunk(BODY) + b"0\r\n\r\n",
                 head(EVENTS, CHUNKED) + chunk(BODY[:2_000]), "passed on"),
    "till the end": (head(TEXT) + BODY, head(TEXT) + BODY[:2_000], "passed on"),
    "too large": (head(TEXT, "Content-Length: 100000") + LONG,
                  head(TEXT, "Content-Length: 100000") + LONG[:2_000], "passed on"),
    "too large, chunked": (head(TEXT, CHUNKED) + chunk(LONG) + b"0\r\n\r\n",
                           head(TEXT, CHUNKED) + chunk(LONG), "passed on"),
    "too large, chunked, but not yet": (head(TEXT, CHUNKED) + chunk(LONG) + b"0\r\n\r\n",
                                        head(TEXT, CHUNKED) + chunk(LONG[:50_000]), "broken"),
    "empty": (head("Content-Length: 0"), None, None),
    "without one": (b"HTTP/1.1 204 No Content\r\n\r\n", None, None),
}
NOT_KEPT = {"streamed", "till the end", "too large", "too large, chunked"}
POISON = head("Content-Length: 6") + b"POISON"


# ---- the cases

def before_the_request():
    for how, (sends, chunked) in itertools.product(WAYS, [(0, False), (100, True), (LARGE, True)]):
        expected = "timed_out" if how == "stall" else "nobody_can_tell"
        yield Case("before the request", how, [(how,)], expected, f"{sends} bytes", sends,
                   chunked, ran=0)


def within_the_request():
    begun = [("head",), ("body", 1_000)]
    for how in WAYS:
        expected = "timed_out" if how == "stall" else "broken"
        yield Case("within the request", how, begun + [(how,)], expected, sends=LARGE, ran=0)
    early = head(TEXT, "Content-Length: 5") + b"early"
    refusal = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nearly"
    for how in WAYS:
        end = after_a_pause(how)
        yield Case("within the request", f"early answer, {how}", begun + [("send", early)] + end,
                   "answered", sends=LARGE, ran=0)
        yield Case("within the request", f"early refusal, {how}",
                   begun + [("send", refusal)] + end, "refused", sends=LARGE, ran=0)
        yield Case("within the request", f"half an early answer, {how}",
                   begun + [("send", early[:-2])] + end,
                   "timed_out" if how == "stall" else "broken", sends=LARGE, ran=0)
    interim = b"HTTP/1.1 102 Processing\r\n\r\n"
    yield Case("within the request", "says that it works and takes nothing",
               begun + [("drip", interim)], "timed_out", sends=LARGE, ran=0)
    yield Case("within the request", "says that it works and takes the rest",
               begun + [("send", interim), ("rest",), ("answer",)], "served", sends=LARGE)


def after_the_request():
    for how in WAYS:
        expected = "timed_out" if how == "stall" else "broken"
        yield Case("after the request", how, READ + [(how,)], expected)
        yield Case("after the request", how, READ + [(how,)], expected, "2 MB", sends=LARGE)
        for said in (b"HTTP/1.1 100 Continue\r\n\r\n",
                     b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" * 3):
            script = READ + [("send", said)] + after_a_pause(how)
            yield Case("after an interim answer", how, script, expected, said[9:12].decode())
        yield Case("within an interim answer", how,
                   READ + [("send", b"HTTP/1.1 103 Early Hi")] + after_a_pause(how), expected)


def within_the_answer():
    for how in WAYS:
        expected = "timed_out" if how == "stall" else "broken"
        for part in (b"H", b"HTTP/1.1 200 OK\r\nContent-Le"):
            yield Case("within the answer's head", how,
                       READ + [("send", part)] + after_a_pause(how), expected, f"{len(part)} bytes")
        for shape, (_, part, reported) in SHAPES.items():
            if part is None:
                continue
            script = READ + [("send", part)] + after_a_pause(how)
            if reported == "passed on":
                # That ends with the connection, so the end is the end.
                whole = shape == "till the end" and how == "fin"
                yield Case("within the answer", how, script,
                           "passed_on" if whole else "cut_short", shape)
            else:
                yield Case("within the answer", how, script, expected, shape)
    yield Case("within the answer", "drip", READ + [
        ("send", head("Content-Length: 9999")), ("drip", b"x")], "timed_out", "sized")
    yield Case("after the answer's head", "nonsense",
               READ + [("send", head(CHUNKED) + b"zz\r\n")] + [("stall",)], "broken", "chunked")
    yield Case("within the answer's head", "nonsense",
               READ + [("send", b"HTTP/1.1 two hundred\r\n\r\n"), ("stall",)], "broken")


def behind_the_answer():
    """It is whole: nothing that comes behind it changes that, nor reaches the next request."""
    endings = {"kept": [], "fin": [("fin",)], "rst": after_a_pause("rst"),
               "late fin": [("pause", 0.3), ("fin",)], "more": [("send", POISON), ("stall",)],
               "more, late": [("pause", 0.3), ("send", POISON), ("stall",)]}
    for (shape, (whole, _, _)), (how, end) in itertools.product(SHAPES.items(), endings.items()):
        if shape == "till the end":
            continue  # there is nothing behind it
        expected = "passed_on" if shape in NOT_KEPT else "answered"
        if "but" in shape:
            continue  # as without
        yield Case("behind the answer", how, READ + [("send", whole)] + end, expected, shape)
    for shape in ("sized", "chunked", "empty"):
        whole = SHAPES[shape][0].replace(b"200 OK\r\n", b"200 OK\r\nConnection: close\r\n")
        yield Case("behind the answer", "says close and stalls",
                   READ + [("send", whole), ("stall",)], "answered", shape)


def all_cases():
    kinds = (before_the_request, within_the_request, after_the_request, within_the_answer,
             behind_the_answer)
    for kind, answer in itertools.product(kinds, ("full", "status")):
        for case in kind():
            case.answer = answer
            yield case


CASES = list(all_cases())


# ---- all of them at once

@pytest.fixture(scope="module")
def outcomes(onceguard, tmp_path_factory):
    scripted = ScriptedUpstreams()
    for case in CASES:
        case.upstream = scripted.add(*case.script, window=16 * 1024)
    gateway = Gateway(onceguard, tmp_path_factory.mktemp("gateway"), CASES[0].upstream.url, {
        # One thread, so that the next request meets the connection that was kept.
        "gateway": {"threads": 1, "write_timeout": "3s", "idle_timeout": "4s"},
        "defaults": {"max_request_body": "4MiB", "max_answer_body": "64KiB"},
        "upstream": [{"name": f"u{n}", "url": case.upstream.url} for n, case in enumerate(CASES)],
        "route": [{"path": f"/{n}/", "upstream": f"u{n}", "answer": case.answer,
                   "upstream_timeout": case.upstream_timeout} for n, case in enumerate(CASES)],
    })
    try:
        gateway.start()
        with ThreadPoolExecutor(48) as pool:
            list(pool.map(lambda n: run(gateway, n), range(len(CASES))))
        yield {record["key"]: record for record in gateway.keys()}
    finally:
        gateway.close()
        scripted.close()


def run(gateway, number):
    case = CASES[number]
    got, upstream = case.got, case.upstream

    def post(key, body, chunked=False):
        return gateway.ask("POST", f"/{number}/", fields_for(key), body, chunked=chunked,
                           timeout=60.0)

    try:
        got["first"] = post(f"first-{number}", case.request, case.chunked)
        if case.where == "behind the answer":
            wait_until(lambda: upstream.scripted or upstream.kept, 30, "the end of the script")
        got["ran"] = upstream.whole[f"first-{number}"]
        got["next"] = [post(f"next-{number}-{n}", b"") for n in range(2)]
        got["repeat"] = post(f"first-{number}", case.request, case.chunked)
        got["ran by the repeat"] = upstream.whole[f"first-{number}"] - got["ran"]
    except Exception as failure:  # reported by the test of the case, not of all
        got["failure"] = failure


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_each_misbehaviour_gets_its_answer_and_its_record(outcomes, number):
    case = CASES[number]
    got = case.got
    if "failure" in got:
        raise got["failure"]
    case.record = outcomes.get(f"first-{number}")
    state = case.record["state"] if case.record else None
    EXPECTED[case.expected](case, got["first"], state, got["repeat"])
    assert got["ran"] == case.ran
    for n, answer in enumerate(got["next"]):
        assert_first(answer)
        assert answer.json() == {"answer to": f"next-{number}-{n}"}
        assert outcomes[f"next-{number}-{n}"]["state"] == "completed"


# ---- what is expected of each

def stays_unknown(case, state, repeat):
    assert state == "unknown"
    assert_problem(repeat, 409, "outcome-unknown", False)
    assert case.got["ran by the repeat"] == 0


def timed_out(case, first, state, repeat):
    assert_problem(first, 504, "upstream-timeout", True)
    stays_unknown(case, state, repeat)
    assert case.record["why"] == "upstream_timeout"


def broken(case, first, state, repeat):
    assert_problem(first, 502, "upstream-broken", True)
    stays_unknown(case, state, repeat)
    assert case.record["why"] == "upstream_broken"


def nobody_can_tell(case, first, state, repeat):
    """Whether a byte of the request was taken before the connection ended."""
    if first.problem == "upstream-unreachable":
        assert_problem(first, 502, "upstream-unreachable", True)
        assert_first(repeat)
        assert case.got["ran by the repeat"] == 1
    else:
        broken(case, first, state, repeat)


def answered(case, first, state, repeat):
    whole = {"sized": BODY, "chunked": BODY, "": b"early"}.get(case.shape, b"")
    assert_first(first, 204 if case.shape == "without one" else 200)
    assert first.body == whole and not first.truncated
    assert state == "completed"
    assert case.record["kept"] == ("status_only" if case.answer == "status" else "full")
    assert case.got["ran by the repeat"] == 0
    if case.answer == "status" and first.status == 200:
        assert repeat.replayed and repeat.status == 200 and repeat.body == b""
    else:
        assert_replay_of(repeat, first)


def served(case, first, state, repeat):
    assert_first(first)
    assert state == "completed"
    assert repeat.replayed and repeat.status == 201
    assert case.got["ran by the repeat"] == 0


def refused(case, first, state, repeat):
    """A 4xx says that nothing was done: the key is free."""
    assert_first(first, 413)
    assert first.body == b"early"
    assert_first(repeat)
    assert case.got["ran by the repeat"] == 1


def passed_on(case, first, state, repeat):
    assert_first(first, 200)
    assert not first.truncated
    sent = {"streamed": BODY, "till the end": BODY[:2_000]}.get(case.shape, LONG)
    assert first.body == sent
    was_done_but_not_kept(case, state, repeat)


def cut_short(case, first, state, repeat):
    assert_first(first, 200)
    assert first.truncated
    was_done_but_not_kept(case, state, repeat)


def was_done_but_not_kept(case, state, repeat):
    assert state == "completed"
    assert case.record["kept"] == ("too_large" if case.shape == "too large" else "streamed")
    assert_problem(repeat, 409, "answer-not-kept", False)
    assert case.got["ran by the repeat"] == 0


EXPECTED = {one.__name__: one for one in (timed_out, broken, nobody_can_tell, answered, served,
                                          refused, passed_on, cut_short)}
