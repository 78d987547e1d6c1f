"""Dead letters and messages of unknown outcome: kept, listed, sent again, dropped."""

import json

from support.brokers import WAIT, listed, message
from support.consumer import settled


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
    shown = consumer.command("messages", "show", "m1", "--json", "--wait", WAIT)
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
    code, said = message(consumer, "retry", "m1")
    assert code == 5, said
    assert own_upstream.runs("m1") == 2, "what was handled is handled"
    lines = [line for line in audited(tmp_path) if line["key"] == "m1"]
    assert [line["action"] for line in lines] == ["release"] * 2 + ["retry"] * 2
    assert {line["means"] for line in lines} == {"messages retry"}
    assert {line["why"] for line in lines} == {"no payment"}


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
