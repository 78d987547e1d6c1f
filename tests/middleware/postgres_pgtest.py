"""Exactly once in a transaction of PostgreSQL: the server of examples/beast-postgres."""

import pytest

from support.client import all_at_once, fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.killed_payments import assert_paid_once_amid_kills
from support.payments import PaymentServer


@pytest.fixture
def server(postgres_server):
    database = postgres_server.create_store()
    with postgres_server.connect(database) as session:
        session.execute("CREATE TABLE payments (id serial PRIMARY KEY, what text)")
    opened = PaymentServer("beast-postgres", postgres_server.url(database))
    yield opened
    opened.close()


def test_a_repeat_gets_the_first_answer(server):
    first = assert_first(server.pay(b"twenty", "k1"))
    assert_replay_of(server.pay(b"twenty", "k1"), first)
    assert_problem(server.pay(b"thirty", "k1"), 422, "key-reused", False)
    assert server.payments() == ["twenty"]


def test_what_is_refused_leaves_the_key_free(server):
    assert server.pay(b"", "k1").status == 400
    assert_first(server.pay(b"twenty", "k1"))
    assert server.payments() == ["twenty"]


def test_twins_at_the_same_time_have_one_effect(server):
    fields = fields_for("twins", fields=[("Authorization", "Bearer of-ada")])
    answers = all_at_once(server.address,
                          [request_bytes("POST", "/payments", fields, b"twenty")] * 24)
    assert {answer.status for answer in answers} <= {201, 409}
    assert [a.status for a in answers if not a.replayed].count(201) == 1
    assert server.payments() == ["twenty"]


def test_each_payment_is_made_once_whenever_the_server_is_killed(server):
    assert_paid_once_amid_kills(server)
