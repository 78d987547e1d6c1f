"""The files of a SQLite store: away for a moment, removed, damaged, under two names."""

import os
import subprocess

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import clean_environment
from support.sqlite_files import backup, beside, config, refused, restore, run_some, \
    starts_without_its_store
from support.waiting import wait_until


# ---- files that go away ---------------------------------------------------------------------
def answers_again(gateway, keys):
    wait_until(lambda: all(gateway.post(key=key).status == 201 for key in keys),
               what="the end of the refusal")
    return all(gateway.post(key=key).replayed for key in keys)


def test_a_removed_index_separates_no_two_gateways(start_gateway, upstream, fresh_key):
    """A second process makes a new one: the locks of the two would be in different files."""
    settings = {"gateway": {"replay_cache": "0"}}
    gateway = start_gateway(upstream, settings)
    keys = list(run_some(gateway, 5))
    beside(gateway, "-shm").unlink()
    other = start_gateway(upstream, settings, database=gateway.database)
    shared = [fresh_key() for _ in range(20)]
    for key in shared:
        assert {gateway.post(key=key).status, other.post(key=key).status} <= {201, 503}
    wait_until(lambda: all(gateway.post(key=key).status == 201 for key in shared),
               what="both on the new index")
    assert [upstream.runs(key) for key in [*keys, *shared]] == [1] * 25
    assert all(other.post(key=key).replayed for key in shared)


def test_a_release_beside_a_removed_index_reaches_the_gateway(start_gateway, upstream):
    gateway = start_gateway(upstream, {"gateway": {"replay_cache": "0"}})
    key = next(iter(run_some(gateway, 1)))
    beside(gateway, "-shm").unlink()
    released = gateway.command("keys", "release", key)
    assert released.returncode == 0, released
    wait_until(lambda: not refused(gateway, key), what="the gateway on the new index")
    assert upstream.runs(key) == 2
    assert gateway.state(key) == "completed"


@pytest.mark.parametrize("suffixes", [("",), ("", "-wal", "-shm", "-lock")],
                         ids=["the file", "all of them"])
def test_a_store_that_is_away_for_a_moment_loses_nothing(start_gateway, upstream, fresh_key,
                                                         tmp_path, suffixes):
    settings = config(tmp_path)
    settings["defaults"] = {"lease": "30s"}  # a loss would be refused for a minute and a half
    gateway = start_gateway(upstream, settings)
    keys = list(run_some(gateway, 5))
    for suffix in suffixes:
        os.rename(beside(gateway, suffix), gateway.folder / f"away{suffix}")
    for key in [*keys, fresh_key()]:
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True, retry_after=True)
    assert not gateway.database.exists()
    for suffix in suffixes:
        os.rename(gateway.folder / f"away{suffix}", beside(gateway, suffix))
    assert answers_again(gateway, keys)
    assert [upstream.runs(key) for key in keys] == [1] * 5
    assert_first(gateway.post(key=fresh_key()))
    assert "store-lost-its-memory" not in gateway.log()


def test_no_store_is_begun_beside_the_log_of_a_missing_file(start_gateway, upstream):
    gateway = start_gateway(upstream)
    keys = list(run_some(gateway, 5))
    gateway.kill()
    os.rename(gateway.database, gateway.folder / "away")
    before = beside(gateway, "-wal").read_bytes()
    for empty in (False, True):
        if empty:
            gateway.database.touch()
        starts_without_its_store(gateway, "but its log")
        assert beside(gateway, "-wal").read_bytes() == before
    os.rename(gateway.folder / "away", gateway.database)
    gateway.start()
    assert all(gateway.post(key=key).replayed for key in keys)


def test_restore_keeps_the_log_of_a_missing_file(start_gateway, upstream):
    gateway = start_gateway(upstream)
    keys = list(run_some(gateway, 3))
    saved = backup(gateway)
    gateway.kill()
    log = beside(gateway, "-wal").read_bytes()
    gateway.database.unlink()
    assert restore(gateway, saved).returncode == 0
    assert beside(gateway, ".replaced-1-wal").read_bytes() == log
    gateway.start()
    assert all(gateway.post(key=key).replayed for key in keys)


# ---- one file under two names ---------------------------------------------------------------
def hard_link(gateway, folder):
    os.link(gateway.database, folder / "other.db")
    return []


def single_file_mount(gateway, folder):
    """As `docker run -v /var/lib/keys.db:/data/keys.db` does."""
    (folder / "other.db").touch()
    return ["unshare", "--mount", "sh", "-c",
            f"mount --bind '{gateway.database}' '{folder / 'other.db'}'" ' && exec "$@"', "sh"]


@pytest.mark.parametrize("name", [hard_link, single_file_mount])
def test_a_file_with_a_second_name_is_refused(start_gateway, upstream, tmp_path, name):
    """Each name would have a log of its own, and the two would not see each other's keys."""
    gateway = start_gateway(upstream)
    key = next(iter(run_some(gateway, 1)))
    inside = name(gateway, tmp_path)
    url = f"sqlite:{tmp_path / 'other.db'}"
    for command in (["gateway", "--listen", "127.0.0.1:0", "--upstream", upstream.url],
                    ["keys", "list"], ["keys", "release", key]):
        other = subprocess.run([*inside, str(gateway.binary), *command, "--store", url],
                               capture_output=True, text=True, timeout=60, check=False,
                               env=clean_environment())
        assert other.returncode == (3 if command[0] == "gateway" else 4), other
        assert "more than one name" in other.stderr or "single file" in other.stderr
    assert gateway.post(key=key).replayed
    assert upstream.runs(key) == 1


def test_a_directory_under_two_names_is_one_store(start_gateway, upstream, fresh_key, tmp_path):
    gateway = start_gateway(upstream)
    (tmp_path / "link").symlink_to(gateway.folder)
    other = start_gateway(upstream, database=tmp_path / "link" / gateway.database.name)
    for key in [fresh_key() for _ in range(5)]:
        assert_first(gateway.post(key=key))
        assert other.post(key=key).replayed


@pytest.mark.parametrize("sandbox", ["off", "auto"])
def test_a_link_that_leads_elsewhere_is_a_replaced_file(start_gateway, upstream, fresh_key,
                                                        tmp_path, sandbox):
    """The commands would go to the new place, and the gateway would stay in the old one. Its
    sandbox lets it go there with its next start."""
    for version in ("one", "two"):
        (tmp_path / version).mkdir()
    (tmp_path / "current").symlink_to(tmp_path / "one")
    gateway = start_gateway(
        upstream, {"store": {"after_loss": "flag"}, "gateway": {"sandbox": sandbox}},
        database=tmp_path / "current" / "keys.db")
    other = start_gateway(upstream, database=tmp_path / "two" / "keys.db")
    run_some(gateway, 1)
    key = fresh_key()
    first = assert_first(other.post(key=key))
    (tmp_path / "next").symlink_to(tmp_path / "two")
    os.replace(tmp_path / "next", tmp_path / "current")
    if any(line["event"] == "shut-in" and line["files"] for line in gateway.log_lines()):
        wait_until(lambda: refused(gateway, fresh_key()), what="a refusal")
        gateway.restart()
    wait_until(lambda: not refused(gateway, fresh_key()), what="the gateway in the new place")
    assert_replay_of(gateway.post(key=key), first)


# ---- a damaged log --------------------------------------------------------------------------
def overwrite(position_of, size):
    def damage(log):
        with open(log, "r+b") as file:
            file.seek(position_of(log.stat().st_size))
            file.write(b"\xff" * size)
    return damage


@pytest.mark.parametrize("damage", [
    overwrite(lambda size: size // 2, 64), overwrite(lambda size: 8, 16),
    overwrite(lambda size: 0, 32), overwrite(lambda size: 32, 24),
    overwrite(lambda size: size // 2, 8192)],
    ids=["in the middle", "salts", "head", "first frame", "two pages"])
@pytest.mark.parametrize("running", [True, False], ids=["running", "killed"])
def test_what_stands_behind_damage_in_the_log_is_not_silently_forgotten(start_gateway, upstream,
                                                                        damage, running):
    """SQLite takes a damaged log for a short one; without a state_dir nobody else would know."""
    gateway = start_gateway(upstream)
    keys = list(run_some(gateway, 10))
    gateway.restart()
    keys += run_some(gateway, 10)
    if running:
        damage(beside(gateway, "-wal"))
    gateway.kill()
    if not running:
        damage(beside(gateway, "-wal"))
    before = beside(gateway, "-wal").read_bytes()
    starts_without_its_store(gateway, "is damaged")
    listed = gateway.command("keys", "list")
    assert listed.returncode == 4
    assert before == beside(gateway, "-wal").read_bytes()
    # As the message says.
    (gateway.folder / "aside").mkdir()
    for suffix in ("", "-wal", "-shm"):
        os.rename(beside(gateway, suffix), gateway.folder / "aside" / f"keys.db{suffix}")
    restored = restore(gateway, gateway.folder / "aside" / "keys.db")
    assert restored.returncode == 0, restored
    gateway.start()
    assert all(gateway.post(key=key).replayed for key in keys[:10])


@pytest.mark.parametrize("rest", ["cut", "zeros"])
def test_a_last_transaction_that_is_incomplete_is_no_damage(start_gateway, upstream, rest):
    """As a power cut leaves it; it was never answered."""
    gateway = start_gateway(upstream)
    keys = list(run_some(gateway, 10))
    gateway.kill()
    log = beside(gateway, "-wal")
    end = log.stat().st_size
    with open(log, "r+b") as file:
        file.truncate(end - 2000)
        if rest == "zeros":
            file.truncate(end)
    gateway.start()
    assert all(gateway.post(key=key).replayed for key in keys[:9])
