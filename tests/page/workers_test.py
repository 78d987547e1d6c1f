"""The page of `onceguard consume`: a consumer is paused and resumed there, by an operator alone."""

import json
import signal

import pytest

from support.admin import Admin
from support.consumer import Consumer, Stream
from support.redis import Redis
from support.waiting import wait_until


@pytest.fixture
def consuming(onceguard, own_upstream, tmp_path):
    """A consumer with the page; its stream, its listener, and the facts for a scenario."""
    redis = Redis({"appendonly": "yes"}).start()
    admin = Admin("operator-token-0001")
    tokens = tmp_path / "tokens"
    tokens.write_text("operator operator-token-0001 alice\nviewer viewer-token-00002 bob\n")
    tokens.chmod(0o600)
    stream = Stream(redis, "charges")
    consumer = Consumer(onceguard, tmp_path, [
        {"subscriber": "billing", "from": stream.url, "dead_letter": "drop",
         "to": own_upstream.url}],
        gateway={"admin": admin.text, "admin_token_file": str(tokens),
                 "audit_log": str(tmp_path / "audit")})
    consumer.start()
    facts = {"url": f"http://{admin.text}", "operator": admin.token,
             "viewer": "viewer-token-00002"}
    yield stream, admin, facts
    consumer.stop(signal.SIGKILL)
    admin.close()
    redis.close()


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def paused(admin):
    (one,) = admin.get("/api/workers").json()["workers"]
    return one["paused"]


def test_a_paused_consumer_takes_nothing_until_it_is_resumed(consuming, own_upstream, tmp_path):
    stream, admin, facts = consuming
    stream.add("x", "m1")
    wait_until(lambda: own_upstream.runs("m1") == 1, 30, "the first message")
    path = "/api/workers/billing"
    for refused, status in ((admin.post(f"{path}/pause", {"reason": " "}), 422),
                            (admin.post(f"{path}/pause", {"why": "x"}), 422),
                            (admin.post("/api/workers/other/pause", {"reason": "x"}), 404),
                            (admin.post(f"{path}/pause", {"reason": "x"},
                                        token=facts["viewer"]), 403)):
        assert refused.status == status, refused.body
    assert not (tmp_path / "audit").exists() or lines_of(tmp_path / "audit") == []
    assert admin.post(f"{path}/pause", {"reason": "the bank is down"}).status == 200
    assert paused(admin)
    consumed = tmp_path / "log"
    wait_until(lambda: '"event":"consumed"' in consumed.read_text(), 30, "the end of its work")
    stream.add("x", "m2")
    assert admin.get("/healthz").status == 200 and own_upstream.runs("m2") == 0
    assert admin.post(f"{path}/resume", {"reason": "it is back"}).status == 200
    wait_until(lambda: own_upstream.runs("m2") == 1, 30, "the second message")
    assert own_upstream.runs("m1") == 1
    written = [(one["stage"], one["action"], one["who"], one["key"], one["why"])
               for one in lines_of(tmp_path / "audit")]
    assert written == [
        ("intended", "pause", "alice", "billing", "the bank is down"),
        ("done", "pause", "alice", "billing", "the bank is down"),
        ("intended", "resume", "alice", "billing", "it is back"),
        ("done", "resume", "alice", "billing", "it is back")]


def test_pause_and_resume_in_the_page(consuming, act_out, tmp_path):
    _, admin, facts = consuming
    act_out("workers", facts)
    assert not paused(admin)
    assert [one["action"] for one in lines_of(tmp_path / "audit")] == [
        "pause", "pause", "resume", "resume"]
