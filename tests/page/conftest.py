"""Fixtures of the suites that look at the web page."""

import signal

import pytest

from page.browser import Browser
from support.admin import Admin
from support.consumer import Consumer, Stream, settled
from support.redis import Redis

HOSTILE_ID = '"><img src=x onerror=owned=1>'


@pytest.fixture
def page_store():
    """The table `store` of the gateways: SQLite, if a suite has no other."""
    return {}


@pytest.fixture
def begin_page(start_gateway, own_upstream, tmp_path, page_store):
    """Starts a gateway with the page; what a scenario is given. `tokens`: somebody signs in."""
    listeners = []

    def start(tokens=True, **config):
        admin = Admin()
        listeners.append(admin)
        table = {"admin": admin.text, "metrics_records_interval": "1s"}
        facts = {"url": f"http://{admin.text}"}
        if tokens:
            path = tmp_path / "tokens"
            path.write_text("operator operator-token-0001 alice\nviewer viewer-token-00002 bob\n")
            path.chmod(0o600)
            table["admin_token_file"] = str(path)
            admin.token = "operator-token-0001"
            facts |= {"operator": "operator-token-0001", "viewer": "viewer-token-00002"}
        whole = {"store": page_store, **config,
                 "gateway": {**table, **config.get("gateway", {})}}
        gateway = start_gateway(own_upstream, whole, started=False)
        gateway.start()
        return gateway, admin, facts

    yield start
    for admin in listeners:
        admin.close()


@pytest.fixture
def begin_consumer(onceguard, own_upstream, tmp_path):
    """Starts a consumer with an unknown message and two dead ones; what a test is given."""
    begun = []

    def start(store=None):
        redis = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
        admin = Admin("operator-token-0001")
        tokens = tmp_path / "tokens"
        tokens.write_text("operator operator-token-0001 alice\nviewer viewer-token-00002 bob\n")
        tokens.chmod(0o600)
        stream = Stream(redis, "charges")
        consumer = Consumer(onceguard, tmp_path, [
            {"subscriber": "billing", "from": stream.url, "dead_letter": stream.dead_url,
             "to": own_upstream.url, "attempts": 1}], store=store,
            gateway={"admin": admin.text, "admin_token_file": str(tokens),
                     "audit_log": str(tmp_path / "audit")})
        begun.append((consumer, admin, redis))
        consumer.stream = stream
        consumer.start()
        messages = ((500, "m-unknown"), (404, "m-dead"), (404, HOSTILE_ID))
        for count, (status, key) in enumerate(messages, 1):
            own_upstream.plan("/", {"status": status})
            stream.add("x", key)
            settled(consumer, count)
        own_upstream.plan("/", {"status": 200})
        return consumer, admin, {"url": f"http://{admin.text}", "operator": admin.token,
                                 "viewer": "viewer-token-00002", "hostile": HOSTILE_ID}

    yield start
    for consumer, admin, redis in begun:
        consumer.stop(signal.SIGKILL)
        admin.close()
        redis.close()


@pytest.fixture(scope="session")
def browser():
    """One for all scenarios: to start it takes as much work as many of them."""
    running = Browser()
    yield running
    running.close()


@pytest.fixture
def act_out(browser):
    """Acts a scenario out in the browser; what it said. Fails where it does."""
    return browser.act
