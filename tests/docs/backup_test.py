"""docs/backup/sqlite.md: its commands, and what a repeat gets after a restore."""

from docs.conftest import commands_of
from support.expecting import assert_first, assert_replay_of


def test_a_backup_is_restored_as_the_page_says(start_gateway, own_upstream, type_it, tmp_path, key):
    backup, restore = commands_of("backup/sqlite.md")
    state = tmp_path / "state"
    state.mkdir()
    gateway = start_gateway(own_upstream, {
        "gateway": {"state_dir": str(state)}, "store": {"after_loss": "flag"}})
    instead = {"/backup/keys.db": tmp_path / "copy.db",
               "/var/lib/onceguard/keys.db": gateway.database}
    kept = assert_first(gateway.post(key=f"{key}-kept"))
    type_it(backup, instead)
    assert_first(gateway.post(key=f"{key}-forgotten"))
    # Not while a gateway has the store open.
    type_it(restore, instead, code=1)
    gateway.stop()
    assert "restored from" in type_it(restore, instead)
    gateway.start()
    assert_replay_of(gateway.post(key=f"{key}-kept"), kept)
    # What the copy has forgotten runs again, and is marked.
    assert_first(gateway.post(key=f"{key}-forgotten"))
    gateway.logged("store-lost-its-memory")
    gateway.logged("maybe-repeated")
    assert own_upstream.runs(f"{key}-forgotten") == 2
    assert own_upstream.runs(f"{key}-kept") == 1
