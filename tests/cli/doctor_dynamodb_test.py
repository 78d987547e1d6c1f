"""`onceguard migrate` and `onceguard doctor` on DynamoDB."""

import os
import subprocess

from support.doctor import examine


def run(onceguard, *words):
    return subprocess.run([str(onceguard), *words], capture_output=True, text=True, timeout=60,
                          check=False)


def test_a_table_is_made_once(onceguard, dynamodb_server):
    url = dynamodb_server.url(dynamodb_server.new_table())
    made = run(onceguard, "migrate", "--store", url)
    assert (made.returncode, made.stdout) == (0, "schema onceguard: created, version 1\n"), made
    again = run(onceguard, "migrate", "--store", url)
    assert (again.returncode, again.stdout) == (0, "schema onceguard: version 1 already\n"), again


def test_no_tables_of_messages_are_made_there(onceguard, dynamodb_server):
    done = run(onceguard, "migrate", "--store", dynamodb_server.create_store(), "--queue", "jobs")
    assert done.returncode == 2
    assert "made in PostgreSQL" in done.stderr


def test_a_store_that_is_in_order(onceguard, dynamodb_server):
    report = examine(onceguard, "--store", dynamodb_server.create_store())
    assert report.code == 0
    for name in ("store-reach", "store-clock", "store-durability", "store-expiry"):
        assert report.level(name) == "ok", report.one(name)
    assert report.level("store-deletion") == "note"


def test_a_table_that_is_missing(onceguard, dynamodb_server):
    report = examine(onceguard, "--store", dynamodb_server.url("nowhere"))
    assert report.level("store-reach") == "fault"
    assert "onceguard migrate --store dynamodb://us-east-1/nowhere" in report.one(
        "store-reach")["text"]


def test_credentials_that_are_wrong_and_those_that_are_missing(onceguard, dynamodb_server,
                                                               monkeypatch):
    url = dynamodb_server.create_store()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    report = examine(onceguard, "--store", url)
    assert "InvalidSignatureException" in report.one("store-reach")["text"]
    assert "another-secret" not in str(report.findings)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    text = examine(onceguard, "--store", url).one("store-reach")["text"]
    assert "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is not set" in text


def test_a_gateway_without_its_table_starts_and_refuses(start_gateway, upstream, dynamodb_server,
                                                        key):
    url = dynamodb_server.url(dynamodb_server.new_table())
    gateway = start_gateway(upstream, {"store": {"url": url}})
    assert gateway.post(key=key).problem == "store-unreachable"
    gateway.says("onceguard migrate")
    assert run(gateway.binary, "migrate", "--store", url).returncode == 0
    assert os.environ["AWS_ACCESS_KEY_ID"] not in gateway.log()
