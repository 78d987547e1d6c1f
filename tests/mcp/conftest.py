import contextlib

import pytest

from support.contract_shop import ContractShop
from support.executing import Executing
from support.tool_client import ToolClient
from support.tool_server import ToolProxy, ToolServer


class Tools:
    """A folder with a store, effects and a gate; clients that start proxies and servers."""

    def __init__(self, onceguard, folder):
        self.executing = Executing(onceguard, folder)
        self.onceguard, self.folder = onceguard, folder
        self.gate = folder / "gate"
        self.clients = []

    def environment(self):
        return self.executing.environment(GATE=str(self.gate))

    def server(self, revision):
        return ToolClient.server(revision)

    def proxy(self, revision, *options):
        return [str(self.onceguard), "mcp", "--store", self.executing.store, *map(str, options),
                "--", *self.server(revision)]

    def connect(self, revision, *options, command=None):
        """A client of the SDK, whose server is behind a proxy."""
        client = ToolClient(revision, command or self.proxy(revision, *options), self.folder,
                            self.environment())
        self.clients.append(client)
        return client.wait_connected()

    def runs(self, tool):
        return self.executing.runs(tool)

    def state(self, key):
        return self.executing.state(key)

    def close(self):
        for client in self.clients:
            client.kill()
        self.executing.close()


@pytest.fixture
def tools(onceguard, tmp_path):
    made = Tools(onceguard, tmp_path)
    yield made
    made.close()


@pytest.fixture
def place(tools):
    """A server that answers as `answer` says, and a proxy before it."""
    with contextlib.ExitStack() as opened:
        def start(answer, *options, authority=None, **environment):
            server = ToolServer(answer, authority)
            opened.callback(server.close)
            proxy = ToolProxy(tools, server.url, *options, **environment)
            opened.callback(proxy.close)
            return server, proxy
        yield start


@pytest.fixture
def shop(tools):
    """A shop of a contract, by its preset and the transport."""
    opened = []

    def start(preset, way):
        opened.append(ContractShop(tools, preset, way))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
