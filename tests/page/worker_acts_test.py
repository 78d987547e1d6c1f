"""Acts in the page of `onceguard consume`: lost answers, odd names, a reload, and a drain's end."""

import json
import signal

import pytest

from page.conspicuous_test import as_caller
from support.admin import Admin
from support.consumer import Consumer, Stream
from support.redis import Redis
from support.toml import toml_text

ODD = [".", "..", "a/b", "50%", "a?b#c"]


@pytest.fixture
def subscribers(onceguard, own_upstream, tmp_path):
    """`begin(names)` starts a consumer with those subscribers; it, its listener, the facts."""
    redis = Redis({"appendonly": "yes"}).start()
    admin = Admin("operator-token-0001")
    path = tmp_path / "tokens"
    path.write_text("operator operator-token-0001 alice\n")
    path.chmod(0o600)
    begun = []

    def table(name, number):
        stream = Stream(redis, f"charges-{number}")
        return {"subscriber": name, "from": stream.url, "dead_letter": stream.dead_url,
                "to": own_upstream.url}

    def begin(names, tokens=True):
        gateway = {"admin": admin.text, "audit_log": str(tmp_path / "audit")}
        if tokens:
            gateway["admin_token_file"] = str(path)
        begun.append(Consumer(onceguard, tmp_path, [table(*one) for one in zip(names, range(9))],
                              gateway=gateway))
        begun[0].start()
        begun[0].table = table
        return begun[0], admin, {"url": f"http://{admin.text}", "operator": admin.token,
                                 "names": names}

    yield begin
    for consumer in begun:
        consumer.stop(signal.SIGKILL)
    admin.close()
    redis.close()


def test_a_lost_answer_of_an_act_is_said_to_be_one(begin_consumer, act_out, tmp_path):
    consumer, _, facts = begin_consumer()
    act_out("lost_acts", facts)
    assert consumer.process.wait(60) == 0
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [one["action"] for one in lines if one["stage"] == "done"] == ["pause", "drop", "drain"]


def test_the_lists_of_two_subscribers_appear_both(subscribers, act_out):
    _, _, facts = subscribers(["billing", "shipping", "taxes"])
    act_out("two_lists", facts)


def test_a_worker_of_any_name_is_paused_in_the_page(subscribers, act_out):
    _, admin, facts = subscribers(ODD)
    act_out("odd_names", facts)
    assert all(one["paused"] for one in admin.get("/api/workers").json()["workers"])


def test_a_reload_signs_nobody_out(subscribers, act_out):
    consumer, _, facts = subscribers(["billing"])
    whole = consumer.config.read_text()
    consumer.config.write_text(whole + toml_text({"consume": [consumer.table("second", 7)]}))
    act_out("reload", {**facts, "pid": consumer.process.pid})


def drained_and_back(browser, facts, wait, start):
    """The process begins once more when it has ended."""
    words = browser.begin("drained_and_back", facts)
    assert next(words) == "it drains"
    wait(120)
    start()
    assert not list(words)


def test_a_consumer_that_is_back_does_not_drain(subscribers, browser):
    consumer, _, facts = subscribers(["billing"], tokens=False)
    drained_and_back(browser, {**facts, "heading": "Workers"}, consumer.process.wait,
                     consumer.start)


def test_a_gateway_that_is_back_does_not_drain(begin_page, browser):
    gateway, _, facts = begin_page(tokens=False)
    drained_and_back(browser, {**facts, "heading": "Overview"}, gateway.wait, gateway.start)


def strangers_among_many(begin_page, act_out, **config):
    """The records of a key under two scopes, of which one has more than a page of records."""
    gateway, _, facts = begin_page(**config)
    for number in range(400):
        assert gateway.post(key=f"other-{number}", fields=as_caller("bob")).status == 201
    for caller in ("alice", "bob"):
        assert gateway.post(key="order-19", fields=as_caller(caller)).status == 201
    act_out("strangers", facts)


def test_a_key_under_two_scopes_is_found_among_many(begin_page, act_out):
    strangers_among_many(begin_page, act_out)
