"""Calls that the packages of UCP, ACP and x402 read, by the official SDK's client, with
`onceguard mcp --preset` between it and a shop, on standard streams and over HTTP."""

import pytest

from support.contract_shop import CALLS, changed, keyed, read_as_clients_do, refused
from support.waiting import wait_until

calls = pytest.mark.parametrize("name", CALLS)
ways = pytest.mark.parametrize("way", ["stdio", "http"])


@calls
@ways
def test_a_call_three_times_is_one_order(tools, shop, key, name, way):
    preset, tool, arguments, meta, may_differ, differs = CALLS[name]
    sent = keyed({"arguments": arguments, "meta": meta}, f"key_{key}")
    agent = shop(preset, way).agent
    assert "idempotency_key" not in str(agent.order(list=1).result)
    first = agent.call(tool, **sent).result
    assert "error" not in first and "isError" not in first, first
    for _ in range(2):
        if may_differ:
            sent = changed(sent, may_differ)
        again = agent.call(tool, **sent)
        assert again.repeated == first
    assert refused(agent.call(tool, **changed(sent, differs)), preset) == "mismatch"
    assert tools.runs(tool) == 1
    fresh = agent.call(tool, **keyed({"arguments": arguments, "meta": meta}, f"new_{key}")).result
    assert tools.runs(tool) == 2 and fresh != first
    read_as_clients_do([tool, first], [tool, again.result], [tool, fresh])


@pytest.mark.parametrize("name", ["ucp-complete", "acp-complete", "x402-key", "x402-payment"])
@ways
def test_a_shop_killed_amid_an_order_leaves_it_unknown(tools, shop, key, name, way):
    preset, tool, arguments, meta, _, _ = CALLS[name]
    sent = keyed({"arguments": {**arguments, "id": "wait"}, "meta": meta}, f"key_{key}")
    market = shop(preset, way)
    begun = market.agent.call(tool, **sent)
    wait_until(lambda: tools.runs(tool) == 1, what="the order")
    market.kill()
    assert refused(begun, preset) == "unknown"
    tools.gate.touch()
    market.reopen()
    for _ in range(2):
        assert refused(market.agent.call(tool, **sent), preset) == "unknown"
    assert tools.runs(tool) == 1
