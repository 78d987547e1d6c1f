"""`onceguard doctor` on Redis, alone and as an accelerator."""

import contextlib

import pytest

from support.doctor import certificate, examine
from support.redis import Redis


@contextlib.contextmanager
def running(**settings):
    server = Redis({name.replace("_", "-"): value for name, value in settings.items()})
    with contextlib.closing(server):
        server.start()
        yield server, f"redis://127.0.0.1:{server.port.number}"


def test_a_server_that_keeps_everything(onceguard):
    with running(appendonly="yes", appendfsync="always") as (_, url):
        report = examine(onceguard, "--store", url)
    assert report.code == 0
    assert "(Redis " in report.one("store-reach")["text"]
    for name in ("store-reach", "store-clock", "store-eviction", "store-durability"):
        assert report.level(name) == "ok", report.one(name)


def test_a_server_that_keeps_nothing(onceguard):
    with running() as (_, url):
        found = examine(onceguard, "--store", url).one("store-durability")
    assert found["level"] == "warning"
    assert found["text"] == "a restart of the server loses: everything"
    assert "appendfsync always" in found["remedy"]


@pytest.mark.parametrize("role", ["store", "accelerator"])
def test_a_server_that_evicts(onceguard, postgres_server, role):
    with running(maxmemory_policy="allkeys-lru") as (_, url):
        words = ["--store", url] if role == "store" else [
            "--store", postgres_server.url(postgres_server.create_store()), "--accelerator", url]
        report = examine(onceguard, *words)
    if role == "store":
        assert report.level("store-reach") == "fault"
        assert "set it to noeviction" in report.one("store-reach")["text"]
        return
    assert report.level("accelerator-reach") == "ok"
    assert report.one("accelerator-eviction")["text"] == "maxmemory-policy is allkeys-lru"
    assert not report.all("accelerator-durability"), "an accelerator may lose everything"


def test_a_server_that_is_not_there(onceguard):
    report = examine(onceguard, "--store", "redis://user:secret@127.0.0.1:9")
    assert report.level("store-reach") == "fault"
    assert "secret" not in str(report.findings)


def test_a_user_who_may_not_ask_for_settings(onceguard):
    with running() as (server, _):
        assert server.run("ACL SETUSER few on >word ~* +@all -info -config") == b"+OK\r\n"
        url = f"redis://few:word@127.0.0.1:{server.port.number}"
        report = examine(onceguard, "--store", url)
    assert report.level("store-reach") == "ok"
    assert report.level("store-eviction") == "note"
    assert report.one("store-durability")["text"].endswith(
        "the server does not say how it keeps its data")


def test_a_certificate_that_has_ended(onceguard, tmp_path):
    proof, key = certificate(tmp_path, 0)
    report = examine(onceguard, "--store",
                     f"rediss://127.0.0.1:9?ca={proof}&cert={proof}&key={key}")
    assert [one["level"] for one in report.all("store-certificate")] == ["fault"] * 2
    assert "has ended" in report.all("store-certificate")[0]["text"]
    assert report.level("store-key") == "ok"
