"""Webhooks of `onceguard relay`: signed as Standard Webhooks has it, by HTTPS."""

import base64
import json
import pathlib
import subprocess

import pytest

from support.certificates import Authority
from support.https_endpoint import HttpsEndpoint
from support.node import NODE
from support.waiting import wait_until

VERIFIER = pathlib.Path(__file__).parent.parent / "support" / "standard_webhooks.mjs"
OLD, NEW, OTHER = ("whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2, 3))


def verified(request, *secrets, body=None):
    """What receivers with these secrets say of the delivery."""
    lines = [json.dumps({"secret": secret, "headers": request["fields"],
                         "body": base64.b64encode(body or request["body"]).decode()})
             for secret in secrets]
    run = subprocess.run([NODE, VERIFIER], input="\n".join(lines), capture_output=True, text=True,
                         timeout=60, check=True)
    return run.stdout.splitlines()


@pytest.fixture
def endpoint(tmp_path):
    made = []

    def begin(**settings):
        made.append(HttpsEndpoint(**settings))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def test_receivers_with_the_old_and_with_the_new_secret_verify_it(shop, relay, endpoint, tmp_path):
    at = endpoint()
    (tmp_path / "secrets").write_text(f"{NEW}\n{OLD}\n")
    running = relay(at.url, secret_file=str(tmp_path / "secrets"))
    shop.publish(("m1", None, b'{"amount": 100}'))
    wait_until(shop.is_empty, 30, "an empty outbox")
    (request,) = at.requests
    assert verified(request, NEW, OLD, OTHER) == ["good", "good", "No matching signature found"]
    assert verified(request, NEW, body=b'{"amount": 900}') == ["No matching signature found"]
    assert request["fields"]["webhook-id"] == request["key"] == "m1"
    log = (running.folder / "log").read_text()
    assert NEW[6:20] not in log and OLD[6:20] not in log


def test_deliveries_go_by_https_with_a_certificate_over_a_kept_connection(shop, relay, endpoint,
                                                                         tmp_path):
    authority = Authority(tmp_path / "authority")
    at = endpoint(authority=authority, client_ca=authority)
    certificate, key = authority.issue("relay", hosts=(), subject="relay of the shop")
    keys = [f"m{number}" for number in range(10)]
    shop.publish(*((key, None, b"x") for key in keys))
    relay(at.url, concurrency=1, tls_ca=authority.file, tls_certificate=certificate, tls_key=key)
    wait_until(shop.is_empty, 30, "an empty outbox")
    while not at.keeps_connections():
        more = [f"m{len(keys) + number}" for number in range(10)]
        keys += more
        shop.publish(*((key, None, b"x") for key in more))
        wait_until(shop.is_empty, 30, "an empty outbox")
    assert sorted(at.keys()) == sorted(keys)
    assert ((("commonName", "relay of the shop"),),) == at.requests[0]["peer"]["subject"]


def test_an_endpoint_that_is_not_the_right_one_gets_nothing_and_costs_nothing(shop, relay, endpoint,
                                                                             tmp_path):
    authority = Authority(tmp_path / "authority")
    other = Authority(tmp_path / "other", "others")
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(open(other.file).read())
    at = endpoint(authority=authority)
    running = relay(at.url, attempts=1, tls_ca=str(trusted))
    shop.publish(("m1", None, b"x"))
    wait_until(lambda: running.events("relay-given-back"), 30, "an attempt")
    assert "certificate" in running.events("relay-given-back")[0]["why"]
    assert at.keys() == []
    trusted.write_text(open(authority.file).read())
    wait_until(shop.is_empty, 30, "an empty outbox")
    assert at.keys() == ["m1"]


def test_check_finds_files_that_are_missing(shop, relay):
    running = relay("https://127.0.0.1:9", ready=None, tls_ca="/missing.pem",
                    secret_file="/missing.secret")
    assert running.process.wait(60) == 3
    checked = running.command("check")
    assert checked.returncode == 3
    for file in ("/missing.pem", "/missing.secret"):
        assert file in checked.stdout + checked.stderr
