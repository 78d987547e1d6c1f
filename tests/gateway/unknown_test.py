"""What happens at `unknown`: hold, probe (fence, then ask), ask, rerun."""

import base64
import time
import urllib.parse

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, wait_until

AUTH = [("Authorization", "Bearer ann")]
LOST = {"status": 500}  # the effect happened, and the answer does not say so


@pytest.fixture
def probed(start_gateway, own_upstream):
    """A gateway that probes its upstream at /outcome/SCOPE/KEY."""
    def start(**policy):
        return start_gateway(own_upstream, {"defaults": {
            "unknown": "probe", "probe": own_upstream.url + "/outcome/{scope}/{key}",
            "lease": "10s", **policy}})
    return start


def say(upstream, *plans):
    """What the application answers when it is asked, one after the other."""
    upstream.plan("/outcome/", *[{"status": 404, "effect": False, **plan} for plan in plans])


def none(**more):
    return {"headers": [["Onceguard-Outcome", "none"]], "echo_fields": ["Onceguard-Token"], **more}


def probes(upstream):
    return upstream.requests(path="/outcome/")


def runs(upstream, key):
    return upstream.requests(key, path="/charges")


def make_unknown(gateway, key, plan=None):
    answer = gateway.post(key=key, plan=plan or LOST, fields=AUTH)
    assert answer.status >= 500 and answer.problem != "overloaded", answer


def ask(gateway, key, **how):
    return gateway.post(key=key, fields=AUTH, **how)


def assert_still_unknown(answer):
    return assert_problem(answer, 409, "outcome-unknown", True, retry_after=True)


def test_hold_never_runs_again_by_itself(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    make_unknown(gateway, key)
    for _ in range(3):
        answer = ask(gateway, key)
        assert_problem(answer, 409, "outcome-unknown", False)
        assert answer.get("Retry-After") is None
    gateway.restart()
    assert_problem(ask(gateway, key), 409, "outcome-unknown", False)
    assert own_upstream.runs(key) == 1


def test_after_a_crash_a_running_key_becomes_unknown(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"lease": "1s"}})
    with gateway.begin_in_time(own_upstream, key=key, plan={"gate": key}, fields=AUTH):
        gateway.kill()
    own_upstream.open(key)
    gateway.start()
    answer = wait_until(lambda: next((a for a in [ask(gateway, key)]
                                      if a.problem != "in-progress"), None))
    assert_problem(answer, 409, "outcome-unknown", False)
    assert gateway.state(key) == "unknown"
    assert own_upstream.runs(key) == 1


def test_rerun_takes_over(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"unknown": "rerun"}})
    make_unknown(gateway, key)
    first = assert_first(ask(gateway, key))
    assert_replay_of(ask(gateway, key), first)
    requests = own_upstream.requests(key)
    assert [r["attempt"] for r in requests] == ["1", "2"]
    assert int(requests[1]["token"]) > int(requests[0]["token"])
    assert requests[0]["scope"] == requests[1]["scope"]


def test_rerun_does_not_cross_a_mismatch(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"unknown": "rerun"}})
    make_unknown(gateway, key)
    assert_problem(ask(gateway, key, body=b"other"), 422, "key-reused", False)
    assert own_upstream.runs(key) == 1


def test_rerun_after_a_crash_waits_for_the_lease(start_gateway, own_upstream, key):
    # Longer than a gateway under a sanitizer needs to start again.
    gateway = start_gateway(own_upstream, {"defaults": {"unknown": "rerun", "lease": "5s"}})
    with gateway.begin_post(key=key, plan={"gate": "never"}, fields=AUTH):
        own_upstream.arrived(1, key)
        gateway.kill()
    gateway.start()
    assert_problem(ask(gateway, key), 409, "in-progress", True, retry_after=True)
    wait_until(lambda: ask(gateway, key).status == 201, what="the end of the lease")
    assert own_upstream.runs(key) == 2


def test_a_probe_that_says_done_gives_the_answer(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, {"status": 200, "body": '{"charge":7}', "headers": [
        ["Onceguard-Outcome", "done"], ["Onceguard-Status", "201"], ["X-Kept", "1"],
        ["Content-Type", "application/vnd.charge+json"]]})
    make_unknown(gateway, key)
    answer = ask(gateway, key)
    assert (answer.status, answer.body) == (201, b'{"charge":7}')
    assert answer.get("Content-Type") == "application/vnd.charge+json"
    assert answer.get("Onceguard-Outcome") is None
    assert answer.replayed
    again = ask(gateway, key)
    assert again.stored_part() == answer.stored_part()
    assert len(probes(own_upstream)) == 1
    assert len(runs(own_upstream, key)) == 1
    assert gateway.state(key) == "completed"


def test_without_a_status_done_means_200(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, {"status": 200, "body": "it did",
                       "headers": [["Onceguard-Outcome", "done"]]})
    make_unknown(gateway, key)
    assert ask(gateway, key).status == 200
    assert ask(gateway, key).status == 200
    assert len(runs(own_upstream, key)) == 1


def test_a_probe_that_says_none_allows_a_new_run(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, none())
    make_unknown(gateway, key)
    first = assert_first(ask(gateway, key))
    assert_replay_of(ask(gateway, key), first)
    before, after = runs(own_upstream, key)
    asked = probes(own_upstream)
    assert len(asked) == 1
    assert int(before["token"]) < int(asked[0]["token"]) <= int(after["token"])


def test_what_a_probe_carries(probed, own_upstream, key):
    gateway = probed()
    odd = f"{key}/+=~%&"
    say(own_upstream, none())
    make_unknown(gateway, odd)
    assert_first(ask(gateway, odd))
    asked, ran = probes(own_upstream)[0], runs(own_upstream, odd)[0]
    assert asked["method"] == "POST"
    assert asked["scope"] == ran["scope"]
    path, _, last = asked["target"].rpartition("/")
    assert urllib.parse.unquote(last) == odd
    assert "%2F" in last.upper() and "%25" in last and "&" not in last
    assert path == f"/outcome/{ran['scope']}"
    assert asked["key"].strip('"') == odd
    assert int(asked["token"]) > int(ran["token"])


OVER_THE_LIMIT = 3000  # of max_answer_body, in the test below

INCONCLUSIVE = {
    "a bare 404": {"status": 404},
    "a bare 200": {"status": 200},
    "none without the token": {"status": 404, "headers": [["Onceguard-Outcome", "none"]]},
    "none with another token": {"status": 404, "headers": [["Onceguard-Outcome", "none"],
                                                           ["Onceguard-Token", "999999999"]]},
    "none with 200": none(status=200),
    "done with 404": {"status": 404, "headers": [["Onceguard-Outcome", "done"]]},
    "done with a status that is none": {"status": 200, "headers": [
        ["Onceguard-Outcome", "done"], ["Onceguard-Status", "600"]]},
    "done with an interim status": {"status": 200, "headers": [
        ["Onceguard-Outcome", "done"], ["Onceguard-Status", "103"]]},
    "another word": {"status": 200, "headers": [["Onceguard-Outcome", "maybe"]]},
    "an error": {"status": 500, "headers": [["Onceguard-Outcome", "done"]]},
    "a redirect": {"status": 302, "headers": [["Location", "/"]]},
    "a broken connection": {"drop": "body"},
    "a truncated done": {"status": 200, "headers": [["Onceguard-Outcome", "done"]],
                         "drop": "half", "size": 1000},
    "a truncated none": none(drop="half", size=1000),
    "a truncated none in chunks": none(drop="half", size=1000, framing="chunked"),
    "a done over the limit": {"status": 200, "headers": [["Onceguard-Outcome", "done"]],
                              "size": OVER_THE_LIMIT},
    "a none over the limit": none(size=OVER_THE_LIMIT),
    "a done over the limit in chunks": {"status": 200, "framing": "chunked",
                                        "headers": [["Onceguard-Outcome", "done"]],
                                        "size": OVER_THE_LIMIT},
    "a none over the limit in chunks": none(size=OVER_THE_LIMIT, framing="chunked"),
    "a none that is a stream": none(framing="chunked", headers=[
        ["Onceguard-Outcome", "none"], ["Content-Type", "text/event-stream"]]),
    "chunks that are none": {"raw": base64.b64encode(
        b"HTTP/1.1 200 OK\r\nOnceguard-Outcome: done\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"zz\r\n").decode()},
    "another protocol": {"status": 101, "headers": [["Onceguard-Outcome", "done"],
                                                    ["Upgrade", "websocket"],
                                                    ["Connection", "Upgrade"]]},
}


@pytest.mark.parametrize("plan", INCONCLUSIVE.values(), ids=INCONCLUSIVE.keys())
def test_everything_else_is_still_unknown(probed, own_upstream, key, plan):
    gateway = probed(max_answer_body="2KiB")
    say(own_upstream, plan)
    make_unknown(gateway, key)
    assert_still_unknown(ask(gateway, key))
    assert len(probes(own_upstream)) == 1
    assert len(runs(own_upstream, key)) == 1
    assert gateway.state(key) == "unknown"


def test_a_probes_answer_without_an_end_is_none(probed, own_upstream, key):
    """It says "done" in its head, and goes on for ever: the probe has its own limit of time."""
    gateway = probed(upstream_timeout="500ms", max_answer_body="2KiB")
    say(own_upstream, {"status": 200, "headers": [["Onceguard-Outcome", "done"]],
                       "framing": "chunked", "size": 1000, "gate_half": "never"})
    make_unknown(gateway, key)
    assert_still_unknown(ask(gateway, key))
    assert gateway.state(key) == "unknown"
    assert len(runs(own_upstream, key)) == 1


def test_after_none_the_key_is_known_not_to_have_run(probed, own_upstream, key):
    """What the new run leaves is what it was, and no longer the doubt of before."""
    gateway = probed()
    say(own_upstream, none())
    make_unknown(gateway, key)
    answer = ask(gateway, key, plan={"status": 503, "effect": False})
    assert (answer.status, answer.problem) == (503, None)
    assert gateway.state(key) == "released"
    first = assert_first(ask(gateway, key))
    assert_replay_of(ask(gateway, key), first)
    assert len(probes(own_upstream)) == 1, "there was nothing to ask about any more"
    assert len(runs(own_upstream, key)) == 3


def test_a_run_after_not_done_that_ends_unknown_is_probed_again(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, none(), none())
    make_unknown(gateway, key)
    answer = ask(gateway, key, plan=LOST)
    assert answer.status >= 500
    assert gateway.state(key) == "unknown", "this one may have run"
    wait_until(lambda: ask(gateway, key).status == 201, what="asked again")
    assert len(probes(own_upstream)) == 2
    assert len(runs(own_upstream, key)) == 3


def test_a_probe_that_gets_no_answer(probed, own_upstream, key):
    gateway = probed(upstream_timeout="500ms")
    say(own_upstream, {"gate": "never"})
    make_unknown(gateway, key)
    answer = ask(gateway, key)
    assert answer.status == 409 and answer.problem == "outcome-unknown"
    assert len(runs(own_upstream, key)) == 1


def test_a_failing_prober_is_asked_at_most_once_a_second(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, {"status": 404}, {"status": 404}, none())
    make_unknown(gateway, key)
    clock = Stopwatch()
    wait_until(lambda: ask(gateway, key).status == 201, timeout=15)
    asked = [request["at"] for request in probes(own_upstream)]
    assert len(asked) == 3
    assert all(later - earlier >= 0.95 for earlier, later in zip(asked, asked[1:]))
    assert clock.seconds < 40


def test_only_one_gateway_probes_at_a_time(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, none(gate=key))
    make_unknown(gateway, key)
    data = request_bytes("POST", "/charges", [("Content-Type", "application/json"), *AUTH]
                         + fields_for(key), b'{"amount":100}')
    with gateway.connect() as asking:
        asking.reader.expect("POST")
        asking.send(data)
        own_upstream.arrived(1, path="/outcome/")
        for answer in all_at_once(gateway.address, [data] * 8):
            assert_problem(answer, 409, "in-progress", True, retry_after=True)
        own_upstream.open(key)
        first = assert_first(asking.read())
    assert_replay_of(ask(gateway, key), first)
    assert len(probes(own_upstream)) == 1
    assert len(runs(own_upstream, key)) == 2


def test_repeats_may_wait_during_a_probe(probed, own_upstream, key):
    gateway = probed(on_busy="wait")
    say(own_upstream, {"status": 200, "gate": key, "body": "it did",
                       "headers": [["Onceguard-Outcome", "done"]]})
    make_unknown(gateway, key)
    waiting = [gateway.begin_post(key=key, fields=AUTH) for _ in range(6)]
    own_upstream.arrived(1, path="/outcome/")
    assert waiting[0].silent_for(0.1)
    own_upstream.open(key)
    answers = [connection.read() for connection in waiting]
    for connection in waiting:
        connection.close()
    assert {(a.status, a.replayed) for a in answers} == {(200, True)}
    assert len(probes(own_upstream)) == 1
    assert len(runs(own_upstream, key)) == 1


def test_a_prober_that_dies_leaves_the_record_unknown(probed, own_upstream, key):
    gateway = probed(lease="3s")
    say(own_upstream, {"gate": "never"}, none())
    make_unknown(gateway, key)
    with gateway.begin_post(key=key, fields=AUTH):
        own_upstream.arrived(1, path="/outcome/")
        gateway.kill()
    gateway.start()
    first = wait_until(lambda: next((a for a in [ask(gateway, key)] if a.status == 201), None))
    assert_first(first)
    tokens = [int(request["token"]) for request in probes(own_upstream)]
    assert len(tokens) == 2 and tokens[0] < tokens[1]


def test_a_mismatch_never_probes(probed, own_upstream, key):
    gateway = probed()
    say(own_upstream, none())
    make_unknown(gateway, key)
    assert_problem(ask(gateway, key, body=b"other"), 422, "key-reused", False)
    assert probes(own_upstream) == []


def test_ask_is_a_get_after_the_upstreams_timeout(probed, own_upstream, key):
    gateway = probed(probe_mode="ask", upstream_timeout="2s")
    say(own_upstream, {"status": 200, "body": "it did",
                       "headers": [["Onceguard-Outcome", "done"]]})
    before = time.monotonic()  # the upstream may note the run long after the claim
    make_unknown(gateway, key)
    early = ask(gateway, key)
    asked = probes(own_upstream)
    if time.monotonic() - before < 1.9:  # else a busy machine came too late
        assert_still_unknown(early)
        assert asked == []
    wait_until(lambda: ask(gateway, key).status == 200, what="the probe")
    asked = probes(own_upstream)
    assert [request["method"] for request in asked] == ["GET"]
    assert asked[0]["at"] - before >= 1.9


@pytest.mark.parametrize("status", [200, 404])
def test_ask_accepts_a_bare_answer_only_by_configuration(probed, own_upstream, key, status):
    gateway = probed(probe_mode="ask", upstream_timeout="100ms")
    say(own_upstream, {"status": status, "body": "bare"})
    make_unknown(gateway, key)

    def asked():
        assert_still_unknown(ask(gateway, key))
        return probes(own_upstream)
    wait_until(asked, what="the probe")
    assert_still_unknown(ask(gateway, key))
    assert len(runs(own_upstream, key)) == 1


@pytest.mark.parametrize("status", [200, 404])
def test_ask_accepts_the_configured_bare_answers(probed, own_upstream, key, status):
    gateway = probed(probe_mode="ask", upstream_timeout="1s", probe_present="200",
                     probe_absent="404")
    say(own_upstream, {"status": status, "body": "bare"})
    make_unknown(gateway, key)
    answer = wait_until(lambda: next((a for a in [ask(gateway, key)] if a.status != 409), None))
    if status == 200:
        assert (answer.status, answer.replayed) == (200, True)
        assert len(runs(own_upstream, key)) == 1
    else:
        assert_first(answer)
        assert len(runs(own_upstream, key)) == 2


@pytest.mark.parametrize("status, word", [(404, "unknown"), (200, "none")])
def test_a_configured_status_says_nothing_beside_a_word_of_the_application(probed, own_upstream,
                                                                           key, status, word):
    gateway = probed(probe_mode="ask", upstream_timeout="100ms", probe_present="200",
                     probe_absent="404")
    say(own_upstream, *[{"status": status, "headers": [["Onceguard-Outcome", word]]}] * 2)
    make_unknown(gateway, key)
    wait_until(lambda: assert_still_unknown(ask(gateway, key)) and probes(own_upstream),
               what="the probe")
    assert len(runs(own_upstream, key)) == 1


def test_fence_never_takes_a_bare_answer(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"defaults": {
        "unknown": "probe", "probe": own_upstream.url + "/outcome/{scope}/{key}",
        "probe_absent": "404"}}, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
