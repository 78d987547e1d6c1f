"""The store over TLS, wherever Redis offers it, with verification."""

import itertools

import pytest

from support.certificates import Authority
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.redis import Redis
from support.redis_fleet import Fleet, RedisCluster, RedisSentinels
from support.waiting import wait_until


@pytest.fixture(scope="module")
def files(authority):
    return (authority.file, *authority.issue("redis", hosts=("127.0.0.1",)))


def verified(url, files):
    """Servers ask for a certificate, too."""
    authority, certificate, key = files
    return f"{url}{'&' if '?' in url else '?'}ca={authority}&cert={certificate}&key={key}"


class One(Fleet):
    """A single server."""

    def start(self):
        self.servers.append(Redis(self.tls_settings()).start())
        return self

    def tls_url(self):
        return f"rediss://127.0.0.1:{self.tls_ports[0].number}"


@pytest.mark.parametrize("kind", [One, RedisCluster, RedisSentinels], ids=lambda k: k.__name__)
def test_keys_are_kept_over_tls(start_gateway, own_upstream, files, tmp_path, key, kind):
    fleet = kind(files)
    try:
        fleet.start()
        url = fleet.tls_url()
        gateway = start_gateway(own_upstream, {
            "store": {"url": verified(url, files)},
            # How long new claims are refused after a loss.
            "defaults": {"lease": "1s", "upstream_timeout": "1s"}})
        numbers = itertools.count()

        def ran():
            """A busy machine may have no time for a key: another one takes its place."""
            name = f"{key}-{next(numbers)}"
            answer = gateway.post(key=name)
            return (name, answer) if answer.status == 201 else None
        for name, first in [wait_until(ran, what="an answer") for _ in range(12)]:
            assert_replay_of(gateway.post(key=name), assert_first(first))
        if kind is not One:
            fleet.crash_master(0)
            wait_until(ran, 60, "the store behind the new master")
        # A server of another authority is none.
        other = Authority(tmp_path / "other", "others")
        strange = start_gateway(own_upstream, {"store": {
            "url": verified(url, (other.file, files[1], files[2])), "timeout": "1s"}})
        assert_problem(strange.post(key=f"{key}-strange"), 503, "store-unreachable", True, True)
        strange.says("TLS handshake")
        assert own_upstream.runs(f"{key}-strange") == 0
    finally:
        fleet.close()
