"""Agents and clients of the A2A protocol's official SDK, versions 0.3 and 1, with
`onceguard mcp --preset a2a` between them: the id of a message is its key."""

import json
import subprocess

import pytest

from support.node import NODE
from support.ports import Port
from support.tool_client import FOLDER
from support.tool_server import ToolProxy, is_open
from support.waiting import wait_until

versions = pytest.mark.parametrize("version", ["0.3", "1"])
ways = pytest.mark.parametrize("way", ["send", "stream"])


class Agent:
    """An agent, a proxy before it, and clients of the proxy."""

    def __init__(self, tools, version):
        self.tools, self.version = tools, version
        self.port = Port()
        self.proxy = ToolProxy(tools, f"http://127.0.0.1:{self.port.number}", "--preset", "a2a")
        self.url = f"http://127.0.0.1:{self.proxy.port.number}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [NODE, str(FOLDER / "a2a_agent.mjs"), self.version, str(self.port.number),
             f"{self.url}/a2a"], cwd=self.tools.folder, env=self.tools.environment())
        wait_until(lambda: is_open(self.port.number), timeout=30, what="the agent")

    def begin(self, way, key, text):
        return subprocess.Popen(
            [NODE, str(FOLDER / "a2a_client.mjs"), self.version, self.url, way, key, text],
            cwd=self.tools.folder, env=self.tools.environment(), stdout=subprocess.PIPE)

    def send(self, way, key, text="hello"):
        return answer_of(self.begin(way, key, text))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.proxy.close()
        self.port.close()


@pytest.fixture
def agent_of(tools):
    opened = []

    def start(version):
        opened.append(Agent(tools, version))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def answer_of(client):
    out, _ = client.communicate(timeout=60)
    return json.loads(out)


def entity(answer):
    """The task or the event: version 1 has it in an envelope in streams."""
    return answer["payload"]["value"] if "payload" in answer else answer


def unmarked(answer):
    """The answer of a repeat, without the mark that says so."""
    metadata = entity(answer)["metadata"]
    assert metadata.pop("onceguard/replayed") is True
    if not metadata:
        del entity(answer)["metadata"]
    return answer


@versions
@ways
def test_a_message_three_times_is_one_order(tools, agent_of, key, version, way):
    agent = agent_of(version)
    first = agent.send(way, key)
    assert "order 1" in json.dumps(first), first
    for _ in range(2):
        # Of a stream the event that has the task.
        again = agent.send(way, key)
        assert [unmarked(each) for each in again] == first[:1]
    assert tools.runs("order") == 1
    other = agent.send(way, key, "another order")
    assert other[0]["error"] and "another tool or other arguments" in json.dumps(other)
    assert "order 2" in json.dumps(agent.send(way, f"{key}-2"))
    assert tools.runs("order") == 2


@versions
@ways
def test_an_agent_killed_amid_an_order_gets_no_other(tools, agent_of, key, version, way):
    agent = agent_of(version)
    client = agent.begin(way, key, "wait")
    wait_until(lambda: tools.runs("order") == 1, what="the order")
    if way == "stream":
        wait_until(lambda: tools.state(key) == "completed", what="the task")
    agent.kill()
    first = answer_of(client)
    assert "error" in first[-1]
    tools.gate.touch()
    agent.start()
    for _ in range(2):
        again = agent.send(way, key, "wait")
        if way == "stream":  # the client can ask for the task
            assert [unmarked(each) for each in again] == first[:1]
        else:
            assert "It is unknown whether" in json.dumps(again)
    assert tools.runs("order") == 1
