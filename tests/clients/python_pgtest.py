"""A service in Python that completes in its own transaction: one row a key, whoever dies when."""

import json
import random

import pytest

from clients.python_examples import CLIENT, EXAMPLES, LEASE, PYTHON
from clients.serving import answered
from support.client import ask
from support.waiting import PATIENCE, Stopwatch, scaled, wait_until


@pytest.fixture
def shop(start_serve, start_service, postgres_server, database):
    url = postgres_server.url(database)
    serve = start_serve({"store": {"url": url}, "defaults": {
        "upstream_timeout": f"{LEASE}s", "lease": f"{LEASE}s", "effect": "transactional"}})
    service = start_service(
        [PYTHON, EXAMPLES / "postgres_app.py"], serve,
        {"PYTHONPATH": str(CLIENT), "DATABASE_URL": url, "PYTHONDONTWRITEBYTECODE": "1"},
        path="/payments")
    service.serve = serve
    return service


def pay(shop, key, work=None):
    return shop.post(key, work, path="/payments")


def paid(shop, key):
    return json.loads(ask(shop.address, "GET", "/payments").body).count(key)


def test_the_answer_is_the_one_that_was_committed(shop, fresh_key):
    key = fresh_key()
    first, again = pay(shop, key), pay(shop, key)
    assert (first.status, first.body.split()[0]) == (201, b"payment")
    assert (again.stored_part(), again.replayed) == (first.stored_part(), True)
    assert paid(shop, key) == 1


@pytest.mark.parametrize("victim", ["serve", "service"])
def test_each_payment_is_made_exactly_once_amid_kills(shop, victim, fresh_key):
    killed = shop.serve if victim == "serve" else shop
    moments = random.Random(seed := random.SystemRandom().randrange(1 << 32))
    keys = [fresh_key() for _ in range(scaled(60, 5))]
    for key in keys:
        client = shop.begin_work(key, {"delay": moments.choice([0, 20, 60])}, path="/payments")
        killed.kill()
        killed.start()
        answered(client)
    last = Stopwatch()
    for key in keys:
        wait_until(lambda key=key: pay(shop, key).status == 201, 60, f"{key}, seed {seed}")
    # Each lease has run by itself since its kill: they are over together.
    assert last.seconds < PATIENCE * (LEASE + 3 + 0.1 * len(keys)), f"seed {seed}"
    for key in keys:
        assert (pay(shop, key).replayed, paid(shop, key)) == (True, 1), f"seed {seed}"


def test_a_key_of_a_killed_service_is_free_when_its_lease_ends(shop, fresh_key):
    key = fresh_key()
    client = shop.begin_work(key, {"delay": 60_000}, path="/payments")
    began = Stopwatch()
    shop.kill()
    shop.start()
    assert answered(client) is None
    wait_until(lambda: pay(shop, key).status == 201, 60, key)
    assert began.seconds < PATIENCE * (LEASE + 3)
    assert paid(shop, key) == 1
