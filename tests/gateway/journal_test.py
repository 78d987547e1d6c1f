"""A gateway on a journal, which one process owns: who is refused, how others ask it, and how one
process follows another."""

import asyncio
import json
import os
import signal
import subprocess
import uuid

import pytest

from support.client import exchange, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import clean_environment, records_of
from support.waiting import wait_until


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def begin(start_gateway, own_upstream, journal):
    """Starts a gateway on the journal."""
    def start(started=True, **config):
        store = {"url": f"journal:{journal}", **config.pop("store", {})}
        return start_gateway(own_upstream, {"store": store, **config}, started=started)
    return start


def remote(gateway, admin, *arguments):
    return subprocess.run([str(gateway.binary), *arguments, "--admin", admin.text],
                          capture_output=True, text=True, timeout=60, check=False,
                          env=clean_environment())


def test_records_outlive_the_process(begin, own_upstream, fresh_key):
    gateway = begin()
    keys = [fresh_key() for _ in range(20)]
    firsts = [assert_first(gateway.post(key=key)) for key in keys]
    gateway.restart()
    for key, first in zip(keys, firsts):
        assert_replay_of(gateway.post(key=key), first)
    gateway.kill()
    gateway.start()
    for key, first in zip(keys, firsts):
        assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.effects() == {key: 1 for key in keys}
    opened = gateway.logged("log-read", 2)[-1]
    assert opened["keys"] == len(keys) and opened["bytes"] > 0


@pytest.mark.parametrize("command", [["keys", "list"], ["stats"], ["sweep"],
                                     ["keys", "export", "records.jsonl"]],
                         ids=lambda words: words[-1])
def test_a_command_beside_its_owner_says_whom_to_ask(begin, key, command):
    gateway = begin()
    assert_first(gateway.post(key=key))
    done = gateway.command(*command)
    assert done.returncode == 4, done
    assert f"another process ({gateway.process.pid}) has it open" in done.stderr
    assert "--admin" in done.stderr
    assert not (gateway.folder / "records.jsonl").exists()
    gateway.stop()
    done = gateway.command(*command)
    assert done.returncode == 0, done


def test_the_owner_answers_commands_by_its_admin_listener(begin, own_upstream, admin_listener,
                                                          fresh_key):
    gateway = begin(gateway={"admin": admin_listener.text, "replay_cache": "0"})
    paid, failed = fresh_key(), fresh_key()
    first = assert_first(gateway.post(key=paid))
    gateway.post(key=failed, plan={"status": 500})
    listed = remote(gateway, admin_listener, "keys", "list", "--json")
    states = {record["key"]: record["state"] for record in records_of(listed.stdout)}
    assert states == {paid: "completed", failed: "unknown"}
    assert paid in remote(gateway, admin_listener, "keys", "show", paid).stdout
    freed = remote(gateway, admin_listener, "keys", "release", failed, "--reason", "no payment",
                   "--force")
    assert freed.returncode == 0, freed
    assert_first(gateway.post(key=failed))
    assert_replay_of(gateway.post(key=paid), first)
    assert own_upstream.runs(failed) == 2
    shown = json.loads(admin_listener.get("/api/store").body)
    assert shown["kind"] == "journal" and shown["shared"] is False


def test_it_has_no_successor_beside_it(begin, own_upstream, key):
    gateway = begin()
    first = assert_first(gateway.post(key=key))
    gateway.signal(signal.SIGUSR2)
    refused, = gateway.logged("upgrade-refused")
    assert "the store belongs to this process" in refused["why"]
    assert_replay_of(gateway.post(key=key), first)
    assert own_upstream.runs(key) == 1


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_process_that_waits_for_it_takes_it_when_its_owner_ends(begin, own_upstream, fresh_key,
                                                                  end):
    """A deployment that starts the new process first, at another address."""
    owner = begin()
    key, late = fresh_key(), fresh_key()
    first = assert_first(owner.post(key=key))
    waiting = begin()
    assert_problem(waiting.post(key=key), 503, "store-unreachable", True, retry_after=True)
    refused = waiting.logged("store-not-opened")[0]
    assert f"another process ({owner.process.pid}) has it open" in refused["why"]
    assert_replay_of(owner.post(key=key), first)
    owner.signal(end)
    owner.wait()
    answer = wait_until(lambda: next((a for a in [waiting.post(key=key)] if a.status != 503),
                                     None), 20, "the journal in use")
    assert_replay_of(answer, first)
    assert_first(waiting.post(key=late))
    assert own_upstream.effects() == {key: 1, late: 1}


def test_restarts_under_load_lose_no_answer(begin, own_upstream):
    gateway = begin(defaults={"lease": "2s"})
    answers, doubled, stopping = {}, [], False

    async def customer(number):
        count = 0
        while not stopping:
            key = f"restart-{number}-{count}-{uuid.uuid4()}"
            count += 1
            data = request_bytes("POST", "/charges", fields_for(key), b"{}")
            for _ in range(3):
                try:
                    pair = await asyncio.open_connection(*gateway.address)
                    answer = await exchange(*pair, data)
                    pair[1].close()
                except OSError:
                    await asyncio.sleep(0.02)
                    continue
                if answer.status != 201 or answer.truncated:
                    continue
                if answers.setdefault(key, answer.stored_part()) != answer.stored_part():
                    doubled.append(key)

    async def run():
        nonlocal stopping
        loop = asyncio.get_running_loop()
        customers = [asyncio.create_task(customer(number)) for number in range(8)]
        for _ in range(5):
            before = len(answers)
            while len(answers) < before + 30:
                await asyncio.sleep(0.01)
            assert await loop.run_in_executor(None, gateway.stop) == 0
            await loop.run_in_executor(None, gateway.start)
        stopping = True
        await asyncio.gather(*customers)

    asyncio.run(run())
    gateway.wait()  # the kernel has killed it, for the thread that started it has ended
    gateway.start()
    assert doubled == []
    effects = own_upstream.effects()
    assert {key for key, count in effects.items() if count > 1} == set()
    for key, first in answers.items():
        again = gateway.post(key=key, body=b"{}", content_type=None)
        assert again.replayed and again.stored_part() == first, key


@pytest.mark.parametrize("foreign", ["file", "content"])
def test_what_is_no_journal_is_refused(begin, journal, foreign):
    if foreign == "file":
        journal.write_text("mine")
    else:
        journal.mkdir()
        (journal / "photos").mkdir()
    gateway = begin(started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    why = gateway.log()
    assert ("is a file" if foreign == "file" else "has no journal in it, but \\\"photos\\\"") in why
    left = [journal] if foreign == "file" else list(journal.iterdir())
    assert left == ([journal] if foreign == "file" else [journal / "photos"])


def test_a_folder_of_another_user_is_out_of_reach(begin, journal, tmp_path, key):
    gateway = begin()
    assert_first(gateway.post(key=key))
    gateway.stop()
    another = []
    if os.geteuid() == 0:
        another = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for folder in (tmp_path, *tmp_path.parents):
            if folder != folder.parent and folder.stat().st_uid == 0:
                folder.chmod(folder.stat().st_mode | 0o055)
    journal.chmod(0o500)
    done = subprocess.run([*another, str(gateway.binary), "keys", "list", "--store",
                           gateway.store_url()],
                          capture_output=True, text=True, timeout=60, check=False,
                          env=clean_environment(), cwd="/")
    journal.chmod(0o700)
    assert done.returncode == 4, done
    assert "Permission denied" in done.stderr
