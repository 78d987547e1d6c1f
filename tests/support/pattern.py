"""Bytes that both sides of a test can make: same size and seed, same bytes."""

import random


def pattern(size, seed=1):
    return random.Random(seed).randbytes(size)


BLOCK = pattern(64 * 1024, seed=64)


def blocks(size):
    """`size` bytes in pieces of at most 64 KiB, without ever holding them all."""
    left = size
    while left > 0:
        yield BLOCK if left >= len(BLOCK) else BLOCK[:left]
        left -= len(BLOCK)
