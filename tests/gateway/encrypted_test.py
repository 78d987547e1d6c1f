"""Answers that are encrypted in the store: what lies there, and what a missing key does."""

import json
import os
import pathlib
import subprocess

import pytest

from support.executing import pause
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, wait_until

SCALE = float(os.environ.get("ONCEGUARD_TEST_SCALE", "1"))
PLANTED = 1_000 if SCALE >= 1 else max(100, int(1_000 * SCALE))
FIRST, SECOND = "k1 " + "a1" * 32, "k2 " + "b2" * 32


@pytest.fixture
def ring(tmp_path):
    """Writes the key ring as an operator does, and returns its path."""
    path = tmp_path / "record-keys"

    def write(*lines, mode=0o600):
        fresh = path.with_suffix(".new")
        fresh.write_text("".join(line + "\n" for line in lines))
        fresh.chmod(mode)
        fresh.rename(path)
        return str(path)

    return write


def encrypted(path, **more):
    return {"store": {"encryption_keys_file": path, **more}}


def plan_of(secret):
    return {"headers": [["X-Session", secret + "-header"]], "body": f'{{"card":"{secret}-body"}}'}


def files_of(gateway):
    """All bytes of the SQLite store, its log too."""
    folder = gateway.database.parent
    return b"".join(path.read_bytes() for path in folder.glob(gateway.database.name + "*"))


def onceguard_of(gateway, *words):
    return subprocess.run([str(gateway.binary), *words, "--config", str(gateway.config_path)],
                          capture_output=True, text=True, timeout=60, cwd=gateway.folder)


def test_planted_secrets_are_nowhere_but_in_answers(start_gateway, own_upstream, ring,
                                                    admin_listener, key):
    config = encrypted(ring(FIRST))
    config["gateway"] = {"admin": f"127.0.0.1:{admin_listener.port.number}"}
    config["log"] = {"level": "debug"}
    gateway = start_gateway(own_upstream, config)
    secrets = [f"sesame-{key}-{number:04}" for number in range(PLANTED)]
    for number, secret in enumerate(secrets):
        first = assert_first(gateway.post(
            key=f"{key}-{number}", plan=plan_of(secret),
            body=json.dumps({"card": secret + "-request"}).encode(),
            fields=[("Authorization", f"Bearer {secret}-credential"), ("Cookie", secret)]))
        assert f"{secret}-body".encode() in first.body
        if number % 50 == 0:
            again = gateway.post(key=f"{key}-{number}", plan={"body": "no"},
                                 body=json.dumps({"card": secret + "-other"}).encode(),
                                 fields=[("Authorization", f"Bearer {secret}-credential")])
            assert_problem(again, 422, "key-reused", False)
    said = {"store": files_of(gateway),
            "metrics": admin_listener.get("/metrics").body,
            "lists": admin_listener.get("/api/records?limit=1000").body,
            "overview": admin_listener.get("/api/overview").body,
            "recent": admin_listener.get("/api/recent").body,
            "keys list": onceguard_of(gateway, "keys", "list").stdout.encode()}
    gateway.stop()
    said["log"] = gateway.log().encode()
    said["store after the end"] = files_of(gateway)
    for place, text in said.items():
        assert b"sesame" not in text, place
    assert key.encode() in said["store"], "what is looked through is the store"
    assert f"{key}-0".encode() in said["keys list"]


def test_without_keys_the_same_secrets_lie_in_the_store(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    assert_first(gateway.post(key=key, plan=plan_of("sesame")))
    assert b"sesame-body" in files_of(gateway)
    assert b"sesame-header" in files_of(gateway)


def test_a_repeat_after_a_restart_gets_the_first_answer(start_gateway, own_upstream, ring, key):
    gateway = start_gateway(own_upstream, encrypted(ring(FIRST)))
    first = assert_first(gateway.post(key=key, plan=plan_of(key)))
    gateway.restart()
    assert_replay_of(gateway.post(key=key, plan=plan_of(key)), first)
    assert own_upstream.runs(key) == 1


def test_a_key_is_rotated_while_the_gateway_runs(start_gateway, own_upstream, ring, key):
    config = encrypted(ring(FIRST))
    config["gateway"] = {"replay_cache": "0"}
    gateway = start_gateway(own_upstream, config)
    first = assert_first(gateway.post(key=key, plan=plan_of("sesame")))
    ring(SECOND, FIRST)
    gateway.says("file-read-again")
    later = assert_first(gateway.post(key=key + "-2", plan=plan_of("sesame")))
    assert_replay_of(gateway.post(key=key, plan=plan_of("sesame")), first)
    # With the new key alone, what the new one encrypted can be read, and nothing else.
    ring(SECOND)
    wait_until(lambda: gateway.log().count("file-read-again") == 2, what="the second rotation")
    assert_replay_of(gateway.post(key=key + "-2", plan=plan_of("sesame")), later)
    refused = gateway.post(key=key, plan=plan_of("sesame"))
    assert_problem(refused, 500, "record-unreadable", False)
    line = gateway.logged("record-unreadable")[0]
    assert 'the key "k1", which is not in [store] encryption_keys_file' in json.dumps(
        line, ensure_ascii=False).replace('\\"', '"')
    ring(SECOND, FIRST)
    wait_until(lambda: gateway.log().count("file-read-again") == 3, what="the key put back")
    assert_replay_of(gateway.post(key=key, plan=plan_of("sesame")), first)
    assert own_upstream.runs(key) == 1


def test_a_ring_that_can_not_be_used_changes_nothing(start_gateway, own_upstream, ring, key):
    gateway = start_gateway(own_upstream, encrypted(ring(FIRST)))
    ring(SECOND, "k3 no-key")
    line = gateway.logged("file-refused")[0]
    assert "line 2: a key is 32 bytes" in line["why"]
    assert "no-key" not in gateway.log()
    assert_first(gateway.post(key=key))
    gateway.stop()
    assert gateway.start(wait=False).wait() == 3
    assert "encryption_keys_file" in gateway.log()


def test_a_ring_that_others_may_read_is_refused(start_gateway, own_upstream, ring):
    gateway = start_gateway(own_upstream, encrypted(ring(FIRST, mode=0o644)), started=False)
    checked = onceguard_of(gateway, "check")
    assert checked.returncode == 3
    assert "chmod o-rwx" in checked.stdout + checked.stderr


def test_what_was_stored_in_the_clear_is_still_replayed(start_gateway, own_upstream, ring, key):
    gateway = start_gateway(own_upstream)
    first = assert_first(gateway.post(key=key, plan=plan_of("sesame")))
    gateway.stop()
    gateway.write_config(encrypted(ring(FIRST)))
    gateway.start()
    assert_replay_of(gateway.post(key=key, plan=plan_of("sesame")), first)
    assert own_upstream.runs(key) == 1


def test_commands_name_the_missing_key_and_advise_no_force(start_gateway, own_upstream, ring, key):
    gateway = start_gateway(own_upstream, encrypted(ring(FIRST)))
    first = assert_first(gateway.post(key=key, plan=plan_of("sesame")))
    seen = json.loads(onceguard_of(gateway, "keys", "show", key, "--json").stdout)
    gateway.stop()
    missing = 'is encrypted with the key "k1", which is not in [store] encryption_keys_file'
    ring(SECOND)
    for words in (["show", key, "--scope", seen["scope"]], ["show", seen["record"]],
                  ["list", "--key", key, "--scope", seen["scope"]]):
        done = onceguard_of(gateway, "keys", *words)
        assert done.returncode == 0 and missing in done.stdout.replace('\\"', '"'), done
        assert "completed" in done.stdout and "unreadable" not in done.stdout
        assert "force" not in done.stdout + done.stderr
    for words in (["complete", "--status", "200"], ["release"], ["show", "--body"]):
        done = onceguard_of(gateway, "keys", *words, key, "--scope", seen["scope"],
                            *([] if words[0] == "show" else ["--reason", "in doubt"]))
        assert done.returncode == 1 and missing in done.stderr.replace('\\"', '"'), done
        assert "force" not in done.stderr and "nothing is lost" in done.stderr
    ring(FIRST)
    gateway.start()
    assert_replay_of(gateway.post(key=key, plan=plan_of("sesame")), first)
    assert own_upstream.runs(key) == 1


def test_a_ring_that_is_rewritten_in_place_loses_no_key(start_gateway, own_upstream, ring,
                                                        fresh_key):
    def loses_none():
        """Not where a busy machine pauses for so long that half of the ring looks finished."""
        config = encrypted(ring(FIRST, SECOND))
        config["gateway"] = {"replay_cache": "0"}
        gateway = start_gateway(own_upstream, config)
        same = {"key": fresh_key(), "plan": plan_of("sesame")}
        first = assert_first(gateway.post(**same))
        path = pathlib.Path(config["store"]["encryption_keys_file"])
        with path.open("w", encoding="ascii") as file:  # as `>` does
            file.write(SECOND + "\n")
            written, answers = Stopwatch(), []
            for _ in range(8):
                file.write("# slowly\n")
                file.flush()
                if written.seconds > 0.9:
                    return False
                written = Stopwatch()
                for answer in answers:
                    assert_replay_of(answer, first)
                pause(0.3)
                answers = [gateway.post(**same)]
            if written.seconds > 0.9:
                return False
            assert_replay_of(answers[0], first)
            file.write(FIRST + "\n")
        gateway.says("file-read-again")
        assert_replay_of(gateway.post(**same), first)
        assert own_upstream.runs(same["key"]) == 1
        assert "record-unreadable" not in gateway.log()
        return True
    assert any(loses_none() for _ in range(5))


def test_an_export_stays_encrypted_and_moves_without_the_keys(start_gateway, own_upstream, ring,
                                                              tmp_path, key):
    config = encrypted(ring(FIRST))
    gateway = start_gateway(own_upstream, config)
    first = assert_first(gateway.post(key=key, plan=plan_of("sesame")))
    shown = onceguard_of(gateway, "keys", "show", key)
    assert "sesame-body" in shown.stdout, shown.stderr
    gateway.stop()
    moved = tmp_path / "moved.jsonl"
    gateway.write_config({})  # whoever exports need not have the keys
    exported = onceguard_of(gateway, "keys", "export", str(moved))
    assert exported.returncode == 0, exported.stderr
    text = moved.read_text()
    assert key in text and "sesame" not in text
    other = start_gateway(own_upstream, {}, started=False)
    for _ in range(2):
        taken = onceguard_of(other, "keys", "import", str(moved), "--reason", "moving")
        assert taken.returncode == 0, taken.stderr
    other.write_config(config)
    other.start()
    assert_replay_of(other.post(key=key, plan=plan_of("sesame")), first)
    assert own_upstream.runs(key) == 1


def test_an_answer_copied_to_another_record_is_refused(start_gateway, own_upstream, ring,
                                                       postgres_server, database, admin, key):
    config = encrypted(ring(FIRST), url=postgres_server.url(database))
    config["gateway"] = {"replay_cache": "0"}
    gateway = start_gateway(own_upstream, config)
    first = assert_first(gateway.post(key=key + "-a", plan=plan_of("sesame-a")))
    assert_first(gateway.post(key=key + "-b", plan=plan_of("sesame-b")))
    kept = admin.execute("SELECT * FROM onceguard.records").fetchall()
    assert len(kept) == 2 and b"sesame" not in b"".join(
        bytes(each) for row in kept for each in row if isinstance(each, (bytes, memoryview)))
    assert_replay_of(gateway.post(key=key + "-a", plan=plan_of("sesame-a")), first)
    # The checksum of the record is made anew, as anybody can.
    admin.execute(
        "UPDATE onceguard.records AS r SET outcome = o.part || "
        "substr(sha256(r.digest || r.claim_id || o.part), 1, 8) FROM "
        "(SELECT digest, substr(outcome, 1, length(outcome) - 8) AS part FROM onceguard.records) "
        "AS o WHERE o.digest <> r.digest AND position(%s::bytea in r.subject) > 0",
        (f"{key}-a".encode(),))
    refused = gateway.post(key=key + "-a", plan=plan_of("sesame-a"))
    assert_problem(refused, 500, "record-unreadable", False)
    gateway.says("is that of another record")
    assert own_upstream.runs(key + "-a") == 1


def test_a_command_s_output_is_encrypted_too(onceguard, tmp_path, ring):
    database = pathlib.Path(tmp_path / "cron.db")
    words = [str(onceguard), "exec", "--key", "nightly", "--store", f"sqlite:{database}",
             "--encryption-keys-file", ring(FIRST), "--", "sh", "-c", "echo open sesame"]
    for _ in range(2):
        run = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert (run.returncode, run.stdout) == (0, "open sesame\n"), run.stderr
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("cron.db*"))
    assert b"nightly" in stored and b"sesame" not in stored
