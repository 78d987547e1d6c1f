"""Keys that are kept as their HMAC: where a key in the clear is not, and whose keys meet whose."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of

SCALE = float(os.environ.get("ONCEGUARD_TEST_SCALE", "1"))
PLANTED = 200 if SCALE >= 1 else max(30, int(200 * SCALE))
CACHELESS = {"replay_cache": "0"}


@pytest.fixture
def pepper(tmp_path):
    """Writes a pepper as an operator does, and returns the path of its file."""
    def write(letter, mode=0o600):
        path = tmp_path / f"pepper-{letter}-{mode:o}"
        path.write_text(letter * 40 + "\n")
        path.chmod(mode)
        return str(path)
    return write


def with_pepper(path, gateway=None, store=None, **more):
    return {"gateway": gateway or {}, "store": {"key_pepper_file": path, **(store or {})}, **more}


def onceguard_of(gateway, *words):
    return subprocess.run([str(gateway.binary), *words, "--config", str(gateway.config_path)],
                          capture_output=True, text=True, timeout=60, cwd=gateway.folder)


def files_in(folder, pattern):
    return b"".join(path.read_bytes() for path in pathlib.Path(folder).glob(pattern))


def refused_at_start(gateway, config, reason):
    if gateway.process:
        gateway.stop()
    gateway.write_config(config)
    assert gateway.start(wait=False).wait() == 3
    assert reason in gateway.log()


def test_a_planted_key_is_nowhere_but_at_the_service(start_gateway, own_upstream, pepper,
                                                     admin_listener, key):
    audit = pathlib.Path(pepper("p")).parent / "audit.log"
    gateway = start_gateway(own_upstream, with_pepper(
        pepper("p"), {"admin": admin_listener.text, "access_log": "all", "audit_log": str(audit)},
        log={"level": "debug"}))
    planted = [f"sesame-{key}-{number}" for number in range(PLANTED)]
    for number, secret in enumerate(planted):
        first = assert_first(gateway.post(key=secret))
        if number % 10 == 0:
            assert_replay_of(gateway.post(key=secret), first)
            reused = gateway.post(key=secret, body=b'{"amount":1}')
            assert_problem(reused, 422, "key-reused", False)
    unknown = f"sesame-{key}-unknown"
    assert gateway.post(key=unknown, plan={"status": 500}).status == 500
    assert own_upstream.runs(planted[0]) == 1, "the service gets the key itself"
    settled = onceguard_of(gateway, "keys", "complete", unknown, "--status", "200", "--reason", "I")
    assert settled.returncode == 0, settled
    said = {"store": files_in(gateway.folder, gateway.database.name + "*"),
            "metrics": admin_listener.get("/metrics").body,
            "lists": admin_listener.get("/api/records?limit=1000").body,
            "overview": admin_listener.get("/api/overview").body,
            "recent": admin_listener.get("/api/recent").body,
            "keys list": onceguard_of(gateway, "keys", "list").stdout.encode(),
            "audit log": audit.read_bytes()}
    assert b"hmac-" in said["audit log"] and b"hmac-" in said["recent"]
    gateway.stop()
    said["log"] = gateway.log().encode()
    said["store after the end"] = files_in(gateway.folder, gateway.database.name + "*")
    for place, text in said.items():
        assert b"sesame" not in text, place
    assert said["keys list"].count(b"hmac-") == PLANTED + 1, "what is looked through is the store"


def redis_url(server):
    server.start()
    return f"redis://127.0.0.1:{server.port.number}"


@pytest.mark.parametrize("engine", ["sqlite", "journal", "redis", "postgresql"])
def test_a_store_is_for_one_pepper(start_gateway, own_upstream, pepper, tmp_path, request, engine,
                                   key):
    urls = {"sqlite": lambda: None,
            "journal": lambda: f"journal:{tmp_path}/journal",
            "redis": lambda: redis_url(request.getfixturevalue("redis")),
            "postgresql": lambda: request.getfixturevalue("postgres_server").url(
                request.getfixturevalue("database"))}
    url = urls[engine]()
    store = {"url": url} if url else {}
    right = with_pepper(pepper("p"), CACHELESS, store)
    gateway = start_gateway(own_upstream, right)
    first = assert_first(gateway.post(key=key))
    refused_at_start(gateway, with_pepper(pepper("q"), CACHELESS, store), "another pepper")
    refused_at_start(gateway, {"store": store}, "are kept with a pepper")
    gateway.write_config(right)
    gateway.start()
    assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.runs(key) == 1


def test_is_not_turned_on_over_keys_in_the_clear(start_gateway, own_upstream, pepper, key):
    gateway = start_gateway(own_upstream)
    first = assert_first(gateway.post(key=key))
    refused_at_start(gateway, with_pepper(pepper("p")), "keys that are kept in the clear")
    gateway.write_config({})
    gateway.start()
    assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.runs(key) == 1


def test_keys_in_the_clear_move_into_a_store_with_a_pepper(start_gateway, own_upstream, pepper,
                                                           tmp_path, key):
    gateway = start_gateway(own_upstream)
    first = assert_first(gateway.post(key=key))
    gateway.stop()
    moved = tmp_path / "moved.jsonl"
    assert onceguard_of(gateway, "keys", "export", str(moved)).returncode == 0
    other = start_gateway(own_upstream, with_pepper(pepper("p")), started=False)
    taken = onceguard_of(other, "keys", "import", str(moved), "--reason", "moving")
    assert taken.returncode == 0, taken
    other.start()
    assert_replay_of(other.post(key=key), first)
    assert own_upstream.runs(key) == 1
    # What is kept with a pepper leaves as it is, and is of use with the pepper only.
    other.stop()
    other.write_config({})
    again = tmp_path / "again.jsonl"
    assert onceguard_of(other, "keys", "export", str(again)).returncode == 0
    assert key not in again.read_text() and "hmac-" in again.read_text()
    third = start_gateway(own_upstream, {}, started=False)
    refused = onceguard_of(third, "keys", "import", str(again), "--reason", "moving")
    assert refused.returncode == 1 and "set [store] key_pepper_file" in refused.stderr
    third.write_config(with_pepper(pepper("p")))
    assert onceguard_of(third, "keys", "import", str(again), "--reason", "moving").returncode == 0
    third.start()
    assert_replay_of(third.post(key=key), first)
    assert own_upstream.runs(key) == 1


def test_a_file_of_another_pepper_brings_nothing(start_gateway, own_upstream, pepper, tmp_path,
                                                 key):
    """Its clear keys neither: whose file it is was a mistake."""
    gateway = start_gateway(own_upstream, with_pepper(pepper("p")))
    assert_first(gateway.post(key=key))
    gateway.stop()
    moved = tmp_path / "moved.jsonl"
    assert onceguard_of(gateway, "keys", "export", str(moved)).returncode == 0
    other = start_gateway(own_upstream, with_pepper(pepper("q")), started=False)
    audit = tmp_path / "audit"
    refused = onceguard_of(other, "keys", "import", str(moved), "--reason", "moving",
                           "--audit-log", str(audit))
    assert refused.returncode == 1 and "with another pepper" in refused.stderr, refused
    assert "records imported" not in refused.stdout and audit.read_text() == ""
    assert onceguard_of(other, "keys", "list").stdout == ""


def test_a_process_with_another_pepper_is_no_successor(start_gateway, own_upstream, pepper, key):
    """Over an empty store neither: the running process keeps its keys in another way."""
    gateway = start_gateway(own_upstream)
    gateway.write_config(with_pepper(pepper("p")))
    gateway.signal(signal.SIGUSR2)
    gateway.says('"upgrade-failed"')
    assert "the running process has another store" in gateway.log()
    assert "with key pepper" not in gateway.log()
    assert_first(gateway.post(key=key))


def test_an_operator_finds_by_the_key(start_gateway, own_upstream, pepper, admin_listener, tmp_path,
                                      key):
    gateway = start_gateway(own_upstream, with_pepper(
        pepper("p"), {"admin": admin_listener.text, "audit_log": str(tmp_path / "audit")}))
    for caller in ("ann", "bob"):
        bearer = [("Authorization", f"Bearer {caller}")]
        assert gateway.post(key=key, plan={"status": 500}, fields=bearer).status == 500
    listed = admin_listener.records(f"key={key}")
    assert len(listed) == 2 and len({one["key"] for one in listed}) == 1
    kept, record = listed[0]["key"], listed[0]["record"]
    assert kept.startswith("hmac-") and len(admin_listener.records(f"key={kept}")) == 2
    assert [one["record"] for one in admin_listener.records(f"text={key}")] == [
        one["record"] for one in listed]
    assert admin_listener.records(f"text={key[:-1]}") == []
    assert len(admin_listener.records(f"text={kept[:12]}")) == 2
    assert kept in admin_listener.get(f"/api/recent?key={key}").body.decode()
    scope = listed[0]["scope"]
    for words in (["show", key, "--scope", scope], ["show", kept, "--scope", scope],
                  ["show", record]):
        shown = onceguard_of(gateway, "keys", *words, "--json")
        assert json.loads(shown.stdout)["record"] == record, shown
    assert onceguard_of(gateway, "keys", "list", "--key", key).stdout.count(kept) == 2
    done = onceguard_of(gateway, "keys", "release", key, "--scope", scope, "--force", "--reason",
                        "seen at the bank")
    assert done.returncode == 0, done
    for given in (key, kept, kept[:12]):
        entries = admin_listener.get(f"/api/audit?key={given}").json()["entries"]
        assert [one["key"] for one in entries] == [kept, kept], given
    statuses = sorted(gateway.post(key=key, fields=[("Authorization", f"Bearer {caller}")]).status
                      for caller in ("ann", "bob"))
    assert statuses[0] < 300 and statuses[1] == 409, statuses
    assert own_upstream.runs(key) == 3


def test_a_probe_asks_with_the_key_itself(start_gateway, own_upstream, pepper, key):
    config = with_pepper(pepper("p"), {"replay_cache": "0"}, defaults={
        "unknown": "probe", "probe": own_upstream.url + "/outcome/{scope}/{key}"},
        reconcile={"interval": "1s"})
    gateway = start_gateway(own_upstream, config)
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    own_upstream.plan("/outcome/", {"status": 200, "effect": False,
                                    "headers": [["Onceguard-Outcome", "done"]]})
    checked = onceguard_of(gateway, "check")
    assert "interval: does nothing with [store] key_pepper_file" in checked.stdout + checked.stderr
    asked = onceguard_of(gateway, "reconcile")
    assert asked.returncode == 3 and "nobody can be asked by key" in asked.stderr
    assert own_upstream.requests(path="/outcome/") == []
    assert gateway.post(key=key).status == 200
    question, = own_upstream.requests(path="/outcome/")
    assert question["target"].endswith("/" + key)
    assert own_upstream.runs(key) == 1


@pytest.mark.parametrize("config, fault", [
    ({"defaults": {"key": ["path:2"]}}, "paths are kept in the clear"),
    ({"reconcile": {"query": "SELECT $1, $2", "database": "postgresql://h/d"}},
     "the store does not know the keys")])
def test_what_would_show_or_need_the_key_is_refused(start_gateway, own_upstream, pepper, config,
                                                    fault):
    gateway = start_gateway(own_upstream, with_pepper(pepper("p"), **config), started=False)
    checked = onceguard_of(gateway, "check")
    assert checked.returncode == 3 and fault in checked.stdout + checked.stderr, checked


def test_a_pepper_that_others_may_read_is_refused(start_gateway, own_upstream, pepper):
    gateway = start_gateway(own_upstream, with_pepper(pepper("p", 0o644)), started=False)
    checked = onceguard_of(gateway, "check")
    assert checked.returncode == 3 and "chmod o-rwx" in checked.stdout + checked.stderr


def test_a_command_gets_its_key_and_the_store_does_not(onceguard, tmp_path, pepper):
    def run(*words, path=pepper("p"), more=()):
        return subprocess.run(
            [str(onceguard), "exec", "--key", "sesame", "--store", f"sqlite:{tmp_path}/cron.db",
             *(("--key-pepper-file", path) if path else ()), *more, "--", *words],
            capture_output=True, text=True, timeout=60, cwd=tmp_path)
    for _ in range(2):
        done = run("sh", "-c", "echo $ONCEGUARD_IDEMPOTENCY_KEY >> runs; echo done")
        assert (done.returncode, done.stdout) == (0, "done\n"), done
    assert (tmp_path / "runs").read_text() == "sesame\n"
    assert b"sesame" not in files_in(tmp_path, "cron.db*")
    for path in (pepper("q"), None):
        refused = run("true", path=path)
        assert refused.returncode != 0 and "key pepper: " in refused.stderr, refused
