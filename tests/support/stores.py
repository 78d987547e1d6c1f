"""The stores of tests that have one gateway at a time."""

import pytest

OF_ONE_GATEWAY = ("sqlite", "journal", "postgresql", "redis", "dynamodb", "tiered")
on_each_store_of_one_gateway = pytest.mark.parametrize("store", OF_ONE_GATEWAY, indirect=True)
