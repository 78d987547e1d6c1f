"""`onceguard mcp`: tool calls, with the official SDK of the two last revisions on both sides."""

import os
import signal
import subprocess

import pytest

from support.decisions import stays
from support.tool_client import REVISIONS
from support.waiting import wait_until

both = pytest.mark.parametrize("revision", REVISIONS)


def refused(answer, outcome, retry):
    """A result that says what to do next, to people and to programs."""
    result = answer.result
    assert result["isError"], result
    assert result["_meta"]["onceguard/outcome"] == outcome, result
    assert result["_meta"]["onceguard/retry"] == retry
    return result["content"][0]["text"]


# ---- once


@both
@pytest.mark.parametrize("where", ["argument", "onceguard/idempotency-key", "idempotencyKey"])
def test_every_call_three_times_counts_once(tools, key, revision, where):
    client = tools.connect(revision)
    for number in range(10):
        given = {"arguments": {"amount": number}}
        given.update({"key": f"{key}-{number}"} if where == "argument"
                     else {"meta": {where: f"{key}-{number}"}})
        first = client.call("charge", **given).result
        assert first["content"][0]["text"] == f"charge {number + 1} of {number}"
        for _ in range(3):
            assert client.call("charge", **given).repeated == first
    assert tools.runs("charge") == 10


@both
def test_calls_at_the_same_moment_count_once(tools, key, revision):
    client = tools.connect(revision, "--wait", "30s")
    for number in range(5):
        answers = [client.call("charge", key=f"{key}-{number}") for _ in range(8)]
        assert len({answer.text for answer in answers}) == 1
    assert tools.runs("charge") == 5


@both
def test_the_key_argument_does_not_reach_the_server(tools, key, revision):
    """Its own schema would refuse or drop it: nobody sees the difference to a call without."""
    client = tools.connect(revision)
    assert client.call("charge", key=key, arguments={"amount": 3}).text == "charge 1 of 3"
    assert client.call("charge", arguments={"amount": 3}).text == "charge 2 of 3"


@both
def test_a_result_outlives_proxy_and_server(tools, key, revision):
    first = tools.connect(revision).call("charge", key=key).result
    tools.clients.pop().kill()
    assert tools.connect(revision).call("charge", key=key).repeated == first
    assert tools.runs("charge") == 1


@both
def test_structured_content_is_replayed(tools, key, revision):
    client = tools.connect(revision)
    first = client.call("structured", key=key).result
    assert client.call("structured", key=key).repeated == first
    assert first["structuredContent"] == {"n": 1}


@both
def test_without_a_key_nothing_is_guarded(tools, revision):
    client = tools.connect(revision)
    assert [client.call("charge").text for _ in range(3)] == [
        f"charge {n} of undefined" for n in (1, 2, 3)]


# ---- what an agent is answered


@both
def test_another_call_under_the_key_is_refused(tools, key, revision):
    client = tools.connect(revision)
    client.call("charge", key=key, arguments={"amount": 1}).wait()
    for tool, arguments in [("charge", {"amount": 2}), ("note", {"amount": 1})]:
        text = refused(client.call(tool, key=key, arguments=arguments), "mismatch", "new-key")
        assert key in text and "charge 1" not in text
    assert tools.runs("charge") == 1 and tools.runs("note") == 0


@both
def test_a_call_that_runs_makes_its_repeat_busy(tools, key, revision):
    client = tools.connect(revision)
    first = client.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    assert "still running" in refused(client.call("slow", key=key), "busy", "same-key")
    # Others are not held up.
    assert client.call("charge", key=f"{key}-2").text.startswith("charge 1")
    tools.gate.touch()
    assert first.text == "slow 1"
    assert client.call("slow", key=key).text == "slow 1"


@both
def test_two_proxies_share_the_store(tools, key, revision):
    one, other = tools.connect(revision), tools.connect(revision, "--wait", "30s")
    first = one.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    waiting = other.call("slow", key=key)
    tools.gate.touch()
    assert waiting.text == first.text == "slow 1"
    assert tools.runs("slow") == 1


@both
@pytest.mark.parametrize("given, why", [
    ({"key": ""}, "1 to 255"), ({"key": "x" * 256}, "1 to 255"), ({"key": 7}, "a text"),
    ({"key": "a", "meta": {"idempotencyKey": "b"}}, "two different")])
def test_a_wrong_key_is_named_and_runs_nothing(tools, revision, given, why):
    client = tools.connect(revision)
    assert why in refused(client.call("charge", **given), "key-malformed", "new-key")
    assert tools.runs("charge") == 0


@both
def test_a_key_may_be_required(tools, key, revision):
    client = tools.connect(revision, "--require-key", "destructive")
    assert "idempotency_key" in refused(client.call("charge"), "key-missing", "new-key")
    assert tools.runs("charge") == 0
    assert client.call("charge", key=key).text.startswith("charge 1")
    assert client.call("note").text == "noted 1"  # destroys nothing
    assert client.call("show").text == "shown 1"
    strict = tools.connect(revision, "--require-key", "all")
    refused(strict.call("note"), "key-missing", "new-key")
    assert strict.call("show").text == "shown 2"


# ---- hints


@both
def test_the_list_of_tools_tells_how_to_send_a_key(tools, revision):
    plain = {tool["name"]: tool for tool in
             tools.connect(revision, command=tools.server(revision)).order(list=1).result["tools"]}
    listed = {tool["name"]: tool for tool in
              tools.connect(revision, "--require-key", "destructive").order(list=1).result["tools"]}
    assert plain.keys() == listed.keys()
    argument = listed["charge"]["inputSchema"]["properties"].pop("idempotency_key")
    assert argument["type"] == "string" and "repeat" in argument["description"]
    assert listed["charge"]["inputSchema"].pop("required") == ["idempotency_key"]
    assert "required" not in listed["note"]["inputSchema"]
    assert listed["note"]["inputSchema"]["properties"].pop("idempotency_key")
    for name in ("charge", "note", "show"):
        plain[name]["inputSchema"].pop("required", None)
        assert listed[name] == plain[name]


@both
def test_read_only_tools_are_not_guarded(tools, key, revision):
    client = tools.connect(revision)
    assert [client.call("show", key=key).text for _ in range(2)] == ["shown 1", "shown 2"]


@both
def test_a_tool_has_the_argument_itself(tools, key, revision):
    """`text` is a parameter of the tools: the server gets what it has asked for."""
    client = tools.connect(revision, "--argument", "text")
    for _ in range(2):
        assert client.call("charge", arguments={"text": key}).text.startswith("charge 1")
    assert tools.runs("charge") == 1


@both
def test_without_an_argument_only_meta_has_keys(tools, key, revision):
    client = tools.connect(revision, "--argument", "")
    assert "idempotency_key" not in str(client.order(list=1).result)
    for _ in range(2):
        client.call("charge", meta={"idempotencyKey": key}).wait()
    assert tools.runs("charge") == 1


# ---- equal within a window


@both
def test_equal_calls_within_the_window_are_one_if_asked_for(tools, revision):
    client = tools.connect(revision, "--window", "6s")
    first = client.call("charge", arguments={"amount": 5, "text": "a"}).result
    assert client.call("charge", arguments={"text": "a", "amount": 5.0}).repeated == first
    assert client.call("charge", arguments={"amount": 6}).text.startswith("charge 2")
    assert client.call("show").text == "shown 1" and client.call("show").text == "shown 2"
    wait_until(lambda: client.call("charge", arguments={"amount": 5, "text": "a"}).text
               == "charge 3 of 5", what="the end of the window")


# ---- errors and crashes


@both
@pytest.mark.parametrize("rule, runs", [("complete", 1), ("release", 2)])
def test_the_error_of_a_tool(tools, key, revision, rule, runs):
    client = tools.connect(revision, "--tool-error", rule)
    first = client.call("fail", key=key).result
    assert first["isError"] and first["content"][0]["text"] == "failed 1"
    assert client.call("fail", key=key).text == f"failed {runs}"
    assert tools.runs("fail") == runs


@both
def test_what_the_server_refuses_was_not_done(tools, key, revision):
    client = tools.connect(revision)
    answer = client.call("nowhere", key=key).wait()
    assert "error" in answer or answer["result"]["isError"]
    wrong = client.call("charge", key=key, arguments={"amount": "text"}).wait()
    assert "error" in wrong or wrong["result"]["isError"]
    assert tools.runs("charge") == 0


@both
def test_a_server_that_dies_amid_a_call_leaves_it_unknown(tools, key, revision):
    client = tools.connect(revision)
    text = refused(client.call("crash", key=key), "unknown", "no")
    assert "unknown" in text and key in text
    client.wait_closed()
    assert tools.state(key) == "unknown"
    again = tools.connect(revision)
    refused(again.call("crash", key=key), "unknown", "no")
    assert tools.runs("crash") == 1
    assert again.call("charge").text.startswith("charge 1")  # that server lives


def test_an_operator_gives_the_result_of_a_call_that_is_unknown(tools, key):
    client = tools.connect(REVISIONS[0])
    refused(client.call("crash", key=key), "unknown", "no")
    body = '{"content":[{"type":"text","text":"seen in the bank"}]}'
    done = tools.executing.ask("keys", "complete", key, "--status", "200", "--body", body)
    assert done.returncode == 0, done
    assert tools.connect(REVISIONS[0]).call("crash", key=key).text == "seen in the bank"
    assert tools.runs("crash") == 1


@both
def test_a_killed_proxy_leaves_nothing_running(tools, key, revision):
    client = tools.connect(revision, "--lease", "3s")
    client.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    [proxy] = _children(client.process.pid)
    [guardian] = _children(proxy)
    servers = _children(guardian)
    assert servers
    os.kill(proxy, signal.SIGKILL)
    wait_until(lambda: not any(_alive(server) for server in servers), what="the server's end")
    wait_until(lambda: tools.state(key) == "unknown", what="the end of the lease")
    refused(tools.connect(revision).call("slow", key=key), "unknown", "no")
    assert tools.runs("slow") == 1


@both
@pytest.mark.parametrize("tool, options", [("put", ()), ("slow", ("--on-unknown", "rerun"))])
def test_what_may_be_called_again_is_when_it_is_unknown(tools, key, revision, tool, options):
    """A tool with an idempotentHint, or any if the operator says so."""
    given = {"key": key, "arguments": {"text": "wait"}}
    client = tools.connect(revision, *options, "--lease", "3s")
    client.call(tool, **given)
    wait_until(lambda: tools.runs(tool) == 1, what="the call")
    [proxy] = _children(client.process.pid)
    os.kill(proxy, signal.SIGKILL)
    wait_until(lambda: tools.state(key) == "unknown", what="the end of the lease")
    tools.gate.touch()
    again = tools.connect(revision, *options)
    for _ in range(2):
        assert again.call(tool, **given).text.startswith(f"{tool} 2")


@both
def test_a_call_that_the_client_gave_up_is_kept_for_its_repeat(tools, key, revision):
    """A server that was told so would answer nothing: it is not told."""
    client = tools.connect(revision)
    given_up = client.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    client.order(abort=given_up.number).wait()
    assert "error" in given_up.wait()
    refused(client.call("slow", key=key), "busy", "same-key")
    tools.gate.touch()
    wait_until(lambda: tools.state(key) == "completed", what="the result")
    assert client.call("slow", key=key).text == "slow 1"
    assert tools.runs("slow") == 1


def test_a_cancellation_goes_to_the_server_if_asked_for(tools, key):
    """The server of the SDK then answers nothing, and the call is kept for a minute at most."""
    client = tools.connect(REVISIONS[0], "--pass-cancellations")
    given_up = client.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    client.order(abort=given_up.number).wait()
    assert "error" in given_up.wait()
    assert client.call("show").text == "shown 1"  # the server has read all that came before
    tools.gate.touch()
    assert stays(lambda: tools.state(key) == "in_progress", 0.5)


@both
def test_a_call_that_was_given_up_before_it_ran_never_runs(tools, key, revision):
    """It waits for its twin, is cancelled, and then the twin frees the key."""
    options = ("--tool-error", "release", "--wait", "1m")
    given = {"key": key, "arguments": {"text": "fail"}}
    one, other = tools.connect(revision, *options), tools.connect(revision, *options)
    first = one.call("slow", **given)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    assert "error" in other.call("slow", timeout=500, **given).wait()
    assert other.call("show").text == "shown 1"  # that proxy has read all that came before
    tools.gate.touch()
    assert first.result["isError"]
    wait_until(lambda: tools.state(key) == "released", what="the release of both")
    assert other.call("show").text == "shown 2"  # that proxy goes on
    assert tools.runs("slow") == 1


@both
def test_the_end_of_the_client_ends_all(tools, key, revision):
    client = tools.connect(revision)
    [proxy] = _children(client.process.pid)
    client.call("charge", key=key).wait()
    client.order(close=1).wait()
    wait_until(lambda: not _alive(proxy), what="the proxy's end")


def test_sigterm_ends_the_proxy_and_its_server(tools):
    client = tools.connect(REVISIONS[0])
    [proxy] = _children(client.process.pid)
    os.kill(proxy, signal.SIGTERM)
    client.wait_closed()
    wait_until(lambda: not _alive(proxy), what="the proxy's end")


def test_a_server_that_can_not_be_started_is_named(tools):
    words = [str(tools.onceguard), "mcp", "--store", tools.executing.store, "--",
             "./no-such-server"]
    ended = subprocess.run(words, cwd=tools.folder, env=tools.environment(), capture_output=True,
                           text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    assert ended.returncode == 1 and "no-such-server" in ended.stderr


# ---- what passes


def test_progress_sampling_and_elicitation_pass(tools, key):
    client = tools.connect("2025-11-25")
    assert client.call("steps", key=key, progress=True).text == "three steps"
    assert client.call("sample", key=f"{key}-2").text == "sampled 1"
    assert client.call("ask", key=f"{key}-3").text == "accept 1"
    for tool, number in (("sample", 2), ("ask", 3)):
        assert client.call(tool, key=f"{key}-{number}").text.endswith(" 1")
    seen = client.order(seen=1).result
    assert (seen["progress"], seen["sampled"], seen["elicited"]) == (3, 1, 1)


def test_a_call_that_asks_for_more_input_is_called_again(tools, key):
    """The client's second request has the answers, and the same key: it is no repeat."""
    client = tools.connect("2026-07-28")
    assert client.call("ask", key=key).text == "accept 1"
    assert client.call("ask", key=key).text == "accept 1"
    assert client.order(seen=1).result["elicited"] == 1 and tools.runs("ask") == 1


def test_resources_prompts_and_changes_of_the_list_pass(tools, key):
    client = tools.connect("2025-11-25")
    assert client.order(read="test://greeting").result["contents"][0]["text"] == "hello"
    assert client.order(prompt="hello").result["messages"][0]["content"]["text"] == "hello"
    assert client.call("grow", key=key).text == "one more"
    wait_until(lambda: client.order(seen=1).result["changed"] >= 1, what="the notification")
    # A new tool, with hints that the proxy has not seen yet.
    assert [client.call("grown", key=key).text for _ in range(2)] == ["grown 1", "grown 2"]


def _children(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def _alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
