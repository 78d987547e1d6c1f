"""What services in each language do while the store of `onceguard serve` is away, and one key
through a gateway and through them."""

import contextlib

import pytest

from clients.examples import example_of
from clients.golang_test import built, go_path  # noqa: F401
from clients.serving import final
from support.client import ask
from support.redis import Redis
from support.waiting import wait_until

BODY, OTHER = b'{"amount":1}', b'{"amount":2}'
EXAMPLES = ["express-5", "fastify", "http", "nest", "fastapi", "flask", "nethttp", "gin"]


@pytest.fixture(params=EXAMPLES)
def start(request, start_service, tmp_path):
    """Starts a service beside a decision service: start(serve)."""
    command, usual = example_of(request.param, request, tmp_path)
    return lambda serve: start_service(command, serve, usual)


@pytest.fixture
def redis():
    with contextlib.closing(Redis({"appendonly": "yes", "appendfsync": "always"})) as server:
        yield server.start()


def config(redis, **defaults):
    return {"store": {"url": redis.create_store(), "timeout": "1s"}, "defaults": defaults}


def test_nothing_runs_while_the_store_is_away(redis, start_serve, start, fresh_key):
    service = start(start_serve(config(redis)))
    known, key = fresh_key(), fresh_key()
    first = final(service, known)  # on a busy machine the store may be late once
    assert first.status == 201, first
    redis.crash()
    refused = service.post(key)
    assert (refused.status, refused.problem) == (503, "store-unreachable")
    assert int(refused.get("Retry-After")) >= 1
    assert service.effects()[key] == 0
    redis.start()
    wait_until(lambda: service.post(key).status == 201, 20, "the store")
    again = final(service, known)
    assert (again.stored_part(), again.replayed) == (first.stored_part(), True)
    assert (service.effects()[known], service.effects()[key]) == (1, 1)


def test_a_policy_that_is_open_runs_it_unguarded(redis, start_serve, start, fresh_key):
    service = start(start_serve(config(redis, store_failure="open")))
    key = fresh_key()
    redis.crash()
    # A client that was made without `open` goes by the policy, too.
    assert [service.post(key).status for _ in range(2)] == [201, 201]
    assert service.effects()[key] == 2
    redis.start()
    guarded = fresh_key()
    wait_until(lambda: service.post(guarded).status == 201 and service.post(guarded).replayed, 20,
               "the store")


def stored(answer):
    """What its record has: no fields that a framework or its server adds to each answer. ASGI has
    the names of all in lower case."""
    status, fields, body = answer.stored_part()
    own = ("server", "x-powered-by")
    named = [(name.lower(), value) for name, value in fields]
    return status, [field for field in named if field[0] not in own], body


def test_it_has_one_record_with_a_gateway(start_serve, start_gateway, upstream, start, fresh_key):
    serve = start_serve()
    # The name by which a client that names none calls its service.
    gateway = start_gateway(upstream, {"store": {"url": serve.store_url},
                                       "upstream": [{"name": "default", "url": upstream.url}]})
    service = start(serve)

    def by_gateway(key, body):
        return ask(gateway.address, "POST", "/conformance", service.fields(key), body)

    def by_service(key, body):
        return service.post(key, body=body)
    for first, second in ((by_gateway, by_service), (by_service, by_gateway)):
        key = fresh_key()
        ran, again, other = first(key, BODY), second(key, BODY), second(key, OTHER)
        assert (ran.status, ran.replayed) == (201, False)
        assert (stored(again), again.replayed) == (stored(ran), True)
        assert (other.status, other.problem) == (422, "key-reused")
        assert service.effects()[key] + upstream.runs(key) == 1
