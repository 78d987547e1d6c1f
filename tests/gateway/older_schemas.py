"""What 0.1.0 left in a store of another schema, and this version: a file is brought up to date,
records of other stores are exported and imported, and none of the two misreads the other.

Not of the suites that run each time: it needs a program with those schemas, ONCEGUARD_OLDER.
`./dev upgrades` builds that and runs this.
"""

import os
import pathlib
import subprocess

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import Gateway, clean_environment

CONFIG = {"replay_cache": "0"}


@pytest.fixture(scope="session")
def older():
    path = pathlib.Path(os.environ["ONCEGUARD_OLDER"])
    assert os.access(path, os.X_OK), f"no program at {path}"
    return path


@pytest.fixture
def begin(own_upstream, tmp_path_factory):
    """Starts a gateway of that program on that store, with no cache that answers for it."""
    made = []

    def start(program, url, wait=True):
        gateway = Gateway(program, tmp_path_factory.mktemp("gateway"), own_upstream.url,
                          {"store": {"url": url}, "gateway": CONFIG})
        made.append(gateway)
        return gateway.start(wait)
    yield start
    for gateway in made:
        if gateway.log():
            print(gateway.log()[-2000:])
        gateway.close()


@pytest.fixture
def run(tmp_path):
    def command(program, *words):
        return subprocess.run([program, *words], cwd=tmp_path, env=clean_environment(), text=True,
                              capture_output=True, timeout=60, check=False)
    return command


class Left:
    """Of a gateway that was stopped: a kept answer, and a key whose outcome is unknown."""

    def __init__(self, gateway, fresh_key):
        self.done, self.unknown = fresh_key(), fresh_key()
        self.first = assert_first(gateway.post(key=self.done))
        gateway.post(key=self.unknown, plan={"status": 500})
        assert gateway.state(self.unknown) == "unknown"
        assert gateway.stop() == 0

    def is_known_to(self, gateway, upstream):
        assert_replay_of(gateway.post(key=self.done), self.first)
        assert_problem(gateway.post(key=self.done, body=b'{"amount":7}'), 422, "key-reused", False)
        assert_problem(gateway.post(key=self.unknown, plan={"status": 500}), 409,
                       "outcome-unknown", False)
        assert [upstream.runs(key) for key in (self.done, self.unknown)] == [1, 1]


def test_a_file_is_brought_up_to_date_and_the_older_program_refuses_it_then(
        older, onceguard, begin, run, own_upstream, fresh_key, tmp_path):
    url = f"sqlite:{tmp_path}/keys.db"
    left = Left(begin(older, url), fresh_key)
    gateway = begin(onceguard, url)
    left.is_known_to(gateway, own_upstream)
    key = fresh_key()
    first = assert_first(gateway.post(key=key))
    assert gateway.stop() == 0

    before = (tmp_path / "keys.db").read_bytes()
    refused = begin(older, url, wait=False)
    assert refused.wait() != 0
    assert "was written by a newer version of onceguard" in refused.log()
    done = run(older, "keys", "list", "--store", url)
    assert done.returncode != 0
    assert "was written by a newer version of onceguard" in done.stderr
    assert (tmp_path / "keys.db").read_bytes() == before

    gateway = begin(onceguard, url)
    assert_replay_of(gateway.post(key=key), first)
    left.is_known_to(gateway, own_upstream)


def test_a_file_that_is_brought_up_to_date_under_the_older_program_runs_nothing_twice(
        older, onceguard, begin, own_upstream, fresh_key, tmp_path):
    url = f"sqlite:{tmp_path}/keys.db"
    old = begin(older, url)
    known = fresh_key()
    first = assert_first(old.post(key=known))
    new = begin(onceguard, url)
    assert_replay_of(new.post(key=known), first)
    assert_replay_of(old.post(key=known), first)
    written = fresh_key()
    first = assert_first(new.post(key=written))
    for _ in range(3):
        assert old.post(key=written).problem == "record-unreadable"
    assert_replay_of(new.post(key=written), first)
    later = fresh_key()
    first = assert_first(old.post(key=later))
    assert_replay_of(new.post(key=later), first)
    assert [own_upstream.runs(key) for key in (known, written, later)] == [1, 1, 1]


def exported(program, run, file, url):
    done = run(program, "keys", "export", file, "--store", url)
    assert done.returncode == 0, done


def imported(program, run, file, url):
    done = run(program, "keys", "import", file, "--store", url)
    assert done.returncode == 0, done


def test_a_schema_of_postgresql_is_refused_and_its_keys_are_imported(
        older, onceguard, begin, run, own_upstream, fresh_key, postgres_server, tmp_path):
    name = postgres_server.create_database()
    url = postgres_server.url(name)
    assert run(older, "migrate", "--store", url).returncode == 0
    left = Left(begin(older, url), fresh_key)

    done = run(onceguard, "migrate", "--store", url)
    assert done.returncode == 3
    assert "an earlier Onceguard made this schema" in done.stderr
    gateway = begin(onceguard, url)
    assert "no schema onceguard of this version" in gateway.logged("store-not-opened")[0]["why"]
    assert gateway.post(key=left.done).status == 503
    assert gateway.stop() == 0

    exported(older, run, tmp_path / "keys.jsonl", url)
    with postgres_server.connect(name) as session:
        session.execute("DROP SCHEMA onceguard CASCADE")
    done = run(onceguard, "migrate", "--store", url)
    assert done.returncode == 0, done
    imported(onceguard, run, tmp_path / "keys.jsonl", url)
    gateway = begin(onceguard, url)
    left.is_known_to(gateway, own_upstream)

    refused = begin(older, url, wait=False)
    assert refused.wait() != 0
    assert "no schema onceguard of this version" in refused.log()
    assert run(older, "migrate", "--store", url).returncode == 3
    left.is_known_to(gateway, own_upstream)


def test_records_of_redis_are_not_misread_and_are_imported_elsewhere(
        older, onceguard, begin, run, own_upstream, fresh_key, redis_server, tmp_path):
    url, another = redis_server.create_store(), redis_server.create_store()
    left = Left(begin(older, url), fresh_key)
    gateway = begin(onceguard, url)
    for key in left.done, left.unknown:
        assert_problem(gateway.post(key=key), 500, "record-unreadable", False)
        assert own_upstream.runs(key) == 1
    assert gateway.stop() == 0
    exported(older, run, tmp_path / "keys.jsonl", url)
    imported(onceguard, run, tmp_path / "keys.jsonl", another)
    left.is_known_to(begin(onceguard, another), own_upstream)
    back = begin(older, another)
    for key in left.done, left.unknown:
        assert back.post(key=key).problem == "record-unreadable"
        assert own_upstream.runs(key) == 1
