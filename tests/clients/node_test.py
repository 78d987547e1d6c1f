"""Services in Node, one in each framework, beside `onceguard serve`."""

import pytest

from clients.node_programs import EXAMPLES, example
from clients.serving import BODY, final
from clients.upgrading import CONFIG as UPGRADED, answers_through_an_upgrade
from support.client import all_at_once, request_bytes
from support.waiting import Stopwatch, wait_until

frameworks = pytest.mark.parametrize("framework", EXAMPLES)


@frameworks
def test_a_replay_is_the_first_answer_byte_for_byte(framework, start_serve, start_service, key,
                                                    tmp_path):
    service = start_service(example(framework, tmp_path), start_serve())
    fields = [["Link", "<a>"], ["X-Latin", "caf\u00e9"], ["Link", "<b>"]]
    first = service.post(key, {"bytes": True, "fields": fields, "status": 202})
    again = service.post(key, {"bytes": True, "fields": fields, "status": 202})
    assert first.status == 202 and first.body == bytes(range(256)) and not first.replayed
    assert again.replayed and again.stored_part() == first.stored_part()
    assert again.all("Link") == ["<a>", "<b>"]
    assert service.effects()[key] == 1
    other = service.post(key, body=b'{"amount":101}')
    assert (other.status, other.problem) == (422, "key-reused")
    assert service.post(key).stored_part() == first.stored_part()
    assert service.effects()[key] == 1


@frameworks
def test_parsers_behind_the_middleware_get_the_body(framework, start_serve, start_service, key,
                                                    tmp_path):
    service = start_service(example(framework, tmp_path), start_serve())
    for amount, chunked in ((41, False), (42, True)):
        for replayed in (False, True):
            answer = service.post(f"{key}-{amount}", path="/payments", chunked=chunked,
                                  body=b'{"amount":%d}' % amount)
            assert (answer.status, answer.json()["amount"]) == (201, amount)
            assert answer.replayed == replayed
        assert service.effects()[f"payment-{amount}"] == 1


@frameworks
def test_concurrent_twins_run_once(framework, start_serve, start_service, key, tmp_path):
    serve = start_serve({"defaults": {"on_busy": "wait"}})
    service = start_service(example(framework, tmp_path), serve)
    fields = service.fields(key, work={"delay": 100})
    twin = request_bytes("POST", "/conformance", fields, BODY)
    answers = all_at_once(service.address, [twin] * 20)
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert sum(answer.replayed for answer in answers) == 19
    assert service.effects()[key] == 1


@frameworks
def test_the_service_away(framework, start_serve, start_service, key, tmp_path):
    serve = start_serve()
    closed = start_service(example(framework, tmp_path), serve)
    opened = start_service(example(framework, tmp_path), serve, {"ONCEGUARD_OPEN": "1"})
    serve.kill()
    refused = closed.post(key)
    assert (refused.status, refused.problem) == (503, "store-unreachable")
    assert refused.get("Retry-After") == "1" and refused.get("Onceguard-Retry") == "same-key"
    assert closed.effects()[key] == 0
    assert [opened.post(key).status for _ in range(2)] == [201, 201]
    assert opened.effects()[key] == 2
    serve.start()
    assert [service.post(key).status for service in (closed, closed, opened)] == [201] * 3
    assert closed.effects()[key] == 1


@frameworks
def test_no_request_fails_while_the_service_is_upgraded(framework, start_serve, start_service,
                                                        fresh_key, tmp_path):
    serve = start_serve(UPGRADED)
    service = start_service(example(framework, tmp_path), serve)
    answers_through_an_upgrade(serve, service, fresh_key)


@frameworks
def test_the_decision_service_is_killed_amid_the_work(framework, start_serve, start_service, key,
                                                      tmp_path):
    serve = start_serve({"defaults": {"lease": "2s"}})
    service = start_service(example(framework, tmp_path), serve)
    client = service.begin_work(key, {"delay": 3000})
    serve.kill()
    serve.start()
    first = client.read()
    client.close()
    assert first.status == 201
    again = service.post(key, {"delay": 3000})
    assert again.replayed and again.stored_part() == first.stored_part()
    assert service.effects()[key] == 1


@frameworks
def test_the_service_is_killed_amid_the_work(framework, start_serve, start_service, key, tmp_path):
    serve = start_serve({"defaults": {"lease": "2s"}})
    service = start_service(example(framework, tmp_path), serve)
    client = service.begin_work(key, {"delay": 20000})
    service.kill()
    client.close()
    service.start()
    watch = Stopwatch()
    assert final(service, key, {"delay": 20000}).problem == "outcome-unknown"
    assert watch.seconds < 25  # and not for as long as the usual lease
    assert serve.state(key) == "unknown" and service.effects()[key] == 1


def test_an_effect_behind_one_that_a_kill_cut_off_is_counted(start_serve, start_service, key,
                                                             tmp_path):
    service = start_service(example("http", tmp_path), start_serve())
    service.kill()
    service.effects_path.write_text("key-of-one-that-was-killed-ami")
    service.start()
    assert service.post(key).status == 201 and service.effects()[key] == 1


# ---- answers
@frameworks
def test_an_answer_over_the_limit_is_sent_and_not_kept(framework, start_serve, start_service, key,
                                                       tmp_path):
    serve = start_serve({"defaults": {"max_answer_body": "64KiB"}})
    service = start_service(example(framework, tmp_path), serve)
    kept = service.post(f"{key}-kept", {"size": 64 * 1024})
    assert service.post(f"{key}-kept", {"size": 64 * 1024}).stored_part() == kept.stored_part()
    answer = service.post(key, {"size": 64 * 1024 + 1})
    assert (answer.status, len(answer.body)) == (201, 64 * 1024 + 1)
    again = service.post(key, {"size": 64 * 1024 + 1})
    assert (again.status, again.problem) == (409, "answer-not-kept")
    assert service.effects()[key] == 1


@frameworks
def test_an_answer_that_can_not_be_recorded_is_unknown_at_once(framework, start_serve,
                                                               start_service, key, tmp_path):
    serve = start_serve({"defaults": {"lease": "60s", "on_busy": "reject"}})
    service = start_service(example(framework, tmp_path), serve)
    for _ in range(2):  # nobody waits for a lease
        answer = service.post(key, {"status": 150})
        assert (answer.status, answer.problem) == (409, "outcome-unknown")
        assert answer.get("Onceguard-Retry") == "no"
    assert serve.state(key) == "unknown" and service.effects()[key] == 1


@frameworks
def test_many_at_once_each_get_their_own_answer(framework, start_serve, start_service, key,
                                                tmp_path):
    service = start_service(example(framework, tmp_path), start_serve())
    bodies = [b'{"amount":%d}' % amount for amount in range(60)]
    requests = [request_bytes("POST", "/payments", service.fields(f"{key}-{at}"), body)
                for at, body in enumerate(bodies)]
    for replayed in (False, True):
        answers = all_at_once(service.address, requests)
        assert {answer.status for answer in answers} == {201}
        assert {answer.replayed for answer in answers} == {replayed}
        assert [answer.json()["amount"] for answer in answers] == list(range(60))
    runs = service.effects()
    assert [runs[f"payment-{amount}"] for amount in range(60)] == [1] * 60


@frameworks
def test_a_client_that_leaves_gets_the_answer_later(framework, start_serve, start_service, key,
                                                    tmp_path):
    service = start_service(example(framework, tmp_path), start_serve())
    client = service.begin_work(key, {"delay": 300})
    client.reset()
    answer = final(service, key, {"delay": 300})
    assert answer.status == 201 and answer.replayed and service.effects()[key] == 1


@frameworks
def test_half_a_body_runs_nothing(framework, start_serve, start_service, key, tmp_path):
    serve = start_serve()
    service = start_service(example(framework, tmp_path), serve)
    whole = request_bytes("POST", "/conformance", service.fields(key), BODY)
    client = service.begin_post(f"{key}-whole")
    assert client.read().status == 201
    client.send(whole[:-3])
    client.reset()
    wait_until(lambda: service.post(key, body=b'{"amount":7}').status == 201, what="another one")
    assert service.effects()[key] == 1


def test_a_token_over_tcp(start_serve, start_service, tmp_path, key):
    tokens = tmp_path / "tokens"
    tokens.write_text("client 0123456789abcdef0123456789abcdef shop\n")
    tokens.chmod(0o600)
    serve = start_serve({"serve": {"token_file": str(tokens)}}, tcp=True)
    stranger = start_service(example("http", tmp_path), serve)
    assert stranger.post(key).status == 500 and "unauthorized" in stranger.log()
    token = {"ONCEGUARD_TOKEN": "0123456789abcdef0123456789abcdef"}
    known = start_service(example("http", tmp_path), serve, token)
    assert [known.post(key).status for _ in range(2)] == [201, 201]
    assert (stranger.effects()[key], known.effects()[key]) == (0, 1)
