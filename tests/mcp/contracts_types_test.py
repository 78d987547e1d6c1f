"""Calls that the packages of UCP, ACP and x402 read, by the official SDK's client and server with
`onceguard mcp --preset` between them."""

import copy
import os
import signal

import pytest

from support.node import NODE
from support.tool_client import FOLDER
from support.waiting import wait_until

INSTRUMENT = {"id": "i1", "handler_id": "h1", "type": "card",
              "credential": {"type": "token", "token": "t1"}}
UCP_META = {"ucp-agent": {"profile": "https://platform.example/agent.json"},
            "idempotency-key": "KEY"}
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
    "acp": ("acp", "complete_checkout_session", {
        "meta": {"api_version": "2026-01-30", "idempotency_key": "KEY", "request_id": "r1"},
        "id": "session-1", "payload": {"payment_data": {"token": "t1", "provider": "stripe"}}},
        None, "/arguments/meta/request_id", "/arguments/payload/payment_data/token"),
    "x402-key": ("x402", "analysis", {"ticker": "ABC"},
                 {"x402/idempotency-key": "KEY", "x402/payment": PAYMENT},
                 "/meta/x402~1payment/payload/signature", "/arguments/ticker"),
    "x402-payment": ("x402", "analysis", {"ticker": "ABC"},
                     {"x402/payment": {**PAYMENT, "extensions": IDENTIFIER}},
                     "/meta/x402~1payment/payload/signature", "/arguments/ticker"),
}
calls = pytest.mark.parametrize("name", CALLS)


def keyed(value, key):
    if isinstance(value, dict):
        return {name: keyed(part, key) for name, part in value.items()}
    if isinstance(value, list):
        return [keyed(part, key) for part in value]
    return key if value == "KEY" else value


def changed(sent, pointer):
    """The call with another value there."""
    out = copy.deepcopy(sent)
    *way, last = [name.replace("~1", "/") for name in pointer.split("/")[1:]]
    part = out
    for name in way:
        part = part[int(name)] if isinstance(part, list) else part[name]
    part[last] = part[last] + 1 if isinstance(part[last], int) else f"{part[last]}0"
    return out


@pytest.fixture
def shop(tools):
    def connect(preset):
        return tools.connect("2025-11-25", command=[
            str(tools.onceguard), "mcp", "--store", tools.executing.store, "--preset", preset,
            "--", NODE, str(FOLDER / "shop.mjs")])
    return connect


@calls
def test_a_call_three_times_is_one_order(tools, shop, key, name):
    preset, tool, arguments, meta, may_differ, differs = CALLS[name]
    sent = keyed({"arguments": arguments, "meta": meta}, f"key_{key}")
    agent = shop(preset)
    assert "idempotency_key" not in str(agent.order(list=1).result)
    first = agent.call(tool, **sent).result
    assert first["structuredContent"] == {"order": 1}, first
    for _ in range(2):
        if may_differ:
            sent = changed(sent, may_differ)
        assert agent.call(tool, **sent).repeated == first
    other = agent.call(tool, **changed(sent, differs)).result
    assert other["_meta"]["onceguard/outcome"] == "mismatch"
    assert tools.runs(tool) == 1
    fresh = keyed({"arguments": arguments, "meta": meta}, f"new_{key}")
    assert agent.call(tool, **fresh).result["structuredContent"] == {"order": 2}


@calls
def test_a_shop_killed_amid_an_order_leaves_it_unknown(tools, shop, key, name):
    preset, tool, arguments, meta, _, _ = CALLS[name]
    sent = keyed({"arguments": {**arguments, "id": "wait"}, "meta": meta}, f"key_{key}")
    begun = shop(preset).call(tool, **sent)
    wait_until(lambda: tools.runs(tool) == 1, what="the order")
    os.kill(int((tools.folder / "pid").read_text()), signal.SIGKILL)
    begun.wait()
    tools.gate.touch()
    agent = shop(preset)
    for _ in range(2):
        assert agent.call(tool, **sent).result["_meta"]["onceguard/outcome"] == "unknown"
    assert tools.runs(tool) == 1


@calls
def test_the_shop_notices_what_is_not_of_its_contract(tools, shop, key, name):
    preset, tool, arguments, meta, _, _ = CALLS[name]
    broken = {"checkout": {"line_items": "one"}, "payload": {"payment_data": {}}}
    sent = keyed({"arguments": {**arguments, **{part: value for part, value in broken.items()
                                               if part in arguments}},
                  "meta": meta and {**meta, "x402/payment": {"x402Version": 2}}}, f"key_{key}")
    if preset == "x402":
        sent["meta"]["x402/idempotency-key"] = f"key_{key}"
    assert "not of the contract" in shop(preset).call(tool, **sent).text
    assert tools.runs(tool) == 0
