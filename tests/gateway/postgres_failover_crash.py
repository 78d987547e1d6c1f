"""Primaries die again and again under load, and their synchronous standbys take over: PostgreSQL
alone, and with Redis in front, which dies and forgets as well."""

import collections
import contextlib
import random

import pytest

from support.customers import Customers
from support.expecting import assert_problem, assert_replay_of
from support.postgres_standby import Pair
from support.waiting import SCALE, scaled, wait_until

FAILOVERS = 50 if SCALE >= 1 else 20  # by far the dearest of the shares


@pytest.fixture
def pair():
    with contextlib.closing(Pair()) as running:
        yield running


@pytest.fixture(params=["postgresql", "tiered"])
def accelerator(request, redis):
    """None, or the server in front."""
    return redis.start() if request.param == "tiered" else None


def disturb(accelerator, rng):
    if accelerator is None:
        return
    what = rng.choice(("nothing", "empty", "kill"))
    if what == "empty":
        accelerator.run("FLUSHALL")
    if what == "kill":
        accelerator.crash()
        accelerator.start()


def settled(gateway, key):
    """The answer to a repeat, once nobody is at it any more."""
    def final_answer():
        answer = gateway.post(key=key, timeout=Customers.PATIENCE)
        return answer if answer.status == 201 or answer.problem == "outcome-unknown" else None
    return wait_until(final_answer, timeout=60, what="an answer")


def test_no_failover_loses_or_doubles_anything(pair, accelerator, start_gateway, own_upstream,
                                               fresh_key):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    store = {"url": pair.url(), "timeout": "5s"}
    if accelerator is not None:
        store["accelerator"] = accelerator.create_store()
    config = {"store": store, "gateway": {"replay_cache": "0", "settle_wait": "60s"},
              "defaults": {"lease": "60s"}}  # longer than a failover on a busy machine
    gateway = start_gateway(own_upstream, config)
    other = start_gateway(own_upstream, config)
    failovers = scaled(FAILOVERS, least=2)
    with Customers(gateway, fresh_key, plan={"delay_ms": 5}) as customers:
        for _ in range(failovers):
            customers.have_answers(10)
            pair.fail_over(meanwhile=lambda: disturb(accelerator, rng))
        customers.have_answers(10)
    for answer in customers.refusals:
        # 409: of the claim before nobody knew yet whether it had arrived; it is given back.
        assert answer.problem in ("in-progress", "store-unreachable", "overloaded"), answer
        assert_problem(answer, 409 if answer.problem == "in-progress" else 503, answer.problem,
                       True, retry_after=True)
    for key, answer in customers.answered.items():
        assert_replay_of(settled(other, key), answer)
    unknown = [key for key in customers.given_up if settled(other, key).status != 201]
    arrivals = collections.Counter(r["key"] for r in own_upstream.requests(path="/charges"))
    effects = own_upstream.effects()
    print(f"{failovers} failovers: {len(customers.answered)} answered, lost 0; refused "
          f"{len(customers.refusals)}; run twice "
          f"{sum(count > 1 for count in arrivals.values())}, unknown {len(unknown)}")
    assert [key for key, count in arrivals.items() if count > 1] == []
    assert [key for key, count in effects.items() if count > 1] == []
    assert set(customers.answered) <= set(effects)
    assert unknown == [], "no gateway died"
    for each in (gateway, other):
        assert "store-lost-its-memory" not in each.log()
