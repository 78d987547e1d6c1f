"""An order in four steps, killed after each step, inside each and at random moments: all of it
takes effect once, or each of its finished steps and then its compensation once."""

import contextlib
import random
import subprocess

import pytest

from support.cards import Cards
from support.order_shop import KINDS, postgres_shop, sqlite_shop
from support.waiting import scaled

STEPS = ["reserve stock", "charge card", "create shipment", "confirm"]
FORWARD = [f"{where} {step}" for step in STEPS for where in ("before", "inside", "after")]
BACK = [f"{where} undoing {step}" for step in STEPS[:3] for where in ("before", "inside")]
STOPS = [("confirmed", point) for point in FORWARD]
STOPS += [("another price", point) for point in [*FORWARD[:10], *BACK]]
STOPS += [("too heavy", point) for point in [*FORWARD[:7], *BACK[:4]]]
STOPS += [("declined", point) for point in [*FORWARD[:3], *BACK[:2]]]


@pytest.fixture
def cards():
    running = Cards()
    yield running
    running.close()


@pytest.fixture(params=["postgresql", "sqlite"])
def shop(request, tmp_path, cards):
    if request.param == "sqlite":
        return sqlite_shop(tmp_path / "shop.db", cards)
    return postgres_shop(request.getfixturevalue("postgres_server"), cards)


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_that_is_not_killed_is_placed_or_taken_back_as_a_whole(shop, kind):
    answer = KINDS[kind].answer.format("order-1")
    assert shop.place("order-1", kind) == answer
    assert shop.place("order-1", kind) == answer + " (replayed)"
    shop.check()


def test_killed_at_each_point_of_an_order(shop):
    """Before, inside and after each step, and before and inside each compensation."""
    for number, (kind, point) in enumerate(STOPS):
        shop.kill_at(point, f"order-{number}", kind)
    for number, (kind, point) in enumerate(STOPS):
        answer = KINDS[kind].answer.format(f"order-{number}")
        assert shop.place(f"order-{number}", kind) == answer, (kind, point)
        assert shop.place(f"order-{number}", kind) == answer + " (replayed)", (kind, point)
    shop.check()


def test_killed_at_each_compensation_of_one_order_in_turn(shop):
    """The attempts of one order end one after the other, each a compensation further."""
    kind = "another price"
    for step in reversed(STEPS[:3]):
        for where in ("before", "inside"):
            shop.kill_at(f"{where} undoing {step}", "order-1", kind)
    assert shop.place("order-1", kind) == KINDS[kind].answer
    shop.check()


def test_killed_at_random_moments_while_a_second_process_places_the_same(shop):
    """60 kills a database, and each seventh answer of the provider is lost on its way."""
    rng = random.Random(shop.records)
    shop.cards.drop_each = 7
    kinds = list(KINDS)
    orders = [(f"order-{n}", kinds[n % len(kinds)]) for n in range(scaled(16, least=8))]
    for _ in range(scaled(30, least=8)):
        number, kind = rng.choice(orders)
        pair = [shop.start("examples/order/order", *shop.words(number, kind)) for _ in range(2)]
        for process in pair:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.002, 0.06))
            process.kill()
            process.communicate()
    for number, kind in orders:
        answer = KINDS[kind].answer.format(number)
        assert shop.place(number, kind).removesuffix(" (replayed)") == answer
    shop.check()


def test_without_its_record_the_same_order_takes_effect_twice(shop):
    """The control: what is counted here would show a step that runs again."""
    shop.kill_at("after create shipment", "order-1", "confirmed")
    shop.forget()
    shop.place("order-1", "confirmed")
    assert shop.entries()["order-1", "reserved"] == 2
    with pytest.raises(AssertionError):
        shop.check()
