"""The recipes of docs/agents.md for hosts: what stands there starts a proxy, and its list of tools
tells an agent how to send a key."""

import json
import re
import shlex

import pytest

from support.documented import DOCS
from support.tool_client import ToolClient

PAGE = (DOCS / "agents.md").read_text(encoding="utf-8")
HOSTS = PAGE.split("\n## Hosts\n", 1)[1].split("\n## ", 1)[0]
ROWS = dict(re.findall(r"^\| ([^|]+?) \| [^|]*\| (.+) \|$", HOSTS, re.MULTILINE))


def of_json(text):
    """The command of the only server of a host's file."""
    (server,) = json.loads(text)["mcpServers"].values()
    return [server["command"], *server["args"]]


def of_desktop():
    inner = re.fullmatch("`(.*)`", ROWS["Claude Desktop"]).group(1)
    return of_json("{" + inner + "}")


def of_shell():
    words = shlex.split(re.fullmatch("`(.*)`", ROWS["Claude Code"]).group(1))
    assert words[:4] == ["claude", "mcp", "add", "shop"]
    return words[words.index("--") + 1:]


def of_first_page():
    return of_json(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL).group(1))


@pytest.mark.parametrize("recipe", [of_desktop, of_shell, of_first_page])
def test_a_recipe_makes_each_call_once(tools, key, recipe):
    words = recipe()
    assert words[0] == "onceguard" and words[-2:] == ["npx", "shop-server"]
    command = [str(tools.onceguard)]
    for word in words[1:-2]:
        scheme, _, path = word.partition("sqlite:")
        command.append(f"sqlite:{tools.folder / 'tools.db'}" if path.startswith("/") and not scheme
                       else word)
    agent = tools.connect("2025-11-25", command=[*command, *ToolClient.server("2025-11-25")])
    (charge,) = [tool for tool in agent.order(list=1).result["tools"] if tool["name"] == "charge"]
    assert "idempotency_key" in charge["inputSchema"]["properties"]
    first = agent.call("charge", key=key, arguments={"amount": 7}).result
    for _ in range(2):
        assert agent.call("charge", key=key, arguments={"amount": 7}).repeated == first
    assert tools.runs("charge") == 1
    assert (tools.folder / "tools.db").exists()
