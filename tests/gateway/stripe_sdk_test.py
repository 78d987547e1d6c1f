"""Stripe's own SDK for Node.js, with its own retries, in front of a service that is guarded by the
profile `stripe`."""

import json
import signal
import subprocess

import pytest

from support.losing_network import LosingNetwork
from support.node import NODE, TESTS
from support.waiting import wait_until

CONFIG = {"route": [{"path": "/v1", "profile": "stripe"}, {"path": "/"}]}


def charge(port, calls, **more):
    wanted = {"port": port, "calls": calls, **more}
    done = subprocess.run([NODE, "gateway/stripe_sdk.mjs", json.dumps(wanted)], cwd=TESTS,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def guarded(start_gateway, own_upstream):
    return start_gateway(own_upstream, CONFIG)


def test_each_charge_is_made_once_where_answers_are_lost(guarded, own_upstream, key):
    calls = [{"amount": 100 + number, "key": f"{key}-{number}"} for number in range(8)]
    with LosingNetwork(guarded.address) as network:
        results = charge(network.port, calls)
        assert network.lost >= 8
    assert [result["status"] for result in results] == [201] * 8, results
    assert len({result["made"]["effect"] for result in results}) == 8
    for call in calls:
        assert own_upstream.runs(call["key"]) == 1
    assert sum(own_upstream.effects().values()) == 8


def test_without_the_gateway_answers_that_are_lost_are_charges(own_upstream, key):
    """What the test before would show if nothing guarded the service."""
    with LosingNetwork(own_upstream.address) as network:
        charge(network.port, [{"amount": 100, "key": key}])
    assert own_upstream.effects()[key] == 3


def test_a_mismatch_is_the_sdk_s_idempotency_error(guarded, own_upstream, key):
    first, other = charge(guarded.port.number, [{"amount": 100, "key": key},
                                                {"amount": 200, "key": key}])
    assert first["status"] == 201
    assert other["idempotency"] and other["raised"] == "StripeIdempotencyError", other
    assert other["status"] == 400
    assert "Use a new key" in other["message"]
    assert own_upstream.runs(key) == 1


def test_six_twins_at_once_are_one_charge_and_six_answers(guarded, own_upstream, key):
    own_upstream.plan("/v1/charges", {"delay_ms": 700})
    results = charge(guarded.port.number, [{"amount": 100, "key": key}] * 6, together=True)
    assert [result["status"] for result in results] == [201] * 6, results
    assert len({result["made"]["effect"] for result in results}) == 1
    assert own_upstream.runs(key) == 1


def test_a_declined_card_stays_declined(guarded, own_upstream, key):
    declined = {"error": {"type": "card_error", "code": "card_declined", "message": "No."}}
    own_upstream.plan("/v1/charges", {"status": 402, "body": json.dumps(declined)}, {})
    for result in charge(guarded.port.number, [{"amount": 100, "key": key}] * 2):
        assert (result["raised"], result["code"]) == ("StripeCardError", "card_declined")
    assert own_upstream.runs(key) == 1


def test_a_refused_parameter_may_be_sent_again(guarded, own_upstream, key):
    """Stripe saves no result of a request that was refused before it began."""
    wrong = {"error": {"type": "invalid_request_error", "message": "No such currency."}}
    own_upstream.plan("/v1/charges", {"status": 400, "body": json.dumps(wrong), "effect": False},
                      {})
    first, again = charge(guarded.port.number, [{"amount": 100, "key": key}] * 2)
    assert first["raised"] == "StripeInvalidRequestError"
    assert again["status"] == 201
    assert own_upstream.effects()[key] == 1


def test_an_unknown_outcome_is_an_error_that_is_not_retried(guarded, own_upstream, key):
    own_upstream.plan("/v1/charges", {"drop": "head"}, {})
    first, = charge(guarded.port.number, [{"amount": 100, "key": key}], retries=0)
    assert first["raised"] == "StripeAPIError", first
    again, = charge(guarded.port.number, [{"amount": 100, "key": key}])
    assert (again["status"], again["code"]) == (409, "outcome_unknown"), again
    assert again["raised"].startswith("Stripe")
    assert own_upstream.runs(key) == 1
    assert guarded.stop() == 0
    lines = [line for line in guarded.log_lines() if line.get("problem") == "outcome-unknown"]
    assert len(lines) == 1, "the SDK did not send the refused request again"


def test_a_key_that_is_too_long_is_an_invalid_request(guarded, own_upstream):
    result, = charge(guarded.port.number, [{"amount": 100, "key": "k" * 256}])
    assert result["raised"] == "StripeInvalidRequestError", result
    assert result["code"] == "key_malformed"
    assert own_upstream.effects() == {}


def test_a_store_out_of_reach_is_tried_again_by_the_sdk(start_gateway, own_upstream, key,
                                                        redis):
    gateway = start_gateway(own_upstream, {
        **CONFIG, "store": {"url": f"redis://127.0.0.1:{redis.port.number}", "timeout": "200ms"}})
    redis.stop(signal.SIGKILL)
    process = subprocess.Popen(
        [NODE, "gateway/stripe_sdk.mjs",
         json.dumps({"port": gateway.port.number, "retries": 20,
                     "calls": [{"amount": 100, "key": key}]})],
        cwd=TESTS, stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: len([line for line in gateway.log_lines()
                                if line.get("problem") == "store-unreachable"]) >= 2,
                   what="two refusals")
        redis.start()
        result, = json.loads(process.communicate(timeout=60)[0])
    finally:
        process.kill()
        process.wait()
    assert result["status"] == 201, result
    assert own_upstream.runs(key) == 1


def test_a_problem_document_looks_like_a_charge_to_the_sdk(start_gateway, own_upstream, key):
    """Why the form of errors matters: the SDK looks for the member `error`, not at the status."""
    gateway = start_gateway(own_upstream, {"route": [{"path": "/v1"}]})
    first, other = charge(gateway.port.number, [{"amount": 100, "key": key},
                                                {"amount": 200, "key": key}])
    assert first["status"] == 201
    assert other["status"] == 422 and other["made"]["type"].endswith("key-reused"), other
