"""Retention without bloat: the tables and their indexes stop growing, in each layout."""

import pytest

from store.postgres.acts import Clock
from support.postgres_soak import soak
from support.waiting import scaled

CYCLES = 30
SETTLED = 10  # by then as many records go with each cycle as come
KEYS = scaled(600, 400) // 200 * 200  # of a cycle


@pytest.fixture(params=["plain", "hash:4", "time:10m"])
def layout(request):
    return request.param


def growth(sizes):
    return sizes[-1] / sizes[SETTLED - 1]


def test_what_has_expired_leaves_its_room_to_what_comes(caller, clock):
    sizes, _ = soak(caller, clock, CYCLES, KEYS)
    assert growth(sizes) <= 1.5, sizes
    assert caller.value("SELECT count(*) FROM onceguard.records") <= 8 * KEYS


def test_without_the_sweep_the_table_would_grow(plain):
    sizes, _ = soak(plain, Clock(plain), CYCLES, 200, sweeps=False)
    assert growth(sizes) > 2, sizes
