"""A shop of UCP, ACP and x402 behind `onceguard mcp`, and calls of their shapes, which the packages
of their types read: on standard streams and over HTTP."""

import copy
import json
import os
import signal
import subprocess

from support.node import NODE
from support.ports import Port
from support.tool_client import FOLDER
from support.tool_server import ToolProxy, is_open
from support.waiting import wait_until

INSTRUMENT = {"id": "i1", "handler_id": "h1", "type": "card", "credential": {"type": "token"}}
UCP_META = {"ucp-agent": {"profile": "https://platform.example/agent.json"},
            "idempotency-key": "KEY"}
ACP_META = {"api_version": "2026-01-30", "idempotency_key": "KEY", "request_id": "r1"}
PAYMENT = {"x402Version": 2, "resource": {"url": "mcp://tool/analysis"},
           "accepted": {"scheme": "exact", "network": "eip155:84532", "amount": "10000",
                        "asset": "0x1", "payTo": "0x2", "maxTimeoutSeconds": 60, "extra": {}},
           "payload": {"signature": "0x1", "authorization": {"nonce": "0x1"}}}
IDENTIFIER = {"payment-identifier": {"info": {"required": True, "id": "KEY"},
                                     "schema": {"type": "object"}}}

# The preset, the tool, arguments, `_meta`, what may differ in a repeat, and what may not.
CALLS = {
    "ucp-create": ("ucp", "create_checkout", {"meta": UCP_META, "checkout": {
        "line_items": [{"item": {"id": "p1"}, "quantity": 1}]}}, None, None,
        "/arguments/checkout/line_items/0/quantity"),
    "ucp-complete": ("ucp", "complete_checkout", {
        "meta": UCP_META, "id": "checkout-1", "checkout": {"payment_data": INSTRUMENT}}, None,
        None, "/arguments/id"),
    "acp-create": ("acp", "create_checkout_session", {
        "meta": ACP_META, "payload": {"items": [{"id": "p1", "quantity": 1}]}}, None,
        "/arguments/meta/request_id", "/arguments/payload/items/0/quantity"),
    "acp-complete": ("acp", "complete_checkout_session", {
        "meta": ACP_META, "id": "session-1",
        "payload": {"payment_data": {"token": "t1", "provider": "stripe"}}},
        None, "/arguments/meta/request_id", "/arguments/payload/payment_data/token"),
    "x402-key": ("x402", "analysis", {"ticker": "ABC"},
                 {"x402/idempotency-key": "KEY", "x402/payment": PAYMENT},
                 "/meta/x402~1payment/payload/signature", "/arguments/ticker"),
    "x402-payment": ("x402", "analysis", {"ticker": "ABC"},
                     {"x402/payment": {**PAYMENT, "extensions": IDENTIFIER}},
                     "/meta/x402~1payment/payload/signature", "/arguments/ticker"),
}


def keyed(value, key):
    return json.loads(json.dumps(value).replace("KEY", key))


def changed(sent, pointer):
    """The call with another value there."""
    out = copy.deepcopy(sent)
    *way, last = [name.replace("~1", "/") for name in pointer.split("/")[1:]]
    part = out
    for name in way:
        part = part[int(name)] if isinstance(part, list) else part[name]
    part[last] = part[last] + 1 if isinstance(part[last], int) else f"{part[last]}0"
    return out


def read_as_clients_do(*answers):
    subprocess.run([NODE, str(FOLDER / "contract_types.mjs")], check=True, timeout=60,
                   input=json.dumps(answers).encode())


class ContractShop:
    """A shop, a proxy before it, and an agent of the proxy."""

    def __init__(self, tools, preset, way):
        self.tools, self.port, self.proxy = tools, None, None
        words = [NODE, str(FOLDER / "shop.mjs")]
        if way == "stdio":
            self.command = [str(tools.onceguard), "mcp", "--store", tools.executing.store,
                            "--preset", preset, "--", *words]
        else:
            self.port = Port()
            self.words = [*words, str(self.port.number)]
            self.process = None
            self.start()
            self.proxy = ToolProxy(tools, f"http://127.0.0.1:{self.port.number}/mcp",
                                   "--preset", preset)
            self.command = [f"http://127.0.0.1:{self.proxy.port.number}/mcp"]
        self.enter()

    def start(self):
        self.process = subprocess.Popen(self.words, cwd=self.tools.folder,
                                        env=self.tools.environment())
        wait_until(lambda: is_open(self.port.number), timeout=30, what="the shop")

    def enter(self):
        self.agent = self.tools.connect("2025-11-25", command=self.command)

    def kill(self):
        os.kill(int((self.tools.folder / "pid").read_text()), signal.SIGKILL)
        if self.port:
            self.process.wait()

    def reopen(self):
        if self.port:
            self.start()
        self.enter()

    def close(self):
        if self.port:
            self.process.kill()
            self.process.wait()
            self.port.close()
        if self.proxy:
            self.proxy.close()


def refused(answer, preset):
    """The outcome that a refusal tells, in the way of its contract."""
    value = answer.wait()
    if preset == "acp":
        tool = "complete_checkout_session"
        read_as_clients_do([tool, value])
        assert value["data"]["message"] in value["error"]
        return value["data"]["onceguard/outcome"]
    if preset == "ucp":
        assert value["code"] == -32000 and value["data"]["content"] in value["error"], value
        assert value["data"]["code"] in ("idempotency_conflict", "unknown")
        return value["data"]["onceguard/outcome"]
    assert value["result"]["isError"] is True
    return value["result"]["_meta"]["onceguard/outcome"]
