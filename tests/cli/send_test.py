"""`onceguard send`: against servers that fail, through a gateway, and killed on its way."""

import json
import os
import subprocess

import pytest

from support.gateway import clean_environment
from support.ports import Port
from support.sending import send, send_command
from support.waiting import wait_until

BODY = '{"amount":100}'


@pytest.fixture
def run(onceguard, tmp_path):
    return lambda *words, **how: send(onceguard, tmp_path, *words, **how)


def url_of(gateway, target="/charges"):
    return f"http://127.0.0.1:{gateway.port.number}{target}"


def test_prints_the_answer_and_what_it_does(run, gateway, upstream):
    done = run("POST", url_of(gateway), "--json", BODY, "-H", "X-Mark: a")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["effect"]
    key, attempt = done.stderr.splitlines()
    assert attempt == "onceguard: attempt 1: 201" or attempt == "onceguard: attempt 1: 200"
    [request] = upstream.requests(f'"{key.removeprefix("onceguard: key ")}"')
    fields = {name.lower(): value for name, value in request["fields"]}
    assert request["body"] == BODY
    assert (fields["content-type"], fields["x-mark"]) == ("application/json", "a")


@pytest.mark.parametrize("given", ["text", "file", "input"])
@pytest.mark.parametrize("option", ["--json", "--data"])
def test_takes_the_body_from_a_text_a_file_or_standard_input(run, gateway, upstream, tmp_path, key,
                                                            option, given):
    (tmp_path / "body").write_text(BODY)
    text = {"text": BODY, "file": "@body", "input": "-"}[given]
    done = run("POST", url_of(gateway), option, text, "--key", key, stdin=BODY)
    assert done.returncode == 0, done
    [request] = upstream.requests(f'"{key}"')
    assert request["body"] == BODY


def test_a_new_key_is_made_for_each_command_but_for_safe_methods_none(run, gateway):
    keys = {run("POST", url_of(gateway), "--data", "x").stderr.splitlines()[0] for _ in range(3)}
    assert len(keys) == 3 and all(k.startswith("onceguard: key ") for k in keys)
    assert "key" not in run("GET", url_of(gateway)).stderr


def test_goes_on_until_the_service_is_there(onceguard, run, start_gateway, own_upstream, tmp_path):
    gateway = start_gateway(own_upstream, started=False)
    client = subprocess.Popen(
        send_command(onceguard, "POST", url_of(gateway), "--json", BODY, "--attempts", 100),
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=clean_environment())
    key = client.stderr.readline().split()[-1]
    assert "; nothing was sent: again in" in client.stderr.readline()
    gateway.start()
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 0 and json.loads(out)["effect"]
    assert own_upstream.effects() == {f'"{key}"': 1}


@pytest.mark.parametrize("plan", [{"drop": "body"}, {"gate": "never"}], ids=["broken", "slow"])
def test_an_unknown_outcome_is_not_run_again(run, start_gateway, own_upstream, key, plan):
    gateway = start_gateway(own_upstream, {"defaults": {"upstream_timeout": "1s"}})
    own_upstream.plan("/charges", plan)
    done = run("POST", url_of(gateway), "--json", BODY, "--key", key)
    assert done.returncode == 8, done
    assert json.loads(done.stdout)["type"].endswith(":outcome-unknown")
    assert "the outcome is unknown" in done.stderr
    wait_until(own_upstream.effects, what="the effect, for which nobody has waited")
    assert own_upstream.effects() == {f'"{key}"': 1}


def test_a_key_of_another_request_is_refused_at_once(run, gateway, key):
    assert run("POST", url_of(gateway), "--json", BODY, "--key", key).returncode == 0
    done = run("POST", url_of(gateway), "--json", '{"amount":101}', "--key", key)
    assert done.returncode == 6, done
    assert "refused (Onceguard-Retry: new-key)" in done.stderr
    assert "attempt 2" not in done.stderr


def refusal(name, status=409):
    return {"status": status, "headers": [["Onceguard-Retry", "no"],
                                          ["Content-Type", "application/problem+json"]],
            "body": json.dumps({"type": f"urn:onceguard:problem:{name}", "retryable": False})}


def test_what_was_done_and_has_no_answer_is_a_success_with_a_word(run, own_upstream):
    own_upstream.plan("/charges", refusal("answer-not-kept"))
    words = ["POST", own_upstream.url + "/charges", "--json", BODY, "--key-file", "a.key"]
    done = run(*words)
    assert (done.returncode, done.stdout) == (0, ""), done
    assert "it was done before, and its answer was not kept" in done.stderr
    again = run(*words)
    assert (again.returncode, again.stdout) == (0, ""), again
    assert "done before with 204; nothing was sent" in again.stderr
    assert len(own_upstream.requests()) == 1


def test_a_refusal_after_an_attempt_that_may_have_arrived_says_nothing_of_the_outcome(
        run, own_upstream, key):
    own_upstream.plan("/charges", {"status": 500}, {"status": 404})
    done = run("POST", own_upstream.url + "/charges", "--json", BODY, "--key", key)
    assert done.returncode == 8, done
    assert "the outcome is unknown (an earlier attempt may have taken effect)" in done.stderr
    assert "refused" not in done.stderr


def test_a_refusal_with_the_key_file_of_an_earlier_run_says_nothing_of_the_outcome(
        run, own_upstream):
    own_upstream.plan("/charges", {"drop": "body"}, {"status": 401})
    words = ["POST", own_upstream.url + "/charges", "--json", BODY, "--key-file", "a.key"]
    assert run(*words, "--attempts", "1").returncode == 7
    done = run(*words)
    assert done.returncode == 8, done
    assert "an earlier attempt may have taken effect" in done.stderr


def test_the_longest_times_are_for_ever(run, own_upstream, key):
    own_upstream.plan("/charges", {"status": 503, "headers": [["Retry-After", "0"]]},
                      {"status": 201, "body": "done"})
    days = "100000000000d"
    done = run("POST", own_upstream.url + "/charges", "--json", BODY, "--key", key,
               "--budget", days, "--timeout", days)
    assert (done.returncode, done.stdout) == (0, "done"), done


def test_gives_up_with_the_key_that_a_later_command_needs(run, key):
    port = Port()
    done = run("POST", f"http://127.0.0.1:{port.number}/", "--data", "x", "--key", key,
               "--attempts", "2")
    port.close()
    assert (done.returncode, done.stdout) == (7, ""), done
    assert done.stderr.splitlines()[-1] == (
        "onceguard: gave up after 2 (the attempts are used up); "
        f"safe later with the same key: {key}")


def test_a_budget_ends_it(run, key):
    port = Port()
    done = run("POST", f"http://127.0.0.1:{port.number}/", "--data", "x", "--key", key,
               "--attempts", "1000", "--budget", "500ms")
    port.close()
    assert done.returncode == 7, done
    assert "the budget is used up" in done.stderr


def test_a_client_killed_before_the_answer_has_one_effect_with_its_key_file(
        onceguard, run, start_gateway, own_upstream, tmp_path):
    gateway = start_gateway(own_upstream, {"defaults": {"on_busy": "wait"}})
    own_upstream.plan("/charges", {"gate": "answer"}, {})
    words = ["POST", url_of(gateway), "--json", BODY, "--key-file", "order.key"]
    client = subprocess.Popen(send_command(onceguard, *words), cwd=tmp_path,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=clean_environment())
    [request] = own_upstream.arrived(1, whole=True)
    client.kill()
    client.communicate(timeout=60)
    own_upstream.open("answer")
    done = run(*words)
    assert done.returncode == 0, done
    assert done.stderr.splitlines()[0].split()[-1] == request["key"].strip('"')
    assert own_upstream.effects() == {request["key"]: 1}
    again = run(*words)
    assert (again.returncode, again.stdout) == (0, "")
    assert "done before with" in again.stderr
    assert len(own_upstream.requests()) == 1


def test_a_key_file_that_belongs_to_another_request_sends_nothing(run, gateway, upstream, tmp_path):
    assert run("POST", url_of(gateway), "--json", BODY, "--key-file", "a.key").returncode == 0
    before = len(upstream.requests())
    done = run("POST", url_of(gateway), "--json", '{"amount":1}', "--key-file", "a.key")
    assert (done.returncode, done.stdout) == (3, ""), done
    assert "a.key: belongs to another request" in done.stderr
    (tmp_path / "b.key").write_text("a note")
    assert run("POST", url_of(gateway), "--json", BODY, "--key-file", "b.key").returncode == 3
    assert run("POST", url_of(gateway), "--json", BODY, "--key-file", "no/c.key").returncode == 1
    assert len(upstream.requests()) == before


def test_a_key_file_of_another_operation_is_left_as_it_is(onceguard, run, own_upstream, tmp_path):
    own_upstream.plan("/charges", {"gate": "answer"})
    url = own_upstream.url + "/charges"
    client = subprocess.Popen(
        send_command(onceguard, "POST", url, "--json", BODY, "--key-file", "a.key"), cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())
    own_upstream.arrived(1, whole=True)
    (tmp_path / "a.key").unlink()
    own_upstream.plan("/other", {"status": 503})
    run("POST", own_upstream.url + "/other", "--key-file", "a.key", "--attempts", "1")
    before = (tmp_path / "a.key").read_bytes()
    own_upstream.open("answer")
    _, said = client.communicate(timeout=60)
    assert client.returncode == 0, said
    assert "a.key: belongs to another operation by now; it was left as it is" in said
    assert (tmp_path / "a.key").read_bytes() == before


@pytest.mark.parametrize("output", ["full", "closed"])
def test_an_answer_that_could_not_be_written_is_there_for_the_same_command_again(
        onceguard, run, gateway, upstream, tmp_path, output):
    words = ["POST", url_of(gateway), "--json", BODY, "--key-file", "a.key"]
    if output == "full":
        target = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, target = os.pipe()
        os.close(reader)
    try:
        done = subprocess.run(send_command(onceguard, *words), cwd=tmp_path, stdout=target,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                              env=clean_environment())
    finally:
        os.close(target)
    assert done.returncode == 1, done
    assert "the answer is not written" in done.stderr
    key = done.stderr.splitlines()[0].split()[-1]
    again = run(*words)
    assert again.returncode == 0, again
    assert json.loads(again.stdout)["effect"]
    assert len(upstream.requests(f'"{key}"')) == 1


@pytest.mark.parametrize("option", ["--key", "--key-file", "--json"])
@pytest.mark.parametrize("form", ["two words", "one word"])
def test_an_option_with_an_empty_text_is_wrong_usage_and_sends_nothing(run, upstream, option, form):
    words = [option, ""] if form == "two words" else [option + "="]
    before = len(upstream.requests())
    done = run("POST", upstream.url + "/charges", *words)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert option in done.stderr
    assert len(upstream.requests()) == before


@pytest.mark.parametrize("words", [
    ["--json", "{no json"], ["--json", "{}", "--data", "x"], ["--key", "a", "--key-file", "b"],
    ["--budget", "0s"], ["--timeout", "soon"], ["--attempts", "0"], ["-H", "no colon"],
    ["-H", "Idempotency-Key: a"], ["--key", "a\nb"],
], ids=" ".join)
def test_what_is_no_request_is_wrong_usage(run, tmp_path, words):
    done = run("POST", "http://127.0.0.1:1/", *words)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "attempt 1" not in done.stderr
    assert list(tmp_path.iterdir()) == []
