"""The payment servers of examples/, as their clients meet them."""

import collections
import concurrent.futures
import http.client
import subprocess

import pytest

from support.client import Connection, all_at_once, fields_for, request_bytes
from support.example_server import ROOT
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.payments import IN_SQLITE, PaymentServer, program_of
from support.waiting import scaled, wait_until

# What a client repeats. 503: a busy disk kept the store for longer than the server waits for it.
REPEATED = {409, 503}
STORES = {**dict.fromkeys(("beast", "httplib", "pistache", "restinio"), "sqlite:{}/onceguard.db"),
          **dict.fromkeys(IN_SQLITE, "{}/shop.db")}


@pytest.fixture(params=STORES)
def server(request, tmp_path):
    opened = PaymentServer(request.param, STORES[request.param].format(tmp_path))
    yield opened
    opened.close()


def test_a_repeat_gets_the_first_answer(server):
    first = assert_first(server.pay(b"twenty", "k1"))
    repeat = assert_replay_of(server.pay(b"twenty", "k1"), first)
    assert repeat.get("Date"), repeat
    assert server.payments() == ["twenty"]


def test_a_repeat_gets_the_first_answer_after_a_kill(server):
    first = assert_first(server.pay(b"twenty", "k1"))
    server.kill()
    server.start()
    assert_replay_of(server.pay(b"twenty", "k1"), first)
    assert_first(server.pay(b"thirty", "k2"))


def test_a_server_begins_again_on_its_port_at_once(server):
    with Connection(server.address) as client:
        client.send_request("GET", "/payments")
        assert client.read().status == 200
        server.kill()
        assert client.closed_within(60), "so that TIME_WAIT is on the server's side"
    server.start()


def test_a_key_belongs_to_one_request(server):
    server.pay(b"twenty", "k1")
    assert_problem(server.pay(b"thirty", "k1"), 422, "key-reused", False)
    assert server.payments() == ["twenty"]


def test_a_malformed_key_is_refused(server):
    answer = server.pay(b"twenty", 'k" x')
    assert_problem(answer, 400, "key-malformed", False)
    assert server.payments() == []


def test_a_request_without_a_key_runs_each_time(server):
    server.pay(b"twenty")
    server.pay(b"twenty")
    assert server.payments() == ["twenty", "twenty"]


def test_routes_come_from_a_file(tmp_path):
    server = PaymentServer("beast", f"sqlite:{tmp_path}/onceguard.db",
                           ROOT / "examples/beast/routes.toml")
    try:
        assert_problem(server.pay(b"twenty"), 400, "key-missing", False)
        first = assert_first(server.pay(b"twenty", "k1"))
        assert_replay_of(server.pay(b"twenty", "k1"), first)
    finally:
        server.close()


def test_a_file_of_routes_that_is_wrong_is_named_with_its_line(tmp_path):
    file = tmp_path / "routes.toml"
    file.write_text('[[route]]\npath = "/payments"\nrequired = "yes"\n')
    ended = subprocess.run(
        [program_of("beast"), "0", f"sqlite:{tmp_path}/onceguard.db", file],
        capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 3
    assert ended.stderr == \
        f'{file}:3:12: [[route]] required: expected true or false, got "yes"\n'


def has_short_backlog(server):
    """cpp-httplib listens with a backlog of 5: further connections are let in after seconds."""
    return server.program.name.startswith("httplib")


def test_twins_at_the_same_time_have_one_effect(server):
    fields = fields_for("twins", fields=[("Authorization", "Bearer of-ada")])
    count = 6 if has_short_backlog(server) else 24
    requests = [request_bytes("POST", "/payments", fields, b"twenty")] * count
    answers = all_at_once(server.address, requests)
    assert {answer.status for answer in answers} <= REPEATED | {201}
    ran = collections.Counter(a.replayed for a in answers if a.status == 201)[False]
    assert ran == 1 or (ran == 0 and 503 in {answer.status for answer in answers})
    wait_until(lambda: all_at_once(server.address, requests[:1])[0].status == 201, what="an answer")
    assert server.payments() == ["twenty"]


def test_many_clients_at_once_make_each_payment_once(server):
    names = [f"p{number}" for number in range(scaled(80, 20))]
    step = 1 if has_short_backlog(server) else 10
    for begin in range(0, len(names), step):
        requests = [request_bytes("POST", "/payments", fields_for(
            name, fields=[("Authorization", "Bearer of-ada")]), name.encode())
                    for name in names[begin:begin + step] for _ in range(6)]
        statuses = {answer.status for answer in all_at_once(server.address, requests)}
        assert statuses <= REPEATED | {201}

        def all_replayed(requests=requests):
            answers = all_at_once(server.address, requests)
            assert {answer.status for answer in answers} <= REPEATED | {201}
            return {(answer.status, answer.replayed) for answer in answers} == {(201, True)}
        wait_until(all_replayed, what="the answers of all")
    assert collections.Counter(server.payments()) == {name: 1 for name in names}


def test_a_chunked_request_is_the_same_request(server):
    first = assert_first(server.pay(b"twenty", "k1"))
    assert_replay_of(server.pay(b"twenty", "k1", chunked=True), first)


def answers_on_one_connection(address, count):
    """The fields of a request and its body are sent one after the other."""
    client = http.client.HTTPConnection(*address, timeout=60)
    answers = []
    for _ in range(count):
        client.request("POST", "/payments", b"twenty", {"Idempotency-Key": "k1"})
        answer = client.getresponse()
        answers.append((answer.status, answer.read()))
    client.close()
    return answers


def test_clients_keep_their_connection(server):
    (first,) = answers_on_one_connection(server.address, 1)
    assert first[0] == 201
    # Clients beside one another, so that a write ends after the next request began to arrive.
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        everyone = [clients.submit(answers_on_one_connection, server.address, 20)
                    for _ in range(scaled(200))]
        assert {answer for each in everyone for answer in each.result()} == {first}


def test_curl_gets_the_replay_marked(server):
    url = f"http://127.0.0.1:{server.address[1]}/payments"
    command = ["curl", "-si", "--max-time", "60", "-d", "twenty", "-H",
               'Idempotency-Key: "order-17"', url]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout
                     for _ in range(2))
    assert "Idempotent-Replayed" not in first
    assert "Idempotent-Replayed: true" in second
    assert first.splitlines()[-1] == second.splitlines()[-1]


@pytest.mark.parametrize("example", IN_SQLITE)
def test_what_is_refused_in_a_transaction_leaves_the_key_free(start_payments, example):
    server = start_payments(example)
    assert server.pay(b"", "k1").status == 400
    assert_first(server.pay(b"twenty", "k1"))
    assert server.payments() == ["twenty"]
