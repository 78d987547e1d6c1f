"""Dead letters and unknown messages on the page of `onceguard consume`, and its drain."""

import json
import signal
import threading
import time

from page.conftest import HOSTILE_ID as HOSTILE
from support.waiting import wait_until


def lines_of(path):
    return [json.loads(line) for line in path.read_text().strip("\0").splitlines()]


def listed(admin):
    answer = admin.get("/api/workers/billing/messages")
    assert answer.status == 200, answer.body
    body = answer.json()
    assert body["faults"] == [], body
    return {one["key"]: one for one in body["messages"]}


def wanted(*letters):
    return [{name: one[name] for name in ("message", "state", "token") if name in one}
            for one in letters]


def test_the_messages_by_the_admin_api(begin_consumer, own_upstream, tmp_path):
    _, admin, facts = begin_consumer()
    path = "/api/workers/billing/messages"
    seen = listed(admin)
    assert {key: one["state"] for key, one in seen.items()} == {
        "m-unknown": "unknown", "m-dead": "dead", HOSTILE: "dead"}
    both = wanted(seen["m-unknown"], seen["m-dead"])
    for body, status in (({"messages": both}, 422), ({"reason": "x", "messages": []}, 422),
                         ({"reason": "x"}, 422), ({"reason": "x", "messages": [{}]}, 422)):
        assert admin.post(f"{path}/retry", body).status == status
    assert admin.post("/api/workers/other/messages/retry",
                      {"reason": "x", "messages": both}).status == 404
    assert admin.post(f"{path}/retry", {"reason": "x", "messages": both},
                      token=facts["viewer"]).status == 403
    dry = admin.post(f"{path}/retry", {"reason": "no payment", "messages": both}).json()
    assert dry["dry_run"] and [one["outcome"] for one in dry["messages"]] == ["done", "done"]
    assert own_upstream.runs("m-unknown") == 1 and lines_of(tmp_path / "audit") == []
    changed = [dict(both[0], token=both[0]["token"] + 1), dict(both[1], message="0" * 32)]
    refused = admin.post(f"{path}/retry", {"reason": "x", "messages": changed,
                                           "dry_run": False}).json()
    assert [one["outcome"] for one in refused["messages"]] == ["changed", "not_found"]
    assert own_upstream.runs("m-unknown") == 1
    done = admin.post(f"{path}/retry", {"reason": "no payment", "messages": both,
                                        "dry_run": False}).json()
    assert [one["outcome"] for one in done["messages"]] == ["done", "done"], done
    assert [own_upstream.runs(key) for key in ("m-unknown", "m-dead")] == [2, 2]
    (left,) = listed(admin).values()
    dropped = admin.post(f"{path}/drop", {"reason": "paid by hand", "messages": wanted(left),
                                          "dry_run": False}).json()
    assert [one["outcome"] for one in dropped["messages"]] == ["done"]
    assert listed(admin) == {}
    written = [(one["stage"], one["action"], one["who"], one["why"])
               for one in lines_of(tmp_path / "audit") if one["key"] == "m-unknown"]
    assert written == [("intended", "release", "alice", "no payment"),
                       ("done", "release", "alice", "no payment"),
                       ("intended", "retry", "alice", "no payment"),
                       ("handled", "retry", "alice", "no payment")]


def letters_in_the_page(begin_consumer, act_out, upstream, audit, store=None):
    _, admin, facts = begin_consumer(store)
    act_out("letters", facts)
    assert [upstream.runs(key) for key in ("m-unknown", "m-dead")] == [2, 2]
    assert listed(admin) == {}
    acts = {(one["action"], one["key"], one["who"]) for one in lines_of(audit)}
    assert acts == {("release", "m-unknown", "alice"), ("retry", "m-unknown", "alice"),
                    ("release", "m-dead", "alice"), ("retry", "m-dead", "alice"),
                    ("drop", HOSTILE, "alice")}


def test_messages_are_settled_in_the_page(begin_consumer, act_out, own_upstream, tmp_path):
    letters_in_the_page(begin_consumer, act_out, own_upstream, tmp_path / "audit")


def test_a_consumer_is_drained_in_the_page(begin_consumer, act_out, tmp_path):
    consumer, _, facts = begin_consumer()
    act_out("drain", {**facts, "gone": True, "heading": "Workers"})
    assert consumer.process.wait(60) == 0
    assert [(one["stage"], one["action"], one["who"], one["why"])
            for one in lines_of(tmp_path / "audit")] == [
        ("intended", "drain", "alice", "a new release"),
        ("done", "drain", "alice", "a new release")]


def test_an_act_in_progress_is_finished_by_a_drain(begin_consumer, own_upstream):
    """The answer comes, and the message is settled, although the process ends."""
    consumer, admin, _ = begin_consumer()
    own_upstream.plan("/", {"status": 200, "delay_ms": 2000})
    answers = []
    body = {"reason": "x", "messages": wanted(listed(admin)["m-dead"]), "dry_run": False}
    acting = threading.Thread(target=lambda: answers.append(
        admin.post("/api/workers/billing/messages/retry", body)))
    acting.start()
    wait_until(lambda: own_upstream.runs("m-dead") == 2, what="the attempt")
    consumer.process.send_signal(signal.SIGTERM)
    acting.join(60)
    assert answers[0].status == 200 and answers[0].json()["messages"][0]["outcome"] == "done"
    assert consumer.process.wait(60) == 0


def dead_letter(stream, payload, **fields):
    """As a broker that moved it by itself: without the words of the consumer."""
    words = ["XADD", stream.name + "-dead", "*", "payload", payload]
    for name, value in fields.items():
        words += [name, value]
    assert stream.command(*words).startswith(b"$")


def test_copies_are_shown_and_an_act_is_for_one_of_them(begin_consumer, tmp_path):
    consumer, admin, _ = begin_consumer()
    stream = consumer.stream
    for _ in range(3):
        dead_letter(stream, "nobody knows me")
    path = "/api/workers/billing/messages"
    copies = [one for one in admin.get(path).json()["messages"] if one["state"] == "keyless"]
    assert len({one["message"] for one in copies}) == 3, copies
    body = {"reason": "sent by hand", "messages": wanted(copies[1]), "dry_run": False}
    assert [one["outcome"] for one in admin.post(f"{path}/drop", body).json()["messages"]] == [
        "done"]
    left = [one for one in admin.get(path).json()["messages"] if one["state"] == "keyless"]
    assert len(left) == len({one["message"] for one in left}) == 2
    body["messages"] = wanted(*left)
    assert [one["outcome"] for one in admin.post(f"{path}/drop", body).json()["messages"]] == [
        "done", "done"]
    assert not [one for one in admin.get(path).json()["messages"] if one["state"] == "keyless"]
    assert len([one for one in lines_of(tmp_path / "audit") if one["stage"] == "done"]) == 3


def test_many_dead_messages_are_sent_again_after_one_pause(begin_consumer, own_upstream):
    """A forgotten answer may be served from memory for five seconds: of all of them at once."""
    consumer, admin, _ = begin_consumer()
    own_upstream.plan("/", {"status": 404})
    keys = [f"many-{number}" for number in range(20)]
    for key in keys:
        consumer.stream.add("x", key)
    wait_until(lambda: all(own_upstream.runs(key) == 1 for key in keys), 30, "the attempts")
    path = "/api/workers/billing/messages"
    wait_until(lambda: set(keys) <= {one["key"] for one in admin.get(path).json()["messages"]},
               30, "the letters")
    own_upstream.plan("/", {"status": 200})
    body = {"reason": "mended", "dry_run": False,
            "messages": wanted(*[one for key, one in listed(admin).items() if key in keys])}
    begin = time.monotonic()
    done = admin.post(f"{path}/retry", body, timeout=5 * len(keys)).json()
    assert [one["outcome"] for one in done["messages"]] == 20 * ["done"], done
    assert 5 <= time.monotonic() - begin < 5 * len(keys)
    assert [own_upstream.runs(key) for key in keys] == 20 * [2]
