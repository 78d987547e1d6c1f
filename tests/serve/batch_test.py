"""Calls that come together."""

import threading
import uuid

from support.decisions import parts


def test_calls_are_answered_in_their_order(call):
    claims = [parts() for _ in range(50)]
    status, answer = call.post("/v1/batch", {"calls": [
        {"call": "claim", **each} for each in claims]})
    assert status == 200
    operations = [each["operation"] for each in answer["results"]]
    assert all(each["status"] == 200 and each["verdict"] == "run" for each in answer["results"])
    settles = [{"call": "complete", "operation": operation,
                "answer": {"status": 200, "body": str(number)}}
               for number, operation in enumerate(operations)]
    _, answer = call.post("/v1/batch", {"calls": settles})
    assert answer["results"] == [{"status": 200, "outcome": "settled"}] * 50
    for number, each in enumerate(claims):
        assert call.claim(**each)["answer"]["body"] == str(number)


def test_a_wrong_call_spoils_no_other(call):
    _, answer = call.post("/v1/batch", {"calls": [
        {"call": "claim", **parts()}, {"call": "claim", "key": "k"}, {"call": "explode"}, 7,
        {"call": "complete"}, {"call": "complete", "operation": "x"}]})
    results = answer["results"]
    assert [each["status"] for each in results] == [200, 400, 400, 400, 400, 404]
    assert results[1]["detail"].startswith("scope: is missing")
    assert results[4]["detail"].startswith("operation: is missing")


def test_a_batch_has_its_bounds(call):
    assert call.post("/v1/batch", {"calls": []}) == (200, {"results": []})
    status, problem = call.post("/v1/batch", {"calls": [{}] * 257})
    assert status == 400 and problem["detail"].startswith("calls: more than 256")
    assert call.post("/v1/batch", {})[1]["detail"].startswith("calls: is missing")
    wanted = parts()
    _, answer = call.post("/v1/batch", {"calls": [{"call": "claim", **wanted}] * 20})
    verdicts = [each["verdict"] for each in answer["results"]]
    assert verdicts.count("run") == 1 and verdicts.count("busy") == 19


def named(claim):
    return {"call": "claim", **parts(claim=claim, wait_ms=0)}


def test_a_claim_that_stands_twice_in_a_batch_runs_once(call):
    twice, other = named(uuid.uuid4().hex), named(uuid.uuid4().hex)
    status, answer = call.post("/v1/batch", {"calls": [twice, other, twice,
                                                       {**twice, "claim": twice["claim"].upper()}]})
    assert status == 200
    assert [each["status"] for each in answer["results"]] == [200, 200, 422, 422]
    assert [each.get("verdict") for each in answer["results"][:2]] == ["run", "run"]
    assert answer["results"][2]["type"].endswith("claim-reused")
    assert "stands in this batch before" in answer["results"][2]["detail"]
    assert call.complete(answer["results"][0]["operation"])["outcome"] == "settled"


def test_batches_of_the_same_claims_in_another_order_are_both_answered(service):
    """The second one gets the leases that the first one got."""
    for _ in range(5):
        calls = [named(uuid.uuid4().hex) for _ in range(100)]
        answers = {}

        def ask(name, given, answers=answers):
            connection = service.connect()
            answers[name] = connection.post("/v1/batch", {"calls": given})
            return connection

        sides = [threading.Thread(target=ask, args=(name, given), daemon=True)
                 for name, given in (("there", calls), ("back", calls[::-1]))]
        for side in sides:
            side.start()
        for side in sides:
            side.join(60)
        assert sorted(answers) == ["back", "there"]
        there, back = ([each["operation"] for each in answers[name][1]["results"]]
                       for name in ("there", "back"))
        assert there == back[::-1]
