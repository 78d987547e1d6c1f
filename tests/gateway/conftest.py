"""Fixtures of the suites that drive a gateway."""

import pytest

from support.admin import Admin
from support.certificates import Authority
from support.redis import Redis
from support.scripted_upstream import ScriptedUpstreams
from support.tiered import CACHELESS


@pytest.fixture
def scripted():
    """Makes upstreams that follow a script."""
    running = ScriptedUpstreams()
    yield running
    running.close()


@pytest.fixture
def redis():
    """A server that a test may stop."""
    running = Redis()
    yield running
    running.close()


@pytest.fixture
def begin(start_gateway, own_upstream, postgres_server, database, redis):
    """Starts a gateway on both; the last word has what the test says."""
    def start(store=None, **config):
        table = {"url": postgres_server.url(database), "timeout": "2s",
                 "accelerator": f"redis://127.0.0.1:{redis.port.number}", **(store or {})}
        return start_gateway(own_upstream, {"gateway": CACHELESS, "store": table, **config})
    return start


@pytest.fixture
def admin_listener():
    """An address for a gateway's admin listener."""
    admin = Admin()
    yield admin
    admin.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def secure(start_gateway, upstream, authority):
    """A gateway whose listener speaks TLS."""
    def start(config=None, **tls):
        certificate, key = authority.issue("gateway")
        config = dict(config or {})
        config["gateway"] = {"tls_certificate": certificate, "tls_key": key, **tls,
                             **config.get("gateway", {})}
        return start_gateway(upstream, config, started=False).start()
    return start
