"""The patterns of examples/patterns, on SQLite and PostgreSQL: each takes effect once, whoever is
killed; and how each is often written does not."""

import collections
import json
import threading
import uuid

import pytest

from support.pattern_server import PatternServer, PostgresShop, SqliteShop, Writer, race
from support.waiting import wait_until


@pytest.fixture(params=["sqlite", "postgresql"])
def start(request, tmp_path_factory):
    """Starts servers, each with a shop of its own."""
    running = []

    def go(*more):
        if request.param == "sqlite":
            shop = SqliteShop(tmp_path_factory.mktemp("shop"))
        else:
            shop = PostgresShop(request.getfixturevalue("postgres_server"))
        running.append(PatternServer(shop, *more))
        return running[-1]

    yield go
    for server in running:
        server.close()


def bodies(answers):
    return {(answer.status, answer.body) for answer in answers}


# ---- optimistic locking

def add_up(server, count=32):
    """So many clients read the same document, and then each adds 1 to it."""
    server.ask("PUT", "/documents/sum", b"0", If_None_Match="*")
    everybody_has_read = threading.Barrier(count)
    writers = [Writer(server, "/documents/sum", everybody_has_read) for _ in range(count)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.failure for writer in writers if writer.failure] == []
    return int(server.ask("GET", "/documents/sum").body), writers


def test_no_update_is_lost_on_the_version_that_was_seen(start):
    total, writers = add_up(start())
    assert total == 32
    assert collections.Counter(s for w in writers for s in w.statuses)[412] >= 31
    # The same clients, at a server that does not look at If-Match.
    total, writers = add_up(start("--naive"))
    assert total == 1
    assert all(writer.statuses == [200] for writer in writers)


def test_a_lost_answer_is_a_success_for_its_repeat_and_no_second_change(start):
    server = start()
    server.ask("PUT", "/documents/a", b"one", If_None_Match="*")
    first = server.ask("PUT", "/documents/a", b"two", If_Match='"1"', Idempotency_Key="k1")
    server.kill()
    server.start()
    repeat = server.ask("PUT", "/documents/a", b"two", If_Match='"1"', Idempotency_Key="k1")
    assert (repeat.status, repeat.body, repeat.get("ETag")) == (200, b"two", '"2"')
    assert (first.status, first.body, first.get("ETag")) == (200, b"two", '"2"')
    # Equal content is no proof that it was this client's.
    for other in ({}, {"Idempotency_Key": "k2"}):
        assert server.ask("PUT", "/documents/a", b"two", If_Match='"1"', **other).status == 412
    # Somebody else was there meanwhile: a repeat does not undo it.
    server.ask("PUT", "/documents/a", b"three", If_Match='"2"')
    assert server.ask("PUT", "/documents/a", b"two", If_Match='"1"',
                      Idempotency_Key="k1").status == 412
    assert server.ask("GET", "/documents/a").body == b"three"

    naive = start("--naive")
    for body in (b"two", b"three", b"two"):  # the last one is the repeat
        naive.ask("PUT", "/documents/a", body, If_Match='"1"')
    assert naive.ask("GET", "/documents/a").body == b"two"


def test_a_document_is_made_once_amid_kills(start):
    server = start()
    seed, answers = server.amid_kills(
        "PUT", "/documents/k{}".format, lambda number: b"%d" % number,
        lambda number: server.ask("GET", f"/documents/k{number}").status == 200,
        fields=[("If-None-Match", "*")])
    assert {answer.status for answer in answers} <= {201, 412}, seed
    assert 412 in {answer.status for answer in answers}, seed
    for number in range(len(answers)):
        made = server.ask("GET", f"/documents/k{number}")
        assert (made.body, made.get("ETag")) == (b"%d" % number, '"1"'), seed


def test_documents_say_what_is_missing(start):
    server = start()
    assert server.curl("/documents/a", "-X", "PUT", "-d", "x")[0] == 428
    assert server.curl("/documents/a", "-X", "PUT", "-d", "x", "-H", "If-Match: 1")[0] == 400
    status, fields, body = server.curl("/documents/a", "-X", "PUT", "-d", "x",
                                       "-H", "If-None-Match: *")
    assert (status, fields["ETag"], body) == (201, '"1"', "x")
    assert server.curl("/documents/a", "-H", 'If-None-Match: W/"1"')[0] == 304
    assert server.curl("/documents/a", "-X", "PUT", "-d", "y", "-H", 'If-Match: W/"1"')[0] == 412
    assert server.curl("/documents/a", "-X", "DELETE", "-H", 'If-Match: "1"')[0] == 204
    assert server.curl("/documents/a", "-X", "DELETE", "-H", 'If-Match: "1"')[0] == 204
    assert server.curl("/documents/a")[0] == 404


def test_a_removed_document_never_has_a_version_again(start):
    server = start()
    server.ask("PUT", "/documents/a", b"x", If_None_Match="*")
    server.ask("DELETE", "/documents/a", If_Match='"1"')
    assert server.ask("PUT", "/documents/a", b"z", If_None_Match="*").get("ETag") == '"3"'
    assert server.ask("PUT", "/documents/a", b"y", If_Match='"1"').status == 412


# ---- a unique constraint

def order_of(reference, **more):
    return json.dumps({"reference": reference, "cents": 4200, **more}).encode()


def test_orders_at_once_are_one_order(start):
    server = start()
    answers = server.at_once("POST", "/orders", order_of("A-1"))
    assert bodies(answers) == {(201, answers[0].body)}
    answers = race(server, "orders", "POST", "/orders", order_of("A-2"))
    assert bodies(answers) == {(201, answers[0].body)}
    assert server.lines("/orders") == ["A-1", "A-2"]

    naive = start("--naive")

    def several():
        race(naive, "orders", "POST", "/orders", order_of("A-1"))
        return len(naive.lines("/orders")) > 1
    wait_until(several, timeout=30, what="an order that was made twice")


def test_an_order_is_made_once_amid_kills(start):
    server = start()
    seed, answers = server.amid_kills(
        "POST", lambda _: "/orders", lambda number: order_of(f"k{number}"),
        lambda number: f"k{number}" in server.lines("/orders"))
    assert {answer.status for answer in answers} == {201}, seed
    assert sorted(server.lines("/orders")) == sorted(f"k{n}" for n in range(len(answers))), seed


def test_another_constraint_and_another_order_stay_errors(start):
    server = start()
    first = server.curl("/orders", "-d", order_of("A-1", coupon="SUMMER").decode())
    assert first[0] == 201 and json.loads(first[2])["reference"] == "A-1"
    repeat = server.curl("/orders", "-d", order_of("A-1", coupon="SUMMER").decode())
    assert (repeat[0], repeat[2]) == (first[0], first[2])
    assert server.ask("POST", "/orders", order_of("A-2", coupon="SUMMER")).status == 409
    assert server.ask("POST", "/orders", order_of("A-3", cents=0)).status == 409
    assert server.ask("POST", "/orders", order_of("A-1", cents=1)).status == 422
    assert server.lines("/orders") == ["A-1"]


# ---- ids of the client's

def test_things_at_once_are_one_thing(start):
    server = start()
    target = f"/things/{uuid.uuid4()}"
    answers = server.at_once("PUT", target, b"hello")
    assert collections.Counter(answer.status for answer in answers) == {201: 1, 200: 31}
    assert {answer.body for answer in answers} == {b"hello"}
    assert server.lines("/things") == ["hello"]
    # The same from a client that gets its id from the server.
    server.at_once("POST", "/things", b"hello")
    assert server.lines("/numbered-things") == ["hello"] * 32


def test_a_thing_is_made_once_amid_kills(start):
    server = start()
    ids = [uuid.uuid4() for _ in range(50)]
    seed, answers = server.amid_kills(
        "PUT", lambda number: f"/things/{ids[number]}", lambda number: b"%d" % number,
        lambda number: str(number) in server.lines("/things"))
    assert {answer.status for answer in answers} == {200, 201}, seed
    assert sorted(server.lines("/things")) == sorted(str(n) for n in range(len(answers))), seed
    seed, answers = server.amid_kills(
        "POST", lambda _: "/things", lambda number: b"%d" % number,
        lambda number: str(number) in server.lines("/numbered-things"))
    assert len(server.lines("/numbered-things")) > len(answers), seed


def test_an_id_belongs_to_one_thing(start):
    server = start()
    target = f"/things/{uuid.uuid4()}"
    made = server.curl(target, "-X", "PUT", "-d", "hello", "-H", "If-None-Match: *")
    assert (made[0], made[1]["ETag"]) == (201, '"1"')
    assert server.curl(target, "-X", "PUT", "-d", "hello", "-H", "If-None-Match: *")[0] == 412
    assert server.curl(target, "-X", "PUT", "-d", "hello")[0] == 200
    assert server.curl(target, "-X", "PUT", "-d", "other")[0] == 409
    assert server.curl("/things/17", "-X", "PUT", "-d", "hello")[0] == 400
    assert server.curl(target)[2] == "hello"


def test_behind_a_gateway_the_id_is_the_key(start, start_gateway):
    server = start()
    gateway = start_gateway(f"http://127.0.0.1:{server.port.number}", {
        "defaults": {"key": ["path:2"], "key_format": "uuid", "methods": ["PUT"],
                     "on_busy": "wait"}})
    target = f"/things/{uuid.uuid4()}"
    answers = [gateway.ask("PUT", target, [("If-None-Match", "*")], b"hello") for _ in range(3)]
    assert bodies(answers) == {(201, b"hello")}
    assert [answer.replayed for answer in answers] == [False, True, True]
    assert gateway.ask("PUT", target, [], b"other").problem == "key-reused"
    assert server.lines("/things") == ["hello"]


# ---- a guard on the state

def test_captures_at_once_are_one_capture(start):
    server = start()
    server.ask("PUT", "/payments/p1", b"4200")
    answers = server.at_once("POST", "/payments/p1/capture", b"4000")
    answers += race(server, "movements", "POST", "/payments/p1/capture", b"4000")
    assert bodies(answers) == {(200, answers[0].body)}
    assert json.loads(answers[0].body)["status"] == "captured"
    assert server.lines("/movements") == ["p1"]

    naive = start("--naive")
    rounds = iter(range(1_000))

    def several():
        name = f"p{next(rounds)}"
        naive.ask("PUT", f"/payments/{name}", b"4200")
        race(naive, "movements", "POST", f"/payments/{name}/capture", b"4000")
        return naive.lines("/movements").count(name) > 1
    wait_until(several, timeout=30, what="a payment that was captured twice")
    # And its repeat gets no answer.
    assert naive.ask("POST", "/payments/p0/capture", b"4000").status == 409


def test_a_payment_is_captured_once_amid_kills(start):
    server = start()
    for number in range(50):
        server.ask("PUT", f"/payments/k{number}", b"4200")
    seed, answers = server.amid_kills(
        "POST", "/payments/k{}/capture".format, lambda _: b"4000",
        lambda number: f"k{number}" in server.lines("/movements"))
    assert {answer.status for answer in answers} == {200}, seed
    assert collections.Counter(server.lines("/movements")) == \
        {f"k{number}": 1 for number in range(len(answers))}, seed


def test_another_act_on_a_captured_payment_is_refused(start):
    server = start()
    server.ask("PUT", "/payments/p1", b"4200")
    assert server.curl("/payments/p1/capture", "-d", "4000")[0] == 200
    assert server.curl("/payments/p1/capture", "-d", "4001")[0] == 409
    assert json.loads(server.curl("/payments/p1/void", "-d", "")[2])["status"] == "captured"
    assert server.curl("/payments/p2/void", "-d", "")[0] == 404
    assert server.lines("/movements") == ["p1"]


# ---- natural idempotency

def test_a_replacement_may_arrive_often_and_an_addition_may_not(start):
    server = start()
    assert bodies(server.at_once("PUT", "/counters/a", b"5")) == {(200, b"5")}
    assert server.curl("/counters/a")[2] == "5"
    server.at_once("PATCH", "/counters/a", b"5")
    assert server.curl("/counters/a")[2] == str(5 + 32 * 5)
    assert [server.curl("/counters/a", "-X", "DELETE")[0] for _ in range(2)] == [204, 204]
    assert server.curl("/counters/a")[0] == 404


def test_a_replacement_is_made_once_amid_kills_and_an_addition_is_not(start):
    server = start()

    def value(number):
        return server.ask("GET", f"/counters/k{number}").body
    seed, answers = server.amid_kills("PUT", "/counters/k{}".format, lambda _: b"5",
                                      lambda number: value(number) == b"5")
    assert {value(number) for number in range(len(answers))} == {b"5"}, seed
    seed, answers = server.amid_kills("PATCH", "/counters/k{}".format, lambda _: b"5",
                                      lambda number: value(number) == b"10")
    assert b"15" in {value(number) for number in range(len(answers))}, seed
