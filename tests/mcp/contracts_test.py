"""Calls with the shapes that the contracts of agents' commerce publish: a first try, a repeat that
differs in what its contract lets differ, and another call under the same key."""

import copy
import json

import pytest

UCP = {"name": "complete_checkout", "arguments": {
    "meta": {"ucp-agent": {"profile": "https://platform.example/agent.json"},
             "idempotency-key": "KEY"},
    "id": "checkout-1", "checkout": {"payment": {"instruments": [
        {"id": "i1", "handler_id": "h1", "type": "card",
         "credential": {"type": "token", "token": "t1"}}]}}}}

ACP = {"name": "complete_checkout_session", "arguments": {
    "meta": {"api_version": "2026-01-30", "idempotency_key": "KEY", "request_id": "r1",
             "user_agent": "agent/1", "accept_language": "en", "signature": "s1",
             "timestamp": "2026-02-01T10:00:00Z"},
    "id": "session-1", "payload": {"payment_data": {"token": "t1", "provider": "p"}}}}

ADCP = {"name": "create_media_buy", "arguments": {
    "idempotency_key": "KEY", "account": {"brand": {"domain": "shop.example"},
                                          "operator": "agency.example"},
    "brand": {"domain": "shop.example"}, "start_time": "2026-06-01T00:00:00Z",
    "end_time": "2026-06-30T23:59:59Z",
    "packages": [{"product_id": "p1", "budget": 5000, "pricing_option_id": "o1"}],
    "push_notification_config": {"url": "https://agency.example/hook", "authentication": {
        "schemes": ["Bearer"], "credentials": "c1"}},
    "context": {"correlation_id": "try-1"}}}

X402 = {"name": "analysis", "arguments": {"ticker": "ABC"}, "_meta": {"x402/payment": {
    "x402Version": 2, "resource": {"url": "mcp://tool/analysis"},
    "accepted": {"scheme": "exact", "network": "eip155:84532", "amount": "10000"},
    "payload": {"signature": "0x1", "authorization": {"nonce": "0x1"}},
    "extensions": {"payment-identifier": {"info": {"id": "KEY"}, "schema": {"type": "object"}}}}}}

A2A = {"message": {"messageId": "KEY", "role": "ROLE_USER", "parts": [{"text": "order one"}]},
       "configuration": {"acceptedOutputModes": ["text/plain"]}}

# The contract, its method, a call, what may differ in a repeat, and what makes it another call.
CONTRACTS = [
    ("ucp", "tools/call", UCP, {}, {"/arguments/id": "checkout-2"}),
    ("acp", "tools/call", ACP,
     {"/arguments/meta/request_id": "r2", "/arguments/meta/signature": "s2",
      "/arguments/meta/timestamp": "2026-02-01T10:00:09Z", "/arguments/meta/user_agent": "agent/2",
      "/arguments/meta/accept_language": "de"},
     {"/arguments/payload/payment_data/token": "t2"}),
    ("adcp", "tools/call", ADCP,
     {"/arguments/context/correlation_id": "try-2",
      "/arguments/push_notification_config/authentication/credentials": "c2"},
     {"/arguments/packages/0/budget": 9000}),
    ("x402", "tools/call", X402,
     {"/_meta/x402~1payment/payload/signature": "0x2",
      "/_meta/x402~1payment/payload/authorization/nonce": "0x2"}, {"/arguments/ticker": "DEF"}),
    ("a2a", "SendMessage", A2A, {}, {"/message/parts/0/text": "order two"})]


# Of AdCP's servers: the tool itself has the argument.
TOOLS = [{"name": "create_media_buy", "inputSchema": {
    "type": "object", "properties": {"idempotency_key": {"type": "string"}}}},
         {"name": "pay", "inputSchema": {"type": "object", "properties": {}}}]


def listed(request, sent):
    result = {"jsonrpc": "2.0", "id": sent["id"], "result": {"tools": TOOLS}}
    return request.reply(200, "application/json", json.dumps(result).encode())


def answered(_, sent):
    result = {"task": {"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}}}
    if sent["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "done"}], "structuredContent": {"id": "1"}}
    return 200, "application/json", json.dumps(
        {"jsonrpc": "2.0", "id": sent["id"], "result": result}).encode()


def changed(params, changes):
    out = copy.deepcopy(params)
    for pointer, value in changes.items():
        *way, last = [name.replace("~1", "/") for name in pointer.split("/")[1:]]
        part = out
        for name in way:
            part = part[int(name)] if isinstance(part, list) else part[name]
        assert last in part and part[last] != value
        part[last] = value
    return out


@pytest.mark.parametrize("way", ["preset", "default"])
@pytest.mark.parametrize("contract, method, call, may_differ, differs", CONTRACTS,
                         ids=[one[0] for one in CONTRACTS])
def test_a_call_as_its_contract_has_it_runs_once(place, key, contract, method, call, may_differ,
                                                 differs, way):
    if contract == "a2a" or way == "preset":
        server, proxy = place(answered, "--preset", contract)
    else:
        server, proxy = place(answered)
    server.list_tools = listed
    params = json.loads(json.dumps(call).replace("KEY", key))

    def post(number, wanted):
        return json.loads(proxy.post({"jsonrpc": "2.0", "id": number, "method": method,
                                      "params": wanted}).body)

    first = post(1, params)
    again = post(2, changed(params, may_differ))
    mark = again["result"].pop("_meta", None) or again["result"]["task"].pop("metadata")
    wanted = copy.deepcopy(first["result"])
    if contract == "adcp" and way == "preset":
        wanted["structuredContent"] |= {"replayed": True, "context": {"correlation_id": "try-2"}}
    assert mark == {"onceguard/replayed": True} and again["result"] == wanted
    other = json.dumps(post(3, changed(params, differs)))
    assert "mismatch" in other, other
    assert len(server.calls) == 1
    # The key is what tells two calls apart, and not their contents.
    assert "result" in post(4, json.loads(json.dumps(call).replace("KEY", f"{key}-2")))
    assert len(server.calls) == 2


def test_what_adcp_leaves_out_counts_for_a_tool_that_does_not_have_its_argument(place, key):
    """The argument is the one that the proxy describes to agents: the tool is not AdCP's."""
    server, proxy = place(answered)
    server.list_tools = listed
    answers = []
    for number, account in enumerate(["A", "A", "B"]):
        arguments = {"idempotency_key": key, "context": {"account": account}, "amount": 1}
        answers.append(json.loads(proxy.post(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call",
             "params": {"name": "pay", "arguments": arguments}}).body))
    assert [answer.get("result", {}).get("_meta") for answer in answers[:2]] == [
        None, {"onceguard/replayed": True}]
    assert "mismatch" in json.dumps(answers[2])
    assert len(server.calls) == 1
