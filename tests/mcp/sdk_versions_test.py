"""`onceguard mcp` between two versions of the official SDK, each with its own clients and servers:
each call three times, one effect."""

import subprocess

import pytest

from support.ports import Port
from support.tool_client import ToolClient
from support.tool_server import ToolProxy, is_open
from support.waiting import wait_until

VERSIONS = {"1.17": "2025-06-18", "1.32": "2025-11-25", "2.4": "2026-07-28"}
PAIRS = [(one, other) for one in ("1.17", "1.32") for other in ("1.17", "1.32")] + [("2.4", "2.4")]
pairs = pytest.mark.parametrize("client, server", PAIRS)


@pytest.fixture
def connect(tools):
    opened = []

    def begin(client, server, transport, *options):
        revision = VERSIONS[client]
        if transport == "stdio":
            return tools.connect(revision, command=tools.proxy(VERSIONS[server], *options))
        port = Port()
        process = subprocess.Popen(ToolClient.server(VERSIONS[server], port.number),
                                   cwd=tools.folder, env=tools.environment())
        opened.append((process, port))
        wait_until(lambda: is_open(port.number), timeout=20, what="the server")
        proxy = ToolProxy(tools, f"http://127.0.0.1:{port.number}/mcp", *options)
        opened.append((proxy, None))
        return tools.connect(revision, command=[f"http://127.0.0.1:{proxy.port.number}/mcp"])

    yield begin
    for each, port in reversed(opened):
        if port is None:
            each.close()
        else:
            each.kill()
            each.wait()
            port.close()


@pairs
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_each_call_three_times_has_one_effect(tools, connect, key, client, server, transport):
    agent = connect(client, server, transport)
    assert "idempotency_key" in str(agent.order(list=1).result)
    first = agent.call("charge", key=key, arguments={"amount": 7}).result
    assert first["content"][0]["text"] == "charge 1 of 7"
    for _ in range(2):
        assert agent.call("charge", key=key, arguments={"amount": 7}).repeated == first
    failed = agent.call("fail", key=f"{key}-2").result
    assert failed["isError"]
    for _ in range(2):
        assert agent.call("fail", key=f"{key}-2").repeated == failed
    assert (tools.runs("charge"), tools.runs("fail")) == (1, 1)


@pytest.mark.parametrize("client, server", PAIRS[:4])
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("tool", ["broken", "refused"])
def test_an_error_after_the_effect_runs_nothing_again(tools, connect, key, client, server,
                                                      transport, tool):
    """Its code is that of a request with invalid parameters, or it is a result."""
    agent = connect(client, server, transport)
    for _ in range(3):
        agent.call(tool, key=key).wait()
    assert tools.runs(tool) == 1
    assert tools.state(key) in ("unknown", "completed")


@pytest.mark.parametrize("version", ["1.17", "1.32"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_call_that_the_client_gave_up_is_kept_for_its_repeat(tools, connect, key, version,
                                                               transport):
    """The SDK cancels what takes too long; a server that is told so answers nothing."""
    agent = connect(version, version, transport, "--wait", "1m")
    answer = agent.call("slow", key=key, timeout=1)
    assert "error" in answer.wait()
    wait_until(lambda: tools.runs("slow") <= 1, what="the call")
    again = agent.call("slow", key=key)
    wait_until(lambda: tools.runs("slow") == 1, what="the call")
    tools.gate.touch()
    assert again.text == "slow 1" and tools.runs("slow") == 1
