"""The files of a gateway's SQLite store."""

import sqlite3
import uuid
from contextlib import closing

from support.expecting import assert_first, assert_problem


def beside(gateway, suffix):
    return gateway.database.with_name(gateway.database.name + suffix)


def config(folder, rule="refuse"):
    return {"gateway": {"state_dir": str(folder), "replay_cache": "0"},
            "store": {"after_loss": rule},
            "defaults": {"lease": "1s", "upstream_timeout": "1s"}}


def run_some(gateway, count):
    return {key: assert_first(gateway.post_in_time(key=key))
            for key in (f"key-{uuid.uuid4()}" for _ in range(count))}


def backup(gateway, name="saved"):
    to = gateway.folder / name
    done = gateway.command("backup", str(to))
    assert done.returncode == 0, done
    return to


def restore(gateway, file):
    return gateway.command("restore", str(file))


def starts_without_its_store(gateway, why):
    """It starts, says why, and refuses guarded requests; then it is stopped."""
    before = gateway.log().count("store-not-opened")
    gateway.start()
    line = gateway.logged("store-not-opened", before + 1)[-1]
    assert why in line["why"], line
    assert_problem(gateway.post(key=f"key-{uuid.uuid4()}"), 503, "store-unreachable", True,
                   retry_after=True)
    assert gateway.stop() == 0


def refused(gateway, key):
    return gateway.post(key=key).status == 503


class OlderCopy:
    """The bytes of a file, its log and the log's index as they are now."""

    def __init__(self, database):
        paths = [database.with_name(database.name + suffix) for suffix in ("", "-wal", "-shm")]
        self.files = {path: path.read_bytes() for path in paths}

    def write_over(self):
        """Over the files that processes have open: nobody sees another inode."""
        for path, content in self.files.items():
            with open(path, "r+b") as file:
                file.write(content)
                file.truncate()


def overwrite_page_of(database, key):
    """Of the record with this key, while nobody has the file open."""
    with closing(sqlite3.connect(database)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = file.execute("PRAGMA page_size").fetchone()[0]
        records = [r for (r,) in file.execute("SELECT record FROM records") if key.encode() in r]
    assert len(records) == 1
    whole = database.read_bytes()
    page = whole.find(records[0]) // size
    with open(database, "r+b") as file:
        file.seek(page * size)
        file.write(b"x" * size)
