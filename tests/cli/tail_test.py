"""`onceguard tail` and GET /api/recent: requests and events as they happen."""

import json
import os
import signal
import subprocess
import threading

import pytest

from support.admin import Admin
from support.client import fields_for
from support.gateway import DEFAULT_BODY, clean_environment
from support.waiting import wait_until

VIEWER = "viewer-token-00002"
FLOOD = 2_100  # requests: the process keeps 2,048 whole
JSON = ("Content-Type", "application/json")


@pytest.fixture
def watched(start_gateway, upstream, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"viewer {VIEWER}\n")
    path.chmod(0o600)
    (tmp_path / "token").write_text(VIEWER)
    admin = Admin(VIEWER)
    table = {"admin": admin.text, "admin_token_file": str(path)}
    yield start_gateway(upstream, {"gateway": table, "route": [{"path": "/refunds"}]}), admin
    admin.close()


@pytest.fixture
def tail(onceguard, watched, tmp_path):
    """Starts `onceguard tail`; whatever is left of it is killed."""
    _, admin = watched
    begun = []

    def start(*words, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
        begun.append(subprocess.Popen(
            [onceguard, "tail", "--admin", admin.text, "--token-file", str(tmp_path / "token"),
             *words], env=clean_environment(), **how))
        return begun[-1]

    yield start
    for one in begun:
        if one.poll() is None:
            one.kill()
        one.communicate()


def recent(admin, query=""):
    answer = admin.get("/api/recent" + query)
    assert answer.status == 200, answer.body
    return answer.json()


def test_a_line_for_each_request_as_it_happens(watched, tail, fresh_key):
    gateway, _ = watched
    key = fresh_key()
    assert gateway.post(key=key).status == 201
    following = tail()
    first = following.stdout.readline()
    while key not in first:  # events of the start
        first = following.stdout.readline()
    assert "ran" in first and "201" in first
    assert gateway.post(key=key).status == 201
    second = following.stdout.readline()
    assert "replayed" in second and key in second
    assert gateway.post(key=key, body=b"another").status == 422
    third = following.stdout.readline()
    assert "mismatch" in third and "422" in third
    following.send_signal(signal.SIGINT)
    following.wait(timeout=60)
    assert following.stderr.read() == ""


def test_filters_and_json(watched, tail, fresh_key):
    gateway, admin = watched
    paid, refund = fresh_key(), fresh_key()
    for count, (target, key) in enumerate([("/", paid), ("/", paid), ("/refunds", refund)], 1):
        gateway.post(target, key=key)
        # Noted after its answer, on a thread that need not be that of the next one.
        wait_until(lambda count=count: len(recent(admin)["requests"]) == count, what="the request")

    def seen(*words):
        done = tail("--json", "--once", *words)
        lines, errors = done.communicate(timeout=60)
        assert done.returncode == 0, errors
        return [json.loads(line) for line in lines.splitlines()]

    assert [one["key"] for one in seen("--outcome", "ran")] == [paid, refund]
    assert [one["outcome"] for one in seen("--key", paid)] == ["ran", "replayed"]
    assert [one["key"] for one in seen("--route", "/refunds")] == [refund]
    assert seen("--key", paid, "--outcome", "mismatch") == []
    (last,) = seen("--key", paid, "--lines", "1")
    record = admin.records(f"key={paid}")[0]["record"]
    assert (last["outcome"], last["record"], last["status"]) == ("replayed", record, 201)
    assert any("event" in one for one in seen("--lines", "2000"))
    numbers = [one["number"] for one in seen("--lines", "2000")]
    assert numbers == sorted(numbers)


def test_a_caller_waits_until_something_happens(watched, fresh_key):
    gateway, admin = watched
    after = recent(admin)["after"]
    key, answers = fresh_key(), []
    waiting = threading.Thread(
        target=lambda: answers.append(recent(admin, f"?after={after}&wait=20s&key={key}")))
    waiting.start()
    gateway.post(key=key)
    waiting.join(timeout=15)
    (answer,) = answers
    assert [one["key"] for one in answer["requests"]] == [key] and answer["lost"] == 0
    nothing = recent(admin, f"?after={answer['after']}&wait=10ms&key={key}")
    assert nothing["requests"] == nothing["events"] == []


def flood(gateway, admin, key):
    """More requests than the process keeps whole, until the last of them is noted."""
    begin = recent(admin)["after"]
    with gateway.connect() as connection:
        for _ in range(FLOOD):
            connection.send_request(
                "POST", "/charges", [JSON, *fields_for(key)], DEFAULT_BODY)
            assert connection.read().status == 201
    wait_until(lambda: recent(admin)["after"] >= begin + FLOOD, 30, "the last request")


def test_a_slow_reader_gets_the_number_of_lost_lines(watched, fresh_key):
    gateway, admin = watched
    begin = recent(admin)["after"]
    flood(gateway, admin, fresh_key())
    answer = recent(admin, f"?after={begin}&limit=2000")
    rest = recent(admin, f"?after={answer['after']}&limit=2000")
    numbers = [one["number"] for part in (answer, rest)
               for one in part["requests"] + part["events"]]
    assert answer["lost"] >= FLOOD - 2_048
    assert answer["lost"] + rest["lost"] + len(numbers) == rest["after"] - begin


def test_a_record_has_its_repeats_after_thousands_of_other_requests(watched, fresh_key):
    gateway, admin = watched
    key = fresh_key()
    for _ in range(3):
        gateway.post(key=key)
    (record,) = admin.records(f"key={key}")
    asked = f"?record={record['record']}"
    wait_until(lambda: len(recent(admin, asked)["requests"]) == 3, 30, "what became of them")
    before = recent(admin, asked)["requests"]
    # A request is noted after its answer.
    assert sorted(one["outcome"] for one in before) == ["ran", "replayed", "replayed"]
    flood(gateway, admin, fresh_key())
    after = recent(admin, asked)
    # The first attempt stands in the record. No texts are kept for so long.
    assert [(one["outcome"], one["status"], one["record"], "client" in one)
            for one in after["requests"]] == [("replayed", 201, record["record"], False)] * 2
    assert [one["number"] for one in after["requests"]] == [
        one["number"] for one in before if one["outcome"] == "replayed"]
    assert after["requests_since"] == after["begun_at"]  # nothing had to make room yet
    assert not recent(admin, f"{asked}&outcome=busy")["requests"]
    assert len(recent(admin, f"{asked}&limit=1")["requests"]) == 1
    assert "requests_since" not in recent(admin)


@pytest.mark.parametrize("query, why", [
    ("after=-1", "after"), ("limit=0", "limit"), ("limit=2001", "limit"), ("wait=21s", "wait"),
    ("wait=x", "wait"), ("outcome=nonsense", "nonsense"), ("record=12", "record"),
    ("colour=red", "colour"), ("key=", "key")])
def test_a_wrong_question_is_refused(watched, query, why):
    _, admin = watched
    answer = admin.get(f"/api/recent?{query}")
    assert answer.status == 400 and why in answer.json()["detail"]


def test_without_a_token(onceguard, watched):
    _, admin = watched
    done = subprocess.run([onceguard, "tail", "--admin", admin.text], capture_output=True,
                          text=True, timeout=120, check=False, env=clean_environment())
    assert done.returncode == 4 and "A token is needed" in done.stderr


def test_a_reader_that_went_away_ends_it(watched, tail, fresh_key):
    gateway, _ = watched
    gateway.post(key=fresh_key())
    read, write = os.pipe()
    following = tail(stdout=write)
    os.close(write)
    assert os.read(read, 1)
    os.close(read)
    gateway.post(key=fresh_key())
    assert following.wait(timeout=60) == 1
    assert following.stderr.read() == ""


def test_a_gateway_that_was_started_anew_is_followed(watched, tail, fresh_key):
    gateway, admin = watched
    before, after = fresh_key(), fresh_key()
    gateway.post(key=before)
    following = tail("--json")
    line = following.stdout.readline()
    while before not in line:
        line = following.stdout.readline()
    gateway.stop()
    gateway.start()
    wait_until(admin.is_ready, what="readiness")
    gateway.post(key=after)
    while after not in line:
        line = following.stdout.readline()
        assert line, "it ended"
    following.terminate()
    said = following.stderr.read()
    began = recent(admin)["begun_at"]
    whole = recent(admin, f"?after=1&begun_at={began}")
    assert whole["requests"] + whole["events"]
    assert min(one["number"] for one in whole["requests"] + whole["events"]) == 2
    other = recent(admin, "?after=1&begun_at=2020-01-01T00:00:00.000Z")
    assert min(one["number"] for one in other["requests"] + other["events"]) == 1
    assert "started anew" in said


def test_hostile_keys_do_not_reach_the_terminal(watched, tail, fresh_key):
    gateway, _ = watched
    gateway.ask("GET", "/%1b[31m", [("Idempotency-Key", f'"{fresh_key()}"')])
    done = tail("--once", "--lines", "5")
    lines, _ = done.communicate(timeout=60)
    assert "\x1b" not in lines


def test_a_record_has_its_requests_and_the_events_that_name_it(watched, fresh_key):
    gateway, admin = watched
    unknown, other = fresh_key(), fresh_key()
    for key in (unknown, other):
        assert gateway.post(key=key, plan={"status": 500}).status == 500
    record = admin.records(f"key={unknown}")[0]["record"]
    for noted in ("requests", "events"):
        wait_until(lambda part=noted: recent(admin, f"?record={record}")[part], what=noted)
    answer = recent(admin, f"?record={record}")
    assert [(one["key"], one["settled"], one["why"]) for one in answer["requests"]] == [
        (unknown, "unknown", "upstream_status")]
    assert [one["event"] for one in answer["events"]] == ["outcome-unknown"]
    assert recent(admin, f"?record={record}&outcome=ran")["events"] == []
