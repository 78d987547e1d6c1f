"""The page on PostgreSQL: each view and each act of a record once, and keys that are hard to keep.
The tests are those of SQLite, as far as they depend on what a store answers."""

import pytest

# pylint: disable=unused-import
from page.monitoring_test import test_what_the_store_says_of_itself  # noqa: F401
from page.page_test import (  # noqa: F401
    filled, state_of, test_forty_are_settled_by_a_list, test_the_acts_of_one_key,
    test_the_timeline_of_a_key)
from page.record_test import (  # noqa: F401
    strange, test_the_commands_of_a_key_work_in_a_shell)


@pytest.fixture
def page_store(postgres_server, database):
    return {"url": postgres_server.url(database)}


def test_every_view(filled, act_out):  # noqa: F811
    _, admin, facts = filled
    act_out("every_view", {**facts, "looks": ["wide"]})  # the others differ in their style alone
    assert [state_of(admin, key) for key in facts["unknown"]] == 3 * [["unknown"]]
