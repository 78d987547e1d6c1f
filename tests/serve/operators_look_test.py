"""An operator acts on what was looked at, and a client that came back has changed that."""

import json
import subprocess
import uuid

import pytest

from support.decisions import as_request, parts
from support.gateway import PATIENT, clean_environment
from support.waiting import PATIENCE, wait_until

# A client that stands still keeps its lease for so long, and its work may go on for so long then.
SHORT = ("--lease", "2s", "--upstream-timeout", "500ms")


@pytest.fixture
def keys(onceguard):
    def run(service, *words):
        return subprocess.run(
            [str(onceguard), "keys", *words, "--store", service.store], capture_output=True,
            text=True, check=False, env={**clean_environment(), **PATIENT}, cwd=service.folder,
            timeout=60 * PATIENCE)
    return run


def seen_at_rest(keys, service, key):
    """What `keys show` says when the outcome is unknown and nothing can be on its way any more."""
    def look():
        record = json.loads(keys(service, "show", key, "--json").stdout)
        return record["state"] == "unknown" and record["lease_left_ms"] < -500 and record
    record = wait_until(look, what="the end of the work's time")
    shown = keys(service, "show", key).stdout
    [line] = [line for line in shown.splitlines() if line.startswith("seen")]
    assert line.split()[1] == f"{record['token']}-{record['revision']}"
    return record["token"], line.split()[1]


def test_what_was_decided_before_the_client_came_back_is_refused(start_service, keys):
    service = start_service(options=SHORT)
    client, wanted = service.connect(), parts(renew="client")
    begun = client.claim(**wanted)
    key = wanted["key"]
    token, seen = seen_at_rest(keys, service, key)
    # It stood still, works now, and stands still once more: the lease is the same one.
    assert client.settle(begun["operation"], "renew")["outcome"] == "renewed"
    again, now = seen_at_rest(keys, service, key)
    assert again == token and now != seen
    for act in (["release"], ["complete", "--status", "200"], ["release", "--force"]):
        refused = keys(service, *act, key, "--seen", seen)
        assert refused.returncode == 1
        assert "it has changed since it was seen" in refused.stderr
    assert service.state(key) == "unknown"
    assert keys(service, "release", key, "--seen", now).returncode == 0


@pytest.mark.parametrize("wanted", [parts, as_request])
def test_nobody_says_that_it_did_not_happen_while_it_may(start_service, keys, wanted):
    """A client that is cut off works on after its lease, for as long as its work may take."""
    service = start_service(options=("--lease", "3s", "--upstream-timeout", "1h"))
    key = uuid.uuid4().hex
    client = service.connect()
    begun = client.claim(**wanted(key))
    client.close()
    wait_until(lambda: service.state(key) == "unknown", what="the end of the lease")
    refused = keys(service, "release", key)
    assert refused.returncode == 1 and "it may still be running" in refused.stderr
    other = service.connect()
    assert other.complete(begun["operation"])["outcome"] == "settled"


@pytest.mark.parametrize("words", [
    ["k", "--seen", "x"], ["k", "--seen", "0-1"], ["k", "--seen", "1-"], ["k", "--seen", "1-2x"],
    ["--route", "/", "--seen", "1-2"]])
def test_what_was_seen_is_a_text_of_keys_show(service, keys, words):
    refused = keys(service, "release", *words)
    assert refused.returncode == 2
    assert "--seen goes with KEY" in refused.stderr
