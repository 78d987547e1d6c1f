"""The alert about Redis in front of PostgreSQL fires for a Redis that is gone."""

import contextlib

from support.alerts import assert_fires, wait_for
from support.redis import Redis


def test_an_accelerator_that_is_away(begin_admin, postgres_server, database, fresh_key, tmp_path):
    with contextlib.closing(Redis()) as redis:
        fires_without(redis.start(), begin_admin, postgres_server.url(database), fresh_key(),
                      tmp_path)


def fires_without(redis, begin_admin, postgresql, key, folder):
    gateway, admin = begin_admin({"store": {
        "url": postgresql, "accelerator": f"redis://127.0.0.1:{redis.port.number}"}})
    before = wait_for(admin, "onceguard_accelerator_trusted", 1)
    redis.stop()
    after = wait_for(admin, "onceguard_accelerator_trusted", 0)
    assert gateway.post(key=key).status == 201, "PostgreSQL does the work alone"
    assert_fires("OnceguardAcceleratorAway", before, after, folder)
    redis.start()
    wait_for(admin, "onceguard_accelerator_trusted", 1)
