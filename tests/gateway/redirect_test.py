"""Services that redirect a guarded request, and clients that follow with the same key."""

import json
import subprocess
import textwrap

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.node import NODE
from support.ports import Port
from support.waiting import wait_until

AUTH = [("Authorization", "Bearer ann")]
AWAY = {"headers": [["Location", "/pay/"]], "body": "", "effect": False}


@pytest.fixture
def guarded(start_gateway, own_upstream):
    """/pay redirects to /pay/, where the work is done."""
    own_upstream.plan("/pay", {"status": 307, **AWAY})
    own_upstream.plan("/pay/", {})
    return start_gateway(own_upstream)


def post(gateway, target, key, body=b'{"amount":1}', **how):
    return gateway.post(target, key=key, body=body, fields=AUTH, **how)


@pytest.mark.parametrize("status", [307, 308])
def test_the_step_behind_a_redirect_is_made_once(guarded, own_upstream, key, status):
    own_upstream.plan("/pay", {"status": status, **AWAY})
    away = assert_first(post(guarded, "/pay", key), status)
    assert away.get("Location") == "/pay/"
    assert_replay_of(post(guarded, "/pay", key), away)  # nobody has followed yet
    first = assert_first(post(guarded, "/pay/", key))
    assert_replay_of(post(guarded, "/pay/", key), first)
    assert_replay_of(post(guarded, "/pay", key), first)  # from the start
    assert own_upstream.effects() == {key: 1}


def test_it_is_known_after_a_restart(guarded, own_upstream, key):
    assert post(guarded, "/pay", key).status == 307
    guarded.restart()
    first = assert_first(post(guarded, "/pay/", key))
    guarded.restart()
    assert_replay_of(post(guarded, "/pay", key), first)
    assert own_upstream.effects() == {key: 1}


def test_other_work_does_not_follow(guarded, own_upstream, key):
    assert post(guarded, "/pay", key).status == 307
    other = post(guarded, "/pay/", key, body=b'{"amount":2}')
    assert_problem(other, 422, "key-reused", False)
    assert other.get("Onceguard-Retry") == "new-key"
    assert_problem(post(guarded, "/pay//", key), 422, "key-reused", False)
    assert_problem(post(guarded, "/pay/", key, method="PATCH"), 422, "key-reused", False)
    assert own_upstream.effects() == {}
    assert_first(post(guarded, "/pay/", key))
    assert_problem(post(guarded, "/pay/", key, body=b'{"amount":2}'), 422, "key-reused", False)
    assert own_upstream.effects() == {key: 1}


@pytest.mark.parametrize("begin, place, follows", [
    ("/pay?a=1", "/pay/?a=1", True), ("/pay", "/pay/?a=1", True), ("/pay?a=1", "/pay/", False),
    ("/pay?a=1", "/pay/?a=2", False)])
def test_the_step_keeps_the_query_or_adds_one(guarded, own_upstream, key, begin, place, follows):
    own_upstream.plan("/pay", {"status": 307, **AWAY, "headers": [["Location", place]]})
    assert post(guarded, begin, key).get("Location") == place
    answer = post(guarded, place, key)
    if follows:
        assert_first(answer)
    else:
        assert_problem(answer, 422, "key-reused", False)
    assert own_upstream.effects() == ({key: 1} if follows else {})


def test_after_303_nothing_follows(guarded, own_upstream, key):
    own_upstream.plan("/pay", {"status": 303, "headers": [["Location", "/pay/"]], "body": ""})
    done = assert_first(post(guarded, "/pay", key), 303)
    assert_problem(post(guarded, "/pay/", key), 422, "key-reused", False)
    assert_replay_of(post(guarded, "/pay", key), done)
    assert own_upstream.effects() == {key: 1}


def test_a_302_after_the_work_is_replayed(guarded, own_upstream, key):
    """As Rails, Django and Flask redirect when they are done."""
    own_upstream.plan("/pay", {"status": 302, "headers": [["Location", "/receipts/1"]]})
    done = assert_first(post(guarded, "/pay", key), 302)
    assert_replay_of(post(guarded, "/pay", key), done)
    assert own_upstream.effects() == {key: 1}


@pytest.mark.parametrize("status", [301, 302])
def test_clients_go_on_with_a_get_after_others(guarded, own_upstream, key, status):
    """So whoever sends the key there is another request, also at the place that redirected."""
    own_upstream.plan("/pay", {"status": status, "headers": [["Location", "/pay"]]})
    done = assert_first(post(guarded, "/pay", key), status)
    for fields in ([("X-Tenant", "b")], [("X-Tenant", "c")]):
        differing = guarded.post("/pay", key=key, body=b'{"amount":1}', fields=AUTH + fields)
        assert_problem(differing, 422, "key-reused", False)
    assert_problem(post(guarded, "/pay", key, body=b'{ "amount": 1 }'), 422, "key-reused", False)
    assert_replay_of(post(guarded, "/pay", key), done)
    assert own_upstream.effects() == {key: 1}


@pytest.mark.parametrize("known", [AUTH + [("X-Tenant", "a")], [("Cookie", "session=ann")],
                                   [("X-Device-Id", "ann")]], ids=lambda f: f[-1][0])
def test_only_the_same_caller_follows(guarded, own_upstream, key, known):
    *head, (name, value) = known
    stranger = [*head, (name, value.replace("a", "b"))]

    def send(target, fields):
        return guarded.post(target, key=key, body=b'{"amount":1}', fields=fields)
    assert send("/pay", known).status == 307
    assert_problem(send("/pay/", stranger), 422, "key-reused", False)
    first = assert_first(send("/pay/", known))
    assert_problem(send("/pay/", stranger), 422, "key-reused", False)
    assert_replay_of(send("/pay", known), first)
    assert own_upstream.effects() == {key: 1}


@pytest.mark.parametrize("body", [b'{"amount":%d,"id":9007199254740993}',
                                  b'{"amount":%d,"pad":"' + b"x" * 70_000 + b'"}',
                                  b'{"attempt":%d}'], ids=["digits", "long", "attempt"])
def test_a_body_whose_work_nobody_can_tell_does_not_follow(guarded, own_upstream, key, body):
    assert post(guarded, "/pay", key, body=body % 1).status == 307
    assert_problem(post(guarded, "/pay/", key, body=body % 999), 422, "key-reused", False)
    assert_first(post(guarded, "/pay/", key, body=body % 1))
    assert own_upstream.effects() == {key: 1}


def test_a_way_there_and_back_is_gone_until_it_ends(guarded, own_upstream, key):
    """A service sees whether the client keeps cookies, and sends it back."""
    check = {"status": 307, "headers": [["Location", "/check"]], "effect": False}
    own_upstream.plan("/pay", check, check, {})
    own_upstream.plan("/check", {"status": 307, "headers": [["Location", "/pay"]],
                                 "effect": False})
    assert post(guarded, "/pay", key).status == 307
    assert post(guarded, "/check", key).status == 307
    assert post(guarded, "/pay", key).status == 307  # has lost its cookie, and is sent once more
    assert post(guarded, "/check", key).status == 307
    first = assert_first(post(guarded, "/pay", key))
    assert_replay_of(post(guarded, "/pay", key), first)
    assert own_upstream.effects() == {key: 1}


def test_a_way_of_several_steps(guarded, own_upstream, key):
    own_upstream.plan("/b", {"status": 308, "headers": [["Location", "/c?x=1"]], "effect": False})
    own_upstream.plan("/pay", {"status": 307, "effect": False,
                               "headers": [["Location", "http://shop.test/b"]]})
    assert post(guarded, "/pay", key).status == 307
    assert post(guarded, "/b", key).status == 308
    first = assert_first(post(guarded, "/c?x=1", key))
    for target in ("/pay", "/c?x=1"):
        assert_replay_of(post(guarded, target, key), first)
    assert own_upstream.effects() == {key: 1}


def test_a_redirect_to_the_same_place_runs_again(guarded, own_upstream, key):
    """To https, where the proxy in front of the gateway speaks both."""
    again = {"status": 308, "headers": [["Location", "https://shop.test/pay"]], "effect": False}
    own_upstream.plan("/pay", again, {})
    assert_first(post(guarded, "/pay", key), 308)
    first = assert_first(post(guarded, "/pay", key))
    assert_replay_of(post(guarded, "/pay", key), first)
    assert own_upstream.effects() == {key: 1}


def test_the_step_that_is_unknown_is_not_run_again(guarded, own_upstream, key):
    own_upstream.plan("/pay/", {"status": 500})
    assert post(guarded, "/pay", key).status == 307
    assert post(guarded, "/pay/", key).status == 500
    assert_problem(post(guarded, "/pay/", key), 409, "outcome-unknown", False)
    assert post(guarded, "/pay", key).status == 307
    assert own_upstream.effects() == {key: 1}


def test_a_redirect_too_long_to_keep_is_kept_without_its_body(start_gateway, own_upstream, key):
    own_upstream.plan("/pay", {"status": 307, "headers": [["Location", "/pay/"]], "size": 5000,
                               "effect": False})
    own_upstream.plan("/pay/", {})
    gateway = start_gateway(own_upstream, {"defaults": {"max_answer_body": 1000}})
    assert len(assert_first(post(gateway, "/pay", key), 307).body) == 5000
    first = assert_first(post(gateway, "/pay/", key))
    assert_replay_of(post(gateway, "/pay", key), first)


def test_check_remarks_on_redirects_that_run_again(onceguard, tmp_path):
    def remarks(outcome):
        path = tmp_path / "onceguard.toml"
        path.write_text('[gateway]\nlisten = "127.0.0.1:0"\n[[upstream]]\nname = "a"\n'
                        f'url = "http://127.0.0.1:9"\n[defaults]\noutcome = {{ {outcome} }}\n')
        done = subprocess.run([onceguard, "check", "--config", path], capture_output=True,
                              text=True, check=False)
        return done.stdout + done.stderr
    for outcome in ('"303" = "release"', '"3xx" = "fail"', '"302" = "release"'):
        assert "services answer 303 and 302 once it took effect" in remarks(outcome), outcome
    assert "303 and 302" not in remarks('"303" = "complete"')


# ---- real neighbours

FOLLOWER = """
const tries = [];
for (let i = 0; i < 2; i += 1) {
  const answer = await fetch(process.argv[1], { method: "POST", body: '{"amount":1}', headers: {
    "Content-Type": "application/json", "Idempotency-Key": process.argv[2],
    Authorization: "Bearer ann" } });
  tries.push([answer.status, await answer.text(), answer.headers.get("idempotent-replayed")]);
}
console.log(JSON.stringify(tries));
"""


def fetch_twice(url, key):
    done = subprocess.run([NODE, "--input-type=module", "--eval", FOLLOWER, url, key],
                          capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def curl_twice(url, key):
    answers = []
    for _ in range(2):
        done = subprocess.run(
            ["curl", "-sSL", "-w", "\n%{http_code}", "--data-binary", '{"amount":1}',
             "-H", "Content-Type: application/json", "-H", f"Idempotency-Key: {key}",
             "-H", "Authorization: Bearer ann", url],
            capture_output=True, text=True, timeout=60, check=True)
        body, _, status = done.stdout.rpartition("\n")
        answers.append([int(status), body, None])
    return answers


FASTAPI = """
import sys

import uvicorn
from fastapi import FastAPI

app = FastAPI()
payments = []

@app.post("/pay/", status_code=201)
async def pay(payment: dict):
    payments.append(payment)
    return {"payment": len(payments)}

@app.get("/payments")
async def paid():
    return len(payments)

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""


class FastApi:
    """A service that was not told about the missing slash."""

    def __init__(self, folder):
        self.port = Port()
        program = folder / "service.py"
        program.write_text(textwrap.dedent(FASTAPI))
        self.process = subprocess.Popen(["/usr/bin/python3", program, str(self.port.number)])
        self.url = f"http://127.0.0.1:{self.port.number}"
        wait_until(lambda: self.paid() is not None, 30)

    def paid(self):
        done = subprocess.run(["curl", "-s", f"{self.url}/payments"], capture_output=True,
                              text=True, check=False)
        return int(done.stdout) if done.stdout else None

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.port.close()


@pytest.fixture
def fastapi(tmp_path):
    service = FastApi(tmp_path)
    yield service
    service.close()


@pytest.mark.parametrize("twice", [curl_twice, fetch_twice])
def test_fastapi_without_the_slash(start_gateway, fastapi, key, twice):
    gateway = start_gateway(fastapi.url)
    first, again = twice(f"http://127.0.0.1:{gateway.port.number}/pay", key)
    assert first[0] == again[0] == 201, (first, again)
    assert json.loads(first[1]) == json.loads(again[1]) == {"payment": 1}
    assert fastapi.paid() == 1
