"""`onceguard doctor` on a SQLite store: who can read it, and what its SQLite does."""

import sqlite3

from support.doctor import examine
from support.expecting import assert_first


def test_a_store_that_every_user_can_read(start_gateway, onceguard, own_upstream, key):
    gateway = start_gateway(own_upstream)
    assert_first(gateway.post(key=key))
    gateway.folder.chmod(0o755)
    gateway.database.chmod(0o644)
    found = examine(onceguard, "--store", gateway.store_url()).one("store-rights")
    assert found["level"] == "note" and "every user of this machine can read" in found["text"]
    gateway.database.chmod(0o640)
    assert examine(onceguard, "--store", gateway.store_url()).level("store-rights") == "ok"


def test_a_sqlite_with_the_wal_reset_bug(onceguard, tmp_path):
    version = tuple(int(part) for part in sqlite3.sqlite_version.split("."))
    mended = version >= (3, 51, 3) or version[:2] == (3, 50) and version >= (3, 50, 7) or \
        version[:2] == (3, 44) and version >= (3, 44, 6)
    found = examine(onceguard, "--store", f"sqlite:{tmp_path}/keys.db").all("store-version")
    assert len(found) == (0 if mended else 1), (version, found)
    assert all("WAL-reset bug" in one["text"] and one["level"] == "note" for one in found)
