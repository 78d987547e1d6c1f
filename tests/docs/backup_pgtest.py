"""docs/backup/postgresql.md: its commands, and what a repeat gets after a restore."""

from docs.conftest import commands_of
from support.expecting import assert_first, assert_replay_of


def test_a_dump_is_restored_as_the_page_says(start_gateway, own_upstream, type_it, tmp_path, key,
                                             postgres_server):
    dump, *restore = commands_of("backup/postgresql.md")
    assert len(restore) == 3
    database = postgres_server.create_store()
    url = postgres_server.url(database)
    state = tmp_path / "state"
    state.mkdir()
    gateway = start_gateway(own_upstream, {
        "gateway": {"state_dir": str(state)}, "store": {"url": url, "after_loss": "flag"}})
    instead = {"/backup/keys.dump": tmp_path / "keys.dump",
               "postgresql://owner@db.internal/keys": url}
    kept = assert_first(gateway.post(key=f"{key}-kept"))
    type_it(dump, instead)
    assert_first(gateway.post(key=f"{key}-forgotten"))
    gateway.stop()
    for command in restore:
        type_it(command, instead)
    gateway.start()
    assert_replay_of(gateway.post(key=f"{key}-kept"), kept)
    assert_first(gateway.post(key=f"{key}-forgotten"))
    gateway.logged("store-lost-its-memory")
    gateway.logged("maybe-repeated")
    assert own_upstream.runs(f"{key}-forgotten") == 2
    assert own_upstream.runs(f"{key}-kept") == 1
