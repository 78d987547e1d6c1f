"""Dead letters and messages of unknown outcome: kept, listed, sent again, dropped."""

import json
import signal
import subprocess

import pytest

from support.brokers import KINDS
from support.consumer import Consumer, settled
from support.gateway import clean_environment
from support.waiting import wait_until


@pytest.fixture(scope="module", params=KINDS)
def broker(request):
    kind = KINDS[request.param]
    server = kind.server_type().start()
    yield lambda: kind(server)
    server.close()


@pytest.fixture
def queues(broker):
    return broker()


@pytest.fixture
def billing(onceguard, tmp_path, queues, own_upstream):
    """`begin(...)` starts a consumer whose messages go to the upstream."""
    made = []

    def begin(**table):
        table = {"subscriber": "billing", "to": own_upstream.url, "attempts": 2,
                 "backoff": "100ms", "backoff_max": "100ms", **queues.tables, **table}
        consumer = Consumer(onceguard, tmp_path, [table],
                            gateway={"audit_log": str(tmp_path / "audit")})
        made.append(consumer)
        return consumer.start()

    yield begin
    for consumer in made:
        consumer.stop(signal.SIGKILL)


def listed(consumer, *words):
    done = consumer.command("messages", "list", "--json", "--wait", "500ms", *words)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def message(consumer, verb, *words):
    done = consumer.command("messages", verb, "--wait", "500ms", *words)
    return done.returncode, done.stdout + done.stderr


def audited(tmp_path):
    return [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]


def test_an_unknown_message_is_kept_and_sent_again_by_a_person(billing, queues, own_upstream,
                                                                tmp_path):
    own_upstream.plan("/", {"status": 500}, {"status": 200})
    queues.send('{"amount": 10}', "m1", [("tenant", "ada")])
    consumer = billing(headers=["tenant"])
    settled(consumer, 1)
    (one,) = listed(consumer)
    assert (one["state"], one["outcome"], one["key"]) == ("unknown", "unknown", "m1")
    assert "500" in one["reason"] and one["since"]
    shown = consumer.command("messages", "show", "m1", "--json")
    whole = json.loads(shown.stdout)
    assert whole["payload"] == '{"amount": 10}' and ["tenant", "ada"] in whole["headers"]
    page = consumer.command("keys", "show", "m1").stdout
    assert "messages show m1" in page and "billing" in page
    code, said = message(consumer, "retry", "m1", "--dry-run")
    assert code == 0 and "nothing was changed" in said, said
    assert own_upstream.runs("m1") == 1
    code, said = message(consumer, "retry", "m1", "--reason", "no payment")
    assert code == 0 and "handled" in said, said
    requests = [r for r in own_upstream.requests() if r["key"] == "m1"]
    assert len(requests) == 2
    fields = {name.lower(): value for name, value in requests[1]["fields"]}
    assert requests[1]["body"] == '{"amount": 10}' and fields["tenant"] == "ada"
    assert listed(consumer) == []
    queues.send('{"amount": 10}', None if "nats" in queues.tables["from"] else "m1",
                [("Nats-Msg-Id", "m1")] if "nats" in queues.tables["from"] else [])
    code, said = message(consumer, "retry", "m1")
    assert code == 5, said
    assert own_upstream.runs("m1") == 2, "what was handled is handled"
    lines = audited(tmp_path)
    assert [(line["action"], line["stage"] if "stage" in line else None) for line in lines][:1]
    assert {line["action"] for line in lines} == {"release", "retry"}
    assert all(line.get("why") == "no payment" for line in lines if line["action"] == "release")


def test_a_retry_that_is_killed_amid_the_attempt_neither_loses_nor_doubles(
        billing, queues, own_upstream, onceguard):
    own_upstream.plan("/", {"status": 500}, {"gate": "never"}, {"status": 200})
    queues.send("x", "m1")
    consumer = billing(lease="1s", **queues.box_of_short_holds())
    settled(consumer, 1)
    retry = subprocess.Popen([onceguard, "messages", "retry", "m1", "--config", consumer.config],
                             env=clean_environment(), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    wait_until(lambda: own_upstream.runs("m1") == 2, 30, "the attempt")
    retry.kill()
    retry.wait(30)
    own_upstream.open("never")
    wait_until(lambda: [one["state"] for one in listed(consumer)] == ["unknown"], 30, "the letter")
    assert own_upstream.runs("m1") == 2, "nothing runs by itself"
    code, said = message(consumer, "retry", "m1")
    assert code == 0 and own_upstream.runs("m1") == 3, said


def test_a_retry_that_is_killed_before_the_attempt_loses_nothing(billing, queues, own_upstream):
    """The key is free then, and the message still lies there."""
    own_upstream.plan("/", {"status": 500}, {"status": 200})
    queues.send("x", "m1")
    consumer = billing()
    settled(consumer, 1)
    assert consumer.command("keys", "release", "m1", "--reason", "as the killed one").returncode == 0
    assert [one["state"] for one in listed(consumer)] == ["free"]
    code, said = message(consumer, "retry", "m1")
    assert code == 0 and own_upstream.runs("m1") == 2, said
    assert listed(consumer) == []


def test_a_selection_is_shown_and_then_sent_again(billing, queues, own_upstream):
    own_upstream.plan("/", {"status": 404})
    for number in range(4):
        queues.send("x", f"m{number}")
    consumer = billing()
    settled(consumer, 4)
    assert {one["state"] for one in listed(consumer)} == {"dead"}
    own_upstream.plan("/", {"status": 200})
    code, said = message(consumer, "retry", "--state", "dead", "--why", "404")
    assert code == 0 and "4 messages; nothing was changed" in said, said
    assert len(listed(consumer, "--text", "m1")) == 1
    assert listed(consumer, "--older", "1h") == []
    code, said = message(consumer, "retry", "--state", "dead", "--why", "404", "--yes")
    assert code == 0 and "4 of 4" in said, said
    assert listed(consumer) == []
    assert {own_upstream.runs(f"m{number}") for number in range(4)} == {3}


def test_one_that_fails_again_stays_and_one_that_is_dropped_is_gone(billing, queues, own_upstream,
                                                                     tmp_path):
    own_upstream.plan("/", {"status": 404})
    queues.send("x", "m1")
    queues.send("y", "m2")
    consumer = billing()
    settled(consumer, 2)
    code, said = message(consumer, "retry", "m1")
    assert code == 1 and "stays" in said, said
    assert sorted(one["key"] for one in listed(consumer)) == ["m1", "m2"]
    code, said = message(consumer, "drop", "m1", "--reason", "paid by hand")
    assert code == 0 and "dropped" in said, said
    assert [one["key"] for one in listed(consumer)] == ["m2"]
    drops = [line for line in audited(tmp_path) if line["action"] == "drop"]
    assert drops and all(line["key"] == "m1" for line in drops)


def test_a_message_under_another_ones_id_is_never_run_in_its_place(billing, queues, own_upstream):
    own_upstream.plan("/", {"status": 500}, {"status": 200})
    queues.send('{"id": "m1", "amount": 1}')
    consumer = billing(id="json:/id")
    settled(consumer, 1)
    queues.send('{"id": "m1", "amount": 2}')
    settled(consumer, 2)
    assert sorted(one["state"] for one in listed(consumer)) == ["reused", "unknown"]
    code, said = message(consumer, "retry", "--state", "reused", "--yes")
    assert code == 1 and "another payload" in said, said
    assert own_upstream.runs("m1") == 1


def test_looking_often_loses_nothing(billing, queues, own_upstream):
    """A broker may drop what is given back too often."""
    own_upstream.plan("/", {"status": 404})
    queues.send("x", "m1")
    queues.send("y")
    consumer = billing()
    settled(consumer, 2)
    for _ in range(2 * getattr(queues, "limit", 2)):
        assert sorted(one["state"] for one in listed(consumer)) == ["dead", "keyless"]
