"""docs/backup/redis.md: its commands, and what a repeat gets after a restore."""

import pytest

from docs.conftest import commands_of
from support.expecting import assert_first, assert_replay_of
from support.redis import Redis


@pytest.fixture
def redis():
    running = Redis({"dbfilename": "dump.rdb"}).start()
    yield running
    running.close()


def test_a_file_is_restored_as_the_page_says(start_gateway, own_upstream, type_it, tmp_path, key,
                                             redis):
    save, copy, restore = commands_of("backup/redis.md")
    state = tmp_path / "state"
    state.mkdir()
    gateway = start_gateway(own_upstream, {
        "gateway": {"state_dir": str(state)},
        "store": {"url": f"redis://127.0.0.1:{redis.port.number}", "after_loss": "flag"}})
    instead = {"-h cache.internal -p 6379": f"-h 127.0.0.1 -p {redis.port.number}",
               "/var/lib/redis/dump.rdb": redis.folder / "dump.rdb",
               "/backup/keys.rdb": tmp_path / "keys.rdb"}
    kept = assert_first(gateway.post(key=f"{key}-kept"))
    type_it(save, instead)
    type_it(copy, instead)
    assert_first(gateway.post(key=f"{key}-forgotten"))
    gateway.stop()
    redis.stop()
    type_it(restore, instead)
    redis.start()
    gateway.start()
    assert_replay_of(gateway.post(key=f"{key}-kept"), kept)
    assert_first(gateway.post(key=f"{key}-forgotten"))
    gateway.logged("store-lost-its-memory")
    gateway.logged("maybe-repeated")
    assert own_upstream.runs(f"{key}-forgotten") == 2
    assert own_upstream.runs(f"{key}-kept") == 1
