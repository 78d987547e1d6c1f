"""What shops of UCP, ACP and x402 refuse and ask for, with `onceguard mcp` between them and the
official SDK's client: errors that are answers, and those that are none."""

import pytest

from support.contract_shop import CALLS, PAYMENT, changed, keyed, read_as_clients_do

ways = pytest.mark.parametrize("way", ["stdio", "http"])


@ways
def test_an_acp_conflict_has_the_code_of_its_contract(tools, shop, key, way):
    _, tool, arguments, _, _, differs = CALLS["acp-complete"]
    sent = keyed({"arguments": arguments}, key)
    agent = shop("acp", way).agent
    assert "result" in agent.call(tool, **sent).wait()
    other = agent.call(tool, **changed(sent, differs)).wait()
    assert (other["data"]["type"], other["data"]["code"]) == \
        ("invalid_request", "idempotency_conflict")
    malformed = agent.call(tool, **keyed({"arguments": arguments}, "k" * 256)).wait()
    assert malformed["data"]["code"] == "invalid"
    assert malformed["data"]["param"] == "$.meta.idempotency_key"
    assert tools.runs(tool) == 1


@ways
def test_what_an_acp_shop_refuses_is_an_answer(tools, shop, key, way):
    """Its errors are errors of JSON-RPC: a repeat gets the same one, and no key is unknown."""
    _, tool, arguments, _, _, _ = CALLS["acp-complete"]
    sent = keyed({"arguments": {**arguments, "id": "missing"}}, key)
    agent = shop("acp", way).agent
    first = agent.call(tool, **sent).wait()
    assert first["data"]["code"] == "session_not_found"
    again = agent.call(tool, **sent).wait()
    assert again["data"].pop("onceguard/replayed") is True
    assert {**again, "order": 0} == {**first, "order": 0}
    assert tools.state(key) == "completed"
    assert tools.runs(tool) == 0


@pytest.mark.parametrize("preset", ["x402", "default"])
@ways
def test_a_price_is_answered_and_then_paid_under_one_key(tools, shop, key, preset, way):
    agent = shop(preset, way).agent
    unpaid = {"x402/idempotency-key": key}
    for _ in range(2):
        asked = agent.call("analysis", arguments={"ticker": "ABC"}, meta=unpaid).result
        assert asked["isError"] is True and "_meta" not in asked
    paid = {**unpaid, "x402/payment": PAYMENT}
    first = agent.call("analysis", arguments={"ticker": "ABC"}, meta=paid).result
    for meta in (paid, unpaid):
        again = agent.call("analysis", arguments={"ticker": "ABC"}, meta=meta)
        assert again.repeated == first
    assert tools.runs("analysis") == 1
    read_as_clients_do(["analysis", asked], ["analysis", first])


@pytest.mark.parametrize("name", CALLS)
def test_the_shop_notices_what_is_not_of_its_contract(tools, shop, key, name):
    preset, tool, arguments, meta, _, _ = CALLS[name]
    broken = {"checkout": {"line_items": "one"}, "payload": {"items": [], "card": "c1"}}
    sent = keyed({"arguments": {**arguments, **{part: value for part, value in broken.items()
                                               if part in arguments}},
                  "meta": meta and {**meta, "x402/payment": {"x402Version": 2}}}, f"key_{key}")
    assert "not of the contract" in shop(preset, "stdio").agent.call(tool, **sent).text
    assert tools.runs(tool) == 0
