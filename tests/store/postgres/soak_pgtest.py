"""Retention without bloat: the table and its index stop growing."""

from support.postgres_soak import soak
from support.waiting import scaled

CYCLES = 30
SETTLED = 10  # by then as many records go with each cycle as come
KEYS = scaled(600, 400) // 200 * 200  # of a cycle


def growth(sizes):
    return sizes[-1] / sizes[SETTLED - 1]


def test_what_has_expired_leaves_its_room_to_what_comes(caller, clock):
    sizes, _ = soak(caller, clock, CYCLES, KEYS)
    assert growth(sizes) <= 1.5, sizes
    assert caller.value("SELECT count(*) FROM onceguard.records") <= 8 * KEYS


def test_without_the_sweep_the_table_would_grow(caller, clock):
    sizes, _ = soak(caller, clock, CYCLES, 200, sweeps=False)
    assert growth(sizes) > 2, sizes
