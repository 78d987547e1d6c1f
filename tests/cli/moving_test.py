"""`keys export` and `keys import`: live keys move to another store and stay what they are."""

import hashlib
import itertools
import json
import os
import signal
import sqlite3
import subprocess

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import PATIENT, clean_environment
from support.processes import stopped_amid_its_work

KINDS = ("sqlite", "postgresql", "redis", "dynamodb")
BIG = {"size": 50_000, "headers": [["Link", "a"], ["Link", "b"], ["X-Kept", "1"]]}


@pytest.fixture
def make_store(request, tmp_path):
    """The URL of a fresh store of that kind."""
    numbers = itertools.count()

    def make(kind):
        if kind == "sqlite":
            return f"sqlite:{tmp_path}/store-{next(numbers)}.db"
        if kind == "redis":
            return request.getfixturevalue("redis_server").create_store()
        if kind == "dynamodb":
            return request.getfixturevalue("dynamodb_server").create_store()
        server = request.getfixturevalue("postgres_server")
        return server.url(server.create_store())
    return make


@pytest.fixture
def keys(onceguard, tmp_path):
    """Runs `onceguard keys …` on a store."""
    def run(*arguments, store):
        return subprocess.run([str(onceguard), "keys", *map(str, arguments), "--store", store],
                              cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env={**clean_environment(), **PATIENT}, check=False)
    return run


@pytest.fixture
def listed(keys):
    def run(store):
        done = keys("list", "--json", store=store)
        assert done.returncode == 0, done
        return {r["key"]: r for r in map(json.loads, done.stdout.splitlines())}
    return run


@pytest.fixture
def file(tmp_path):
    return tmp_path / "records.jsonl"


def said(done, code, *texts):
    assert done.returncode == code, done
    for text in texts:
        assert text in done.stdout + done.stderr, done
    return done


def sealed(lines):
    """The lines of a file with the last one that belongs to them, as docs/formats.md says."""
    chain = bytes(32)
    for line in lines:
        chain = hashlib.sha256(chain + line.encode()).digest()
    end = json.dumps({"end": len(lines) - 1, "sum": chain.hex()}, separators=(",", ":"))
    return "".join(line + "\n" for line in [*lines, end])


def changed(line, **members):
    return json.dumps({**json.loads(line), **members}, separators=(",", ":"))


def gist(records):
    """Without what goes by with time."""
    return {key: [record[name] for name in ("state", "token", "attempt", "claimed_at")]
            for key, record in records.items()}


def export_was(file, minutes):
    """As if it had been so long ago."""
    head, *records, _ = file.read_text().splitlines()
    then = json.loads(head)["exported_at_ms"] - minutes * 60_000
    file.write_text(sealed([changed(head, exported_at_ms=then), *records]))


def test_a_dash_is_standard_output(make_store, keys, listed, file, start_gateway, own_upstream,
                                   fresh_key, tmp_path):
    """Nothing else is written to it."""
    old, new = make_store("sqlite"), make_store("sqlite")
    gateway = start_gateway(own_upstream, {"store": {"url": old}})
    key = fresh_key()
    assert_first(gateway.post(key=key, plan=BIG))
    gateway.stop()
    exported = said(keys("export", "-", store=old), 0)
    said(keys("export", file, store=old), 0, "1 records exported")
    assert len(exported.stdout.splitlines()) == 3 and not (tmp_path / "-").exists()
    file.write_text(exported.stdout)
    said(keys("import", file, store=new), 0, "1 records imported")
    assert set(listed(new)) == {key} and listed(new)[key]["state"] == "completed"


@pytest.mark.parametrize("source, target", [pair for pair in itertools.product(KINDS, KINDS)
                                            if pair[0] != pair[1]] + [("redis", "redis")])
def test_every_key_lives_on_in_another_store(source, target, make_store, keys, listed, file,
                                             start_gateway, own_upstream, fresh_key):
    old, new = make_store(source), make_store(target)
    config = {"route": [{"path": "/brief", "retention": "10m"}]}
    done, unknown, released, brief = (fresh_key() for _ in range(4))
    gateway = start_gateway(own_upstream, {"store": {"url": old}, **config})
    first = assert_first(gateway.post(key=done, plan=BIG))
    assert gateway.post(key=unknown, plan={"status": 500}).status == 500
    assert gateway.post(key=released, plan={"status": 404}).status == 404
    assert_first(gateway.post("/brief", key=brief))
    gateway.stop()
    before = listed(old)
    said(keys("export", file, store=old), 0, "4 records exported")
    export_was(file, minutes=20)

    said(keys("import", file, store=new), 0, "3 records imported", "1 have expired")
    assert {key: record["state"] for key, record in listed(new).items()} == {
        done: "completed", unknown: "unknown", released: "released"}
    said(keys("import", file, store=new), 0, "0 records imported", "3 were there already")
    gateway = start_gateway(own_upstream, {"store": {"url": new}, **config})
    assert_replay_of(gateway.post(key=done), first)
    assert_problem(gateway.post(key=done, body=b"another"), 422, "key-reused", False)
    assert_problem(gateway.post(key=unknown), 409, "outcome-unknown", False)
    assert_problem(gateway.post(key=unknown, body=b"another"), 422, "key-reused", False)
    assert_first(gateway.post(key=released))
    assert_first(gateway.post("/brief", key=brief))
    after = listed(new)
    assert after[done]["retention_left_ms"] <= (24 * 60 - 20) * 60_000
    assert after[done]["token"] == before[done]["token"]
    assert after[released]["token"] > max(record["token"] for record in before.values())
    assert after[released]["attempt"] == 2

    reported = said(keys("import", file, store=new), 1, "2 were there already",
                "1 stand there differently")
    assert released in reported.stderr and "left as it is" not in reported.stdout
    assert gist(listed(new)) == gist(after)
    assert own_upstream.effects() == {done: 1, unknown: 1, released: 2, brief: 2}


def in_order_of_claims(keys, records, many):
    """The keys as they come, but for those that were claimed in the same millisecond."""
    ordered = []
    for _, together in itertools.groupby(keys, lambda key: records[key]["claimed_at"]):
        ordered += sorted(together, key=many.index)
    return ordered


@pytest.mark.parametrize("source", KINDS)
def test_many_records_come_in_their_order(source, make_store, keys, listed, file, start_gateway,
                                          own_upstream, fresh_key):
    old, new = make_store(source), make_store("sqlite")
    many = [fresh_key() for _ in range(250)]
    gateway = start_gateway(own_upstream, {"store": {"url": old}})
    with gateway.connect() as line:
        for key in many:
            line.send_request("POST", "/charges", [("Idempotency-Key", key)], key.encode())
            assert_first(line.read())
    gateway.stop()
    said(keys("export", file, store=old), 0, "250 records exported")
    said(keys("import", file, store=new), 0, "250 records imported")
    assert sorted(listed(new)) == sorted(many)
    rows = [json.loads(line) for line in file.read_text().splitlines()][1:-1]
    records = listed(old)
    for keys_there in ([row["key"] for row in rows], records):
        assert in_order_of_claims(keys_there, records, many) == many


@pytest.mark.parametrize("source", KINDS)
def test_what_is_under_way_has_to_be_forced_and_is_unknown(source, make_store, keys, listed, file,
                                                           start_gateway, own_upstream, key):
    old, new = make_store(source), make_store("redis")
    gateway = start_gateway(own_upstream, {"store": {"url": old}})
    with gateway.begin_post(key=key, plan={"gate": key}) as request:
        own_upstream.arrived(1, key)
        said(keys("export", file, store=old), 1, f"the key {key} is being run", "--force")
        assert list(file.parent.glob(file.name + "*")) == []
        said(keys("export", file, "--force", store=old), 0, "1 records exported")
        said(keys("import", file, store=new), 0, "1 records imported")
        assert listed(new)[key]["state"] == "unknown"
        own_upstream.open(key)
        assert_first(request.read())
    other = start_gateway(own_upstream, {"store": {"url": new}})
    assert_problem(other.post(key=key), 409, "outcome-unknown", False)
    assert own_upstream.runs(key) == 1


@pytest.mark.parametrize("source", KINDS)
def test_an_export_reports_records_claimed_meanwhile(source, make_store, onceguard, file,
                                                              start_gateway, own_upstream,
                                                              fresh_key):
    store = make_store(source)
    gateway = start_gateway(own_upstream, {"store": {"url": store}})
    for _ in range(3):
        assert_first(gateway.post(key=fresh_key(), plan=BIG))
    part = f"{file}.part"
    os.mkfifo(part)  # more goes in than a pipe holds: it waits for who reads
    export = subprocess.Popen([str(onceguard), "keys", "export", str(file), "--store", store],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**clean_environment(), **PATIENT})
    with open(part, "rb") as pipe:
        assert pipe.read(1) == b"{"
        assert_first(gateway.post(key=fresh_key()))
        pipe.read()
    _, why = export.communicate(timeout=60)
    assert export.returncode == 1 and "keys were claimed meanwhile" in why, why
    assert list(file.parent.glob(file.name + "*")) == []


def test_an_export_keeps_a_file_that_came_meanwhile(make_store, onceguard, file, start_gateway,
                                                    own_upstream, fresh_key):
    store = make_store("sqlite")
    gateway = start_gateway(own_upstream, {"store": {"url": store}})
    for _ in range(200):
        assert_first(gateway.post(key=fresh_key(), plan=BIG))
    export = stopped_amid_its_work([str(onceguard), "keys", "export", str(file), "--store", store],
                                   f"{file}.part", made=file)
    file.write_text("somebody else's")
    export.send_signal(signal.SIGCONT)
    _, why = export.communicate(timeout=60)
    assert export.returncode == 1 and "there is such a file already" in why, why
    assert file.read_text() == "somebody else's"
    assert list(file.parent.glob(file.name + ".*")) == []


@pytest.fixture
def exported(make_store, keys, file, start_gateway, own_upstream, fresh_key):
    """A good file of three records, as lines."""
    store = make_store("sqlite")
    gateway = start_gateway(own_upstream, {"store": {"url": store}})
    for _ in range(3):
        assert_first(gateway.post(key=fresh_key()))
    gateway.stop()
    said(keys("export", file, store=store), 0, "3 records exported")
    return file.read_text().splitlines()


def test_the_file_is_as_the_documentation_says(exported, file, keys, make_store):
    assert file.read_text() == sealed(exported[:-1])
    assert file.stat().st_mode & 0o777 == 0o600
    head, first = json.loads(exported[0]), json.loads(exported[1])
    assert (head["onceguard_export"], head["store"]) == (2, "sqlite")
    assert set(first) == {"key", "state", "id", "record", "sum"}
    again = said(keys("export", file, store=make_store("redis")), 1, "there is such a file already")
    assert again.stdout == ""
    assert file.read_text() == sealed(exported[:-1])


def test_a_file_of_the_former_format_is_read(exported, file, keys, make_store):
    head, *records, _ = exported
    file.write_text(sealed([changed(head, onceguard_export=1), *records]))
    said(keys("import", file, store=make_store("redis")), 0, "3 records imported")


def flipped(line):
    """With another letter in the middle of the record."""
    record = json.loads(line)["record"]
    middle = len(record) // 2
    other = "A" if record[middle] != "A" else "B"
    return changed(line, record=record[:middle] + other + record[middle + 1:])


DAMAGE = {
    "empty": (lambda lines: "", "line 1: this is no file of `onceguard keys export`"),
    "something else": (lambda lines: '{"a":1}\n', "line 1: this is no file"),
    "newer": (lambda lines: sealed([changed(lines[0], onceguard_export=3), *lines[1:-1]]),
              "line 1: format 3 is newer than 2"),
    "head without its time": (lambda lines: sealed([changed(lines[0], exported_at_ms="x"),
                                                    *lines[1:-1]]), "line 1: it does not say when"),
    "cut between lines": (lambda lines: "\n".join(lines[:3]) + "\n", "line 4: the file breaks off"),
    "cut within a line": (lambda lines: "\n".join(lines[:3])[:-20], "line 3: the file breaks off"),
    "cut within the end": (lambda lines: "\n".join(lines), "line 5: the file breaks off"),
    "a bit of a record": (lambda lines: sealed([*lines[:2], flipped(lines[2]), lines[3]]),
                          "line 3: it is damaged: its sum is another one"),
    "another id": (lambda lines: sealed([*lines[:3], changed(lines[3], id="00" * 32)]),
                   "line 4: it is damaged: its sum is another one"),
    "no base64": (lambda lines: sealed([lines[0], changed(lines[1], record="!!!!"), *lines[2:-1]]),
                  "line 2: it is damaged: the record is not base64"),
    "no id": (lambda lines: sealed([lines[0], changed(lines[1], id=7), *lines[2:-1]]),
              "line 2: it is damaged: id, record or sum is missing"),
    "no JSON": (lambda lines: sealed([*lines[:2], lines[2][:-1], lines[3]]),
                "line 3: it is damaged: no JSON object"),
    "a line is missing": (lambda lines: "\n".join([*lines[:2], *lines[3:]]) + "\n",
                          "line 4: of 3 records 2 are here"),
    "a line twice": (lambda lines: "\n".join([*lines[:2], lines[1], *lines[2:]]) + "\n",
                     "line 6: of 3 records 4 are here"),
    "lines change places": (lambda lines: "\n".join(
        [lines[0], lines[2], lines[1], *lines[3:]]) + "\n", "line 5: the sum of all lines"),
    "two files": (lambda lines: 2 * sealed(lines[:-1]), "line 6: something follows the end"),
    "a clock ahead": (lambda lines: sealed([changed(
        lines[0], exported_at_ms=json.loads(lines[0])["exported_at_ms"] + 3_600_000),
        *lines[1:-1]]), "ahead of this machine's clock"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_of_a_damaged_file_nothing_is_imported(damage, exported, file, keys, make_store, listed):
    make, why = DAMAGE[damage]
    text = make(exported)
    assert text != sealed(exported[:-1])
    file.write_text(text)
    store = make_store("redis")
    done = said(keys("import", file, store=store), 1, why)
    assert done.stderr.startswith(f"onceguard: {file}: ") and done.stdout == ""
    assert listed(store) == {}


def test_records_that_cannot_be_read_are_not_left_behind_unsaid(make_store, keys, file,
                                                                start_gateway, own_upstream,
                                                                fresh_key):
    store = make_store("sqlite")
    gateway = start_gateway(own_upstream, {"store": {"url": store}})
    good, bad = fresh_key(), fresh_key()
    for key in (good, bad):
        assert_first(gateway.post(key=key))
    gateway.stop()
    with sqlite3.connect(store.removeprefix("sqlite:")) as at:
        at.execute("UPDATE records SET record = x'00' WHERE id = (SELECT max(id) FROM records)")
    at.close()
    said(keys("export", file, store=store), 1, "1 records can't be read", "--force")
    said(keys("export", file, "--force", store=store), 0, "1 records exported")


def test_a_file_that_is_not_there_and_a_store_that_is_not_there(keys, file, make_store, exported):
    said(keys("import", file.parent / "nothing", store=make_store("redis")), 1,
         "nothing: it can't be opened")
    nobody = keys("import", file, "--store-timeout", "2s", store="redis://127.0.0.1:1")
    said(nobody, 4, "redis 127.0.0.1:1")
    said(keys("import", file, store="memory:"), 4, "can't be seen from another process")
    said(keys("export", file.parent / "no" / "folder", store=make_store("redis")), 1, "no/folder")
