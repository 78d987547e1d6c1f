"""A seller and the storyboard runner of the Ad Context Protocol's official SDK, with
`onceguard mcp --preset adcp` between them."""

import json
import subprocess
import threading

import pytest

from support.node import NODE
from support.ports import Port
from support.tool_client import FOLDER
from support.tool_server import ToolProxy, call_of, is_open
from support.waiting import wait_until

STEPS = ["get_capabilities", "create_media_buy_missing_key", "create_media_buy_initial",
         "create_media_buy_replay", "no_duplicate_webhooks_on_replay",
         "create_media_buy_conflict", "create_media_buy_fresh_key", "get_media_buys_dedup_check"]


class Seller:
    def __init__(self, tools, *words):
        self.port = Port()
        self.words = [NODE, str(FOLDER / "adcp_seller.mjs"), str(self.port.number), *words]
        self.tools = tools
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, cwd=self.tools.folder,
                                        env={**self.tools.environment(), "NODE_ENV": "test"})
        wait_until(lambda: is_open(self.port.number), timeout=30, what="the seller")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port.number}/mcp"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.port.close()


@pytest.fixture
def market(tools):
    """A seller, and a proxy before it."""
    opened = []

    def start(*words, options=()):
        opened.append(Seller(tools, *words))
        opened.append(ToolProxy(tools, opened[0].url, "--preset", "adcp", *options))
        return opened

    yield start
    for each in reversed(opened):
        each.close()


def storyboard(url, folder):
    """The verdict of each step, and what failed in it."""
    ran = subprocess.run([NODE, str(FOLDER / "adcp_storyboard.mjs"), url], cwd=folder,
                         stdout=subprocess.PIPE, timeout=300, check=True)
    reported = json.loads(ran.stdout)
    assert list(reported["verdicts"]) == STEPS
    return reported


def proxied(proxy):
    return f"http://127.0.0.1:{proxy.port.number}/mcp"


def buy(key, budget=5000, product="p1", context="try-1", credentials="c" * 32, **more):
    return {"idempotency_key": key, "brand": {"domain": "shop.example"},
            "account": {"brand": {"domain": "shop.example"}, "operator": "agency.example"},
            "start_time": "2096-06-01T00:00:00Z", "end_time": "2096-06-30T23:59:59Z",
            "packages": [{"product_id": product, "budget": budget, "pricing_option_id": "o1"}],
            "governance_context": f"token-{context}",
            "reporting_webhook": {
                "url": "http://127.0.0.1:9/report", "reporting_frequency": "daily",
                "authentication": {"schemes": ["Bearer"], "credentials": credentials}},
            "context": {"correlation_id": context}, **more}


def created(proxy, arguments, number=1):
    sent = call_of(number=number, tool="create_media_buy", **arguments)
    return json.loads(proxy.post(sent).body)["result"]


def error(result):
    """The structure of an error, which is there as a text, too."""
    assert result["isError"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


@pytest.mark.parametrize("keeper", ["own", "none"])
def test_the_storyboard_passes_behind_the_proxy(tools, market, keeper):
    """`own`: the seller keeps keys itself, and has the same verdicts as without the proxy."""
    seller, proxy = market(keeper)
    reported = storyboard(proxied(proxy), tools.folder)
    assert reported["passed"], reported
    assert all(step["passed"] for step in reported["verdicts"].values()), reported
    assert tools.runs("create_media_buy") == 2  # two keys
    if keeper == "own":
        assert storyboard(seller.url, tools.folder) == reported


def test_the_storyboard_notices_a_seller_that_keeps_no_keys(tools, market):
    seller, _ = market("none")
    reported = storyboard(seller.url, tools.folder)
    assert not reported["passed"]
    assert "Replay returns the SAME media_buy_id as the initial call" in \
        reported["verdicts"]["create_media_buy_replay"]["failures"]


@pytest.mark.parametrize("keeper", ["own", "none"])
def test_a_buy_three_times_is_made_once(tools, market, key, keeper):
    _, proxy = market(keeper)
    key = f"{key}-{'k' * 16}"
    first = created(proxy, buy(key))
    assert first["structuredContent"]["context"] == {"correlation_id": "try-1"}
    assert "replayed" not in first["structuredContent"]
    for n in (2, 3):
        again = created(proxy, buy(key, context=f"try-{n}", credentials=str(n) * 32), number=n)
        assert again["_meta"]["onceguard/replayed"] is True
        assert again["structuredContent"] == {**first["structuredContent"], "replayed": True,
                                              "context": {"correlation_id": f"try-{n}"}}
        assert again["content"] == first["content"]
    assert tools.runs("create_media_buy") == 1
    other = created(proxy, buy(key, budget=25_000, context="try-4"), number=4)
    assert other["_meta"]["onceguard/outcome"] == "mismatch"
    reported = error(other)
    assert reported["context"] == {"correlation_id": "try-4"}
    assert set(reported["adcp_error"]) == {"code", "message"}
    assert reported["adcp_error"]["code"] == "IDEMPOTENCY_CONFLICT"
    assert tools.runs("create_media_buy") == 1


def test_a_seller_killed_amid_a_buy_leaves_it_unknown(tools, market, key):
    seller, proxy = market("own")
    key = f"{key}-{'k' * 16}"
    answers = []
    waiting = buy(key, product="wait")
    caller = threading.Thread(target=lambda: answers.append(created(proxy, waiting)))
    caller.start()
    wait_until(lambda: tools.runs("create_media_buy") == 1, what="the buy")
    busy = created(proxy, buy(key, product="wait", context="try-2"))
    assert error(busy)["adcp_error"]["code"] == "SERVICE_UNAVAILABLE"
    assert error(busy)["adcp_error"]["recovery"] == "transient"
    seller.kill()
    caller.join(60)
    tools.gate.touch()
    seller.start()
    answers += [created(proxy, buy(key, product="wait", context=f"try-{n}")) for n in (3, 4)]
    assert len(answers) == 3
    for answer in answers:
        assert answer["_meta"]["onceguard/outcome"] == "unknown"
        assert error(answer)["adcp_error"]["recovery"] == "terminal"
    assert tools.runs("create_media_buy") == 1


@pytest.mark.parametrize("rule, runs", [("complete", 0), ("release", 1)])
def test_what_the_seller_refused_runs_again_where_errors_release(tools, market, key, rule, runs):
    """The contract keeps no errors, so that a buyer may mend the request under the same key."""
    _, proxy = market("none", options=["--tool-error", rule])
    key = f"{key}-{'k' * 16}"
    refused = created(proxy, buy(key, start_time="never"))
    assert error(refused)["adcp_error"]["code"] == "VALIDATION_ERROR"
    created(proxy, buy(key), number=2)
    assert tools.runs("create_media_buy") == runs
